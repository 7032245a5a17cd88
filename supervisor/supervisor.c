/*
 * The front process: puts its parts together, starts and stops. It must never wait for
 * anything but events, and never end on what a client or a worker sends.
 */
#include <config.h>

#include "supervisor/supervisor.h"
#include "supervisor/handlers.h"
#include "supervisor/rpc.h"
#include "supervisor/session_actions.h"
#include "supervisor/session_setup.h"
#include "supervisor/session_worker.h"
#include "supervisor/worker_dispatch.h"
#include "common/exit_cause.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIGNALS 4
/* What the requests that came before the end of input may still take. */
#define LAST_ANSWERS_MS 700
/* What a client that reads slowly may take for the last bytes. */
#define LAST_WRITE_MS 1000

static void
on_line(const struct client_line *line, void *arg)
{
	rpc_dispatch(arg, line);
}

static void
on_too_long(void *arg)
{
	struct supervisor *supervisor = arg;

	rpc_error_with(supervisor->writer, NULL, RPC_INVALID_REQUEST, "Invalid request",
	    "details", "a line of more than 64 MiB was skipped");
}

static void
on_input_ended(void *arg)
{
	static const struct session_detail nothing;
	struct supervisor *supervisor = arg;
	struct session *session, *next;
	struct timeval interval = monotonic_interval(LAST_ANSWERS_MS);

	supervisor->input_ended = true;
	for (session = session_first(supervisor->sessions); session != NULL; session = next) {
		next = session_next(session);
		session_event(session, SESSION_EVENT_CANCEL, &nothing);
	}
	event_add(supervisor->stop_timer, &interval);
	supervisor_check_stop(supervisor);
}

static void
on_stop_timer(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	supervisor_stop(arg);
}

static void
on_level(size_t level, void *arg)
{
	struct supervisor *supervisor = arg;

	worker_list_pause(supervisor->workers, level >= CLIENT_WRITER_HIGH);
	if (!supervisor->stopping)
		client_reader_pause(supervisor->reader, level >= CLIENT_WRITER_FULL);
}

static void
on_output_ended(void *arg)
{
	supervisor_stop(arg);
}

static void
on_settings(void *arg)
{
	struct supervisor *supervisor = arg;
	struct session *session;

	handle_settings(supervisor);
	for (session = session_first(supervisor->sessions); session != NULL;
	     session = session_next(session))
		if (session->state == SESSION_IDLE)
			session_idle_since_now(session);
}

static void
on_catalogue_answer(uint32_t token, const char *result, size_t length, void *arg)
{
	handle_catalogue_answer(arg, token, result, length);
}

static void
on_catalogue_error(uint32_t token, int code, const char *message, size_t message_length,
    const char *data, size_t length, void *arg)
{
	char *text = strndup(message, message_length);

	handle_catalogue_error(
	    arg, token, code, text != NULL ? text : "Out of memory", data, length);
	free(text);
}

static void
on_catalogue_committed(const char *session, void *arg)
{
	handle_catalogue_committed(arg, session);
}

static void
on_catalogue_gone(const char *cause, void *arg)
{
	handle_catalogue_gone(arg, cause);
}

static void
on_worker_gone(void *arg)
{
	supervisor_check_stop(arg);
}

static void
on_signal(int number, short events, void *arg)
{
	struct supervisor *supervisor = arg;

	(void)events;
	if (number == SIGHUP)
		catalogue_query(supervisor->catalogue);
	else
		supervisor_stop(supervisor);
}

/* poll() instead of epoll when a descriptor is a regular file, which epoll refuses. */
static struct event_base *
new_base(int in, int out)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;
	struct stat in_stat, out_stat;

	if (config == NULL)
		return NULL;
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	if (fstat(in, &in_stat) == 0 && fstat(out, &out_stat) == 0 &&
	    (S_ISREG(in_stat.st_mode) || S_ISREG(out_stat.st_mode)))
		event_config_require_features(config, EV_FEATURE_FDS);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static int
set_up(struct supervisor *supervisor, int in, int out)
{
	static const struct client_reader_callbacks reader_callbacks = {
	    .line = on_line, .too_long = on_too_long, .ended = on_input_ended};
	static const struct client_writer_callbacks writer_callbacks = {
	    .level = on_level, .ended = on_output_ended};
	static const struct catalogue_callbacks catalogue_callbacks = {
	    .changed = on_settings,
	    .answered = on_catalogue_answer,
	    .failed = on_catalogue_error,
	    .committed = on_catalogue_committed,
	    .gone = on_catalogue_gone,
	};
	struct buffer setup = BUFFER_EMPTY;

	supervisor->session_timer = session_timer;
	supervisor->forward_delete = handle_catalogue_delete;
	supervisor->session_worker = worker_dispatch_callbacks();
	supervisor->base = new_base(in, out);
	if (supervisor->base == NULL)
		return -1;
	supervisor->workers = worker_list_new(
	    supervisor->base, supervisor->options.worker, on_worker_gone, supervisor);
	if (supervisor->workers == NULL)
		return -1;
	session_setup_catalogue(&supervisor->options, &setup);
	supervisor->catalogue = catalogue_new(supervisor->base, supervisor->workers,
	    buffer_text(&setup), setup.length, &catalogue_callbacks, supervisor);
	buffer_free(&setup);
	fd_set_nonblocking(in, true);
	fd_set_nonblocking(out, true);
	supervisor->writer =
	    client_writer_new(supervisor->base, out, &writer_callbacks, supervisor);
	if (supervisor->catalogue == NULL || supervisor->writer == NULL)
		return -1;
	supervisor->pending = pending_table_new(supervisor->writer);
	supervisor->requests = client_request_table_new(supervisor->writer);
	supervisor->sessions = session_table_new();
	supervisor->spare = spare_new(supervisor->base, supervisor->workers);
	supervisor->stop_timer = evtimer_new(supervisor->base, on_stop_timer, supervisor);
	if (supervisor->pending == NULL || supervisor->requests == NULL ||
	    supervisor->sessions == NULL || supervisor->spare == NULL ||
	    supervisor->stop_timer == NULL)
		return -1;
	supervisor->reader =
	    client_reader_new(supervisor->base, in, &reader_callbacks, supervisor);
	return supervisor->reader != NULL ? 0 : -1;
}

/* What was answered goes out before the end, as long as somebody takes it. */
static void
write_rest(struct supervisor *supervisor, int out)
{
	struct pollfd ready = {.fd = out, .events = POLLOUT};
	int64_t end = monotonic_ms() + LAST_WRITE_MS, now;

	for (;;) {
		client_writer_flush(supervisor->writer);
		now = monotonic_ms();
		if (client_writer_queued(supervisor->writer) == 0 || now >= end)
			return;
		poll(&ready, 1, (int)(end - now));
	}
}

static void
tear_down(struct supervisor *supervisor)
{
	worker_list_free(supervisor->workers);
	session_table_free(supervisor->sessions);
	pending_table_free(supervisor->pending);
	client_request_table_free(supervisor->requests);
	spare_free(supervisor->spare);
	catalogue_free(supervisor->catalogue);
	client_reader_free(supervisor->reader);
	client_writer_free(supervisor->writer);
	if (supervisor->stop_timer != NULL)
		event_free(supervisor->stop_timer);
	if (supervisor->base != NULL)
		event_base_free(supervisor->base);
	free(supervisor->connection.capabilities);
}

int
supervisor_run(const struct supervisor_options *options, int in, int out)
{
	static const int numbers[SIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	struct supervisor supervisor = {.options = *options};
	struct event *signals[SIGNALS] = {NULL};
	int status = EXIT_SYSTEM, i;

	signal(SIGPIPE, SIG_IGN);
	if (set_up(&supervisor, in, out) == -1) {
		log_error("supervisor", "start failed: out of memory or descriptors");
		goto done;
	}
	for (i = 0; i < SIGNALS; i++) {
		signals[i] = evsignal_new(supervisor.base, numbers[i], on_signal, &supervisor);
		if (signals[i] != NULL)
			event_add(signals[i], NULL);
	}
	event_base_dispatch(supervisor.base);
	pending_fail_all(supervisor.pending, RPC_CANCELLED, "The agent is shutting down");
	write_rest(&supervisor, out);
	status = supervisor.exit_status;
done:
	for (i = 0; i < SIGNALS; i++)
		if (signals[i] != NULL)
			event_free(signals[i]);
	tear_down(&supervisor);
	return status;
}
