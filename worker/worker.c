/*
 * A worker process. It serves one supervisor and ends with it; nothing of it survives but
 * what its store has saved.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/acp/permission.h"
#include "worker/acp/turn_output.h"
#include "worker/store/state_queue.h"
#include "worker/store/store_sqlite.h"
#include "worker/supervisor_link.h"
#include "common/exit_cause.h"
#include "common/log.h"
#include "common/monotonic.h"
#include "common/wire.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOCKET_FD 3
#define SAVE_MS 400 /* the supervisor kills after 700 ms */
/* More than a guard needs for a command that ignores SIGTERM (500 ms), less than the
 * supervisor waits for a worker (700 ms). */
#define GUARDS_MS 620
/* The time that the end of a process takes at most once its supervisor is gone. */
#define ORPHAN_SECONDS 2

static void
log_sink_link(enum log_level level, const char *record, size_t length, void *arg)
{
	struct worker *worker = arg;
	struct buffer payload = BUFFER_EMPTY;

	if (length > 0 && record[length - 1] == '\n')
		length--;
	wire_put_u8(&payload, (uint8_t)level);
	buffer_append(&payload, record, length);
	link_send(worker->link, TO_SUPERVISOR_LOG, 0, 0, payload.data, payload.length);
	buffer_free(&payload);
}

static void
set_up(struct worker *worker, const char *payload, size_t length)
{
	static const enum log_level levels[] = {
	    LOG_LEVEL_INFO, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG};
	struct json_object *setup;
	const char *reason;
	int64_t verbosity = 0;

	setup = json_parse(payload, length, &reason);
	if (!json_object_is_type(setup, json_type_object)) {
		log_error("worker", "SETUP could not be read: %s", reason);
		json_object_put(setup);
		worker->status = EXIT_PROTOCOL;
		event_base_loopbreak(worker->base);
		return;
	}
	json_member_integer(json_member_object(setup, "options"), "verbosity", &verbosity);
	log_set_level(levels[verbosity < 0 ? 0 : verbosity > 2 ? 2 : verbosity]);
	if (worker->role == WORKER_SESSION)
		session_set_up(worker, setup);
	else
		catalogue_set_up(worker, setup);
	json_object_put(setup);
}

static void
retire(struct worker *worker)
{
	if (worker->role == WORKER_SESSION && worker->set_up && session_retire(worker))
		worker_end(worker);
}

static void
on_message(enum message_type type, uint32_t request, uint32_t turn, const char *payload,
    size_t length, void *arg)
{
	struct worker *worker = arg;

	if (worker->ending)
		return;
	if (type == TO_WORKER_SETUP)
		set_up(worker, payload, length);
	else if (type == TO_WORKER_SHUTDOWN)
		worker_end(worker);
	else if (type == TO_WORKER_RETIRE)
		retire(worker);
	else if (worker->role == WORKER_SESSION && worker->set_up)
		session_message(worker, type, request, turn, payload, length);
	else if (worker->role == WORKER_CATALOGUE)
		catalogue_message(worker, type, request, payload, length);
}

/* What the end of a turn has to save is saved before the process goes. */
static void
finish_saving(struct worker *worker)
{
	if (worker->durable)
		store_sqlite_finish(worker->agent.store, SAVE_MS);
	if (worker->queue != NULL)
		state_queue_finish(worker->queue, SAVE_MS);
}

/* The supervisor is gone. The loop learns it from the socket, before or after; should it not
 * come to an end then, a second signal of this kind, with nothing to handle it, ends the
 * process. */
static void
on_orphaned(int number)
{
	(void)number;
	alarm(ORPHAN_SECONDS);
}

/* The supervisor is gone: nobody is told, but what was shown is kept. */
static void
on_ended(void *arg)
{
	struct worker *worker = arg;

	alarm(ORPHAN_SECONDS);
	if (worker->agent.base != NULL)
		turn_cancel(&worker->agent);
	finish_saving(worker);
	event_base_loopbreak(worker->base);
}

static void
on_drained(void *arg)
{
	struct worker *worker = arg;

	if (worker->ending && link_flush(worker->link)) {
		event_base_loopbreak(worker->base);
		return;
	}
	if (worker->output != NULL)
		turn_output_drained(worker->output);
	if (worker->set_up && !link_busy(worker->link))
		turn_resume(&worker->agent);
}

void
worker_end(struct worker *worker)
{
	if (worker->ending)
		return;
	if (worker->agent.base != NULL)
		turn_cancel(&worker->agent);
	finish_saving(worker);
	worker->ending = true;
	link_send(worker->link, TO_SUPERVISOR_FAREWELL, 0, 0, NULL, 0);
	if (link_flush(worker->link))
		event_base_loopbreak(worker->base);
}

static void
on_signal(int number, short events, void *arg)
{
	struct worker *worker = arg;

	(void)events;
	link_drain(worker->link); /* what a signal announces stands in the socket */
	if (number != SIGTERM || worker->ending)
		return;
	/* Not the supervisor's doing: the turn has failed, it was not cancelled. What is saved
	 * now is told; the rest is left to whoever goes on. */
	log_warning("worker", "ended by SIGTERM");
	finish_saving(worker);
	if (worker->durable)
		store_sqlite_forget(worker->agent.store);
	permission_list_forget(worker->permissions);
	turn_output_forget(worker->output);
	turn_abandon(&worker->agent);
	worker->status = EXIT_AGAIN;
	worker->ending = true;
	link_flush(worker->link);
	event_base_loopbreak(worker->base);
}

static void
say_hello(struct worker *worker)
{
	struct buffer payload = BUFFER_EMPTY;

	wire_put_u32(&payload, MESSAGE_PROTOCOL_VERSION);
	wire_put_u32(&payload, (uint32_t)getpid());
	link_send(worker->link, TO_SUPERVISOR_HELLO, 0, 0, payload.data, payload.length);
	buffer_free(&payload);
}

static void
on_enough(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* Waits for the guards of commands that are being ended: nothing is left to others to reap,
 * and who sees the worker end knows that its commands have. Only guards have events here. */
static void
await_guards(struct event_base *base)
{
	struct timeval limit = monotonic_interval(GUARDS_MS);
	struct event *enough = evtimer_new(base, on_enough, NULL);

	evtimer_add(enough, &limit);
	while (evtimer_pending(enough, NULL) &&
	       event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED) > 1)
		event_base_loop(base, EVLOOP_ONCE);
	event_free(enough);
}

int
worker_run(enum worker_role role, uint32_t generation)
{
	static const struct supervisor_link_callbacks callbacks = {
	    .message = on_message, .ended = on_ended, .drained = on_drained};
	static const int numbers[] = {SIGTERM, SIGUSR1};
	static const struct sigaction orphaned = {
	    .sa_handler = on_orphaned, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
	struct worker worker = {.role = role};
	struct event_config *config = event_config_new();
	struct event *signals[2] = {NULL};
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error like a full disk */
	sigaction(SIGALRM, &orphaned, NULL);
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	worker.base = event_base_new_with_config(config);
	event_config_free(config);
	if (worker.base == NULL)
		return EXIT_SYSTEM;
	worker.link =
	    supervisor_link_new(worker.base, SOCKET_FD, generation, &callbacks, &worker);
	if (worker.link == NULL)
		return EXIT_SYSTEM;
	log_open("hermes-acp-worker", LOG_LEVEL_INFO, log_sink_link, &worker);
	for (i = 0; i < 2; i++) {
		signals[i] = evsignal_new(worker.base, numbers[i], on_signal, &worker);
		event_add(signals[i], NULL);
	}
	say_hello(&worker);
	event_base_dispatch(worker.base);
	log_open("hermes-acp-worker", LOG_LEVEL_ERROR, NULL, NULL);
	session_tear_down(&worker);
	state_queue_free(worker.queue);
	state_free(worker.state);
	supervisor_link_free(worker.link);
	configuration_free(worker.configuration);
	for (i = 0; i < 2; i++)
		event_free(signals[i]);
	signal(SIGTERM, SIG_IGN); /* it ends already; the supervisor's SIGKILL still counts */
	await_guards(worker.base);
	event_base_free(worker.base);
	return worker.status;
}
