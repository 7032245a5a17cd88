/*
 * A supervisor without processes: handlers, sessions and tables are the real ones, workers
 * are structs that note what they are told. For unit tests and fuzzers of one source file:
 * include it once, and link libsupervisor.a and libcommon.a.
 */
#ifndef HERMES_TESTS_LIB_FAKE_SUPERVISOR_H
#define HERMES_TESTS_LIB_FAKE_SUPERVISOR_H

#include "common/buffer.h"
#include "common/wire.h"
#include "supervisor/handlers.h"
#include "supervisor/rpc.h"
#include "supervisor/session_actions.h"
#include "supervisor/session_setup.h"
#include "supervisor/supervisor.h"
#include "supervisor/worker_dispatch.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct worker_process {
	LIST_ENTRY(worker_process) entry;
	struct worker_callbacks callbacks;
	void *arg;
	struct buffer told; /* names of the messages that it was sent, one a line */
	struct frame_header last;
	struct buffer payload; /* of the last message */
	struct buffer commits; /* payloads of TAIL_COMMITTED that it owes, each in a text */
	bool violated, stopping, deaf;
	enum stop_cause cause;
	char reason[160];
	unsigned pokes;
	pid_t pid;
};

static LIST_HEAD(, worker_process) fake_workers;
static bool fake_start_fails; /* worker_start() fails with EAGAIN */
static size_t fake_started, fake_checks, fake_stops;

/* What stop.c and worker_process.c offer to the handlers. */

void
supervisor_check_stop(struct supervisor *supervisor)
{
	(void)supervisor;
	fake_checks++;
}

void
supervisor_stop(struct supervisor *supervisor)
{
	supervisor->stopping = true;
	fake_stops++;
}

struct worker_process *
worker_start(struct worker_list *list, const char *role,
    const struct worker_callbacks *callbacks, void *arg)
{
	struct worker_process *worker;

	(void)list;
	(void)role;
	if (fake_start_fails) {
		errno = EAGAIN;
		return NULL;
	}
	worker = calloc(1, sizeof *worker);
	assert(worker != NULL);
	worker->callbacks = *callbacks;
	worker->arg = arg;
	worker->pid = (pid_t)(1000 + ++fake_started);
	LIST_INSERT_HEAD(&fake_workers, worker, entry);
	return worker;
}

void
worker_set_owner(
    struct worker_process *worker, const struct worker_callbacks *callbacks, void *arg)
{
	worker->callbacks = *callbacks;
	worker->arg = arg;
}

static inline void
fake_owe_commit(struct worker_process *worker)
{
	struct wire_cursor cursor;
	struct buffer answer = BUFFER_EMPTY;
	const char *session;
	size_t length;

	wire_start(&cursor, worker->payload.data, worker->payload.length);
	session = wire_get_text(&cursor, &length);
	assert(session != NULL);
	wire_put_text(&answer, session, length);
	wire_put_text(&worker->commits, answer.data, answer.length);
	buffer_free(&answer);
}

int
worker_send(struct worker_process *worker, enum message_type type, uint32_t request,
    uint32_t turn, const void *payload, size_t length)
{
	const struct message_row *row = message_row(type);

	assert(row != NULL && row->direction == MESSAGE_TO_WORKER);
	assert(length >= row->least && length <= row->most);
	if (worker->deaf || worker->violated)
		return -1;
	buffer_printf(&worker->told, "%s\n", message_name(type));
	worker->last.type = (uint16_t)type;
	worker->last.request = request;
	worker->last.turn = turn;
	buffer_clear(&worker->payload);
	buffer_append(&worker->payload, payload, length);
	if (type == TO_WORKER_COMMIT_TAIL)
		fake_owe_commit(worker);
	return 0;
}

void
worker_poke(struct worker_process *worker)
{
	worker->pokes++;
}

pid_t
worker_pid(const struct worker_process *worker)
{
	return worker->pid;
}

void
worker_stop(
    struct worker_process *worker, enum stop_cause cause, int64_t term_ms, int64_t kill_ms)
{
	(void)term_ms;
	(void)kill_ms;
	worker->stopping = true;
	if (worker->cause == STOP_NONE)
		worker->cause = cause;
}

void
worker_reject(struct worker_process *worker, enum stop_cause cause, const char *text)
{
	if (worker->violated)
		return;
	worker->violated = true;
	worker->cause = cause;
	strncpy(worker->reason, text, sizeof worker->reason - 1);
}

void
worker_violation(struct worker_process *worker, const char *text)
{
	worker_reject(worker, STOP_PROTOCOL_VIOLATION, text);
}

bool
worker_stopping(const struct worker_process *worker)
{
	return worker->stopping || worker->violated;
}

enum stop_cause
worker_cause(const struct worker_process *worker)
{
	return worker->cause;
}

/* Playing a worker. */

/* Says something as the channel would hand it out: only what its row allows gets through. */
static inline bool
fake_say(struct worker_process *worker, enum message_type type, uint32_t request, uint32_t turn,
    const void *payload, size_t length)
{
	const struct message_row *row = message_row(type);
	struct frame_header header = {.length = (uint32_t)length,
	    .type = (uint16_t)type,
	    .request = request,
	    .turn = turn};

	if (worker->violated)
		return false;
	if (row == NULL || row->direction != MESSAGE_TO_SUPERVISOR || length < row->least ||
	    length > row->most) {
		worker_violation(worker, "framing");
		return false;
	}
	worker->callbacks.message(worker, &header, payload, length, worker->arg);
	return true;
}

static inline void
fake_say_text(
    struct worker_process *worker, enum message_type type, uint32_t turn, const char *text)
{
	struct buffer payload = BUFFER_EMPTY;

	wire_put_text(&payload, text, strlen(text));
	fake_say(worker, type, 0, turn, payload.data, payload.length);
	buffer_free(&payload);
}

static inline void
fake_hello(struct worker_process *worker)
{
	struct buffer payload = BUFFER_EMPTY;

	wire_put_u32(&payload, MESSAGE_PROTOCOL_VERSION);
	wire_put_u32(&payload, (uint32_t)worker->pid);
	fake_say(worker, TO_SUPERVISOR_HELLO, 0, 0, payload.data, payload.length);
	buffer_free(&payload);
}

static inline void
fake_ready(struct worker_process *worker, const char *commands, const char *members)
{
	struct buffer payload = BUFFER_EMPTY;

	wire_put_text(&payload, commands, strlen(commands));
	buffer_append_text(&payload, members);
	fake_say(worker, TO_SUPERVISOR_READY, 0, 0, payload.data, payload.length);
	buffer_free(&payload);
}

static inline void
fake_failure(struct worker_process *worker, enum message_type type, uint32_t request,
    uint32_t turn, int code, const char *message, const char *data)
{
	struct buffer payload = BUFFER_EMPTY;

	wire_put_u32(&payload, (uint32_t)code);
	wire_put_text(&payload, message, strlen(message));
	buffer_append_text(&payload, data);
	fake_say(worker, type, request, turn, payload.data, payload.length);
	buffer_free(&payload);
}

static inline void
fake_turn_done(struct worker_process *worker, uint32_t turn, unsigned char reason)
{
	fake_say(worker, TO_SUPERVISOR_TURN_DONE, 0, turn, &reason, 1);
}

static inline void
fake_call_request(struct worker_process *worker, uint32_t request, uint32_t turn,
    const char *method, const char *call, const char *params)
{
	struct buffer payload = BUFFER_EMPTY;

	wire_put_text(&payload, method, strlen(method));
	wire_put_text(&payload, call, strlen(call));
	buffer_append_text(&payload, params);
	fake_say(
	    worker, TO_SUPERVISOR_CLIENT_REQUEST, request, turn, payload.data, payload.length);
	buffer_free(&payload);
}

static inline void
fake_client_request(struct worker_process *worker, uint32_t request, uint32_t turn,
    const char *method, const char *params)
{
	fake_call_request(worker, request, turn, method, "", params);
}

static inline void
fake_free(struct worker_process *worker)
{
	LIST_REMOVE(worker, entry);
	buffer_free(&worker->told);
	buffer_free(&worker->payload);
	buffer_free(&worker->commits);
	free(worker);
}

/* The worker is over: its owner is told, then it is freed. */
static inline void
fake_die(struct worker_process *worker, const char *cause)
{
	worker->callbacks.gone(worker, cause, worker->arg);
	fake_free(worker);
}

/* The supervisor and its client. */

struct fake {
	struct supervisor supervisor;
	int input, output; /* the client's ends */
	struct buffer got; /* what the client has read and not taken yet */
	size_t lines;	   /* that the supervisor has taken */
	bool ended;
	bool catalogue_ready;
	bool holds_commits; /* the catalogue worker does not get on with its commits */
};

static inline void
fake_on_line(const struct client_line *line, void *arg)
{
	struct fake *fake = arg;

	fake->lines++;
	rpc_dispatch(&fake->supervisor, line);
}

static inline void
fake_on_too_long(void *arg)
{
	struct fake *fake = arg;

	rpc_error_with(fake->supervisor.writer, NULL, RPC_INVALID_REQUEST, "Invalid request",
	    "details", "too long");
}

static inline void
fake_on_ended(void *arg)
{
	struct fake *fake = arg;

	fake->ended = true;
}

static inline void
fake_on_level(size_t level, void *arg)
{
	(void)level;
	(void)arg;
}

static inline void
fake_on_settings(void *arg)
{
	struct fake *fake = arg;

	handle_settings(&fake->supervisor);
}

static inline void
fake_on_catalogue_answer(uint32_t token, const char *result, size_t length, void *arg)
{
	handle_catalogue_answer(&((struct fake *)arg)->supervisor, token, result, length);
}

static inline void
fake_on_catalogue_error(uint32_t token, int code, const char *message, size_t message_length,
    const char *data, size_t length, void *arg)
{
	char *text = strndup(message, message_length);

	handle_catalogue_error(
	    &((struct fake *)arg)->supervisor, token, code, text, data, length);
	free(text);
}

static inline void
fake_on_catalogue_committed(const char *session, void *arg)
{
	handle_catalogue_committed(&((struct fake *)arg)->supervisor, session);
}

static inline void
fake_on_catalogue_gone(const char *cause, void *arg)
{
	handle_catalogue_gone(&((struct fake *)arg)->supervisor, cause);
}

static const struct catalogue_callbacks catalogue_callbacks = {
    .changed = fake_on_settings,
    .answered = fake_on_catalogue_answer,
    .failed = fake_on_catalogue_error,
    .committed = fake_on_catalogue_committed,
    .gone = fake_on_catalogue_gone,
};

static inline struct fake *
fake_new(void)
{
	static const struct client_reader_callbacks reader_callbacks = {
	    .line = fake_on_line, .too_long = fake_on_too_long, .ended = fake_on_ended};
	static const struct client_writer_callbacks writer_callbacks = {
	    .level = fake_on_level, .ended = fake_on_ended};
	struct fake *fake = calloc(1, sizeof *fake);
	struct supervisor *supervisor;
	int in[2], out[2], status;

	assert(fake != NULL);
	signal(SIGPIPE, SIG_IGN);
	LIST_INIT(&fake_workers);
	fake_start_fails = false;
	fake_started = fake_checks = fake_stops = 0;
	status = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, in);
	assert(status == 0);
	status = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, out);
	assert(status == 0);
	(void)status;
	fake->input = in[1];
	fake->output = out[1];
	supervisor = &fake->supervisor;
	supervisor->base = event_base_new();
	supervisor->session_timer = session_timer;
	supervisor->forward_delete = handle_catalogue_delete;
	supervisor->catalogue =
	    catalogue_new(supervisor->base, NULL, "{}", 2, &catalogue_callbacks, fake);
	supervisor->writer =
	    client_writer_new(supervisor->base, out[0], &writer_callbacks, fake);
	supervisor->pending = pending_table_new(supervisor->writer);
	supervisor->requests = client_request_table_new(supervisor->writer);
	supervisor->session_worker = worker_dispatch_callbacks();
	supervisor->sessions = session_table_new();
	supervisor->spare = spare_new(supervisor->base, NULL);
	supervisor->reader =
	    client_reader_new(supervisor->base, in[0], &reader_callbacks, fake);
	return fake;
}

static inline void
fake_delete(struct fake *fake)
{
	struct supervisor *supervisor = &fake->supervisor;

	while (!LIST_EMPTY(&fake_workers))
		fake_free(LIST_FIRST(&fake_workers));
	session_table_free(supervisor->sessions);
	pending_table_free(supervisor->pending);
	client_request_table_free(supervisor->requests);
	spare_free(supervisor->spare);
	catalogue_free(supervisor->catalogue);
	client_reader_free(supervisor->reader);
	client_writer_free(supervisor->writer);
	event_base_free(supervisor->base);
	free(supervisor->connection.capabilities);
	close(fake->input);
	close(fake->output);
	buffer_free(&fake->got);
	free(fake);
}

static inline struct worker_process *
fake_catalogue(struct fake *fake)
{
	struct worker_process *worker;

	LIST_FOREACH(worker, &fake_workers, entry)
	if (worker->arg == fake->supervisor.catalogue)
		return worker;
	return NULL;
}

static inline void
fake_catalogue_ready(struct fake *fake, struct worker_process *catalogue)
{
	if (fake->catalogue_ready)
		return;
	fake->catalogue_ready = true;
	fake_hello(catalogue);
	fake_ready(catalogue, "", "{}");
}

/* The catalogue worker says that it has committed what it was given. */
static inline void
fake_commit(struct fake *fake)
{
	struct worker_process *catalogue = fake_catalogue(fake);
	struct buffer commits;
	struct wire_cursor cursor;
	const char *payload;
	size_t length;

	if (catalogue == NULL || catalogue->commits.length == 0 || fake->holds_commits)
		return;
	fake_catalogue_ready(fake, catalogue);
	commits = catalogue->commits;
	catalogue->commits = (struct buffer)BUFFER_EMPTY;
	wire_start(&cursor, commits.data, commits.length);
	while (cursor.left > 0 && (payload = wire_get_text(&cursor, &length)) != NULL)
		fake_say(catalogue, TO_SUPERVISOR_TAIL_COMMITTED, 0, 0, payload, length);
	buffer_free(&commits);
}

/* Runs the loop until there is nothing to do, and reads what the client gets. */
static inline void
fake_run(struct fake *fake)
{
	char bytes[65536];
	ssize_t n;

	fake_commit(fake);
	do {
		event_base_loop(fake->supervisor.base, EVLOOP_NONBLOCK);
		n = read(fake->output, bytes, sizeof bytes);
		if (n > 0)
			buffer_append(&fake->got, bytes, (size_t)n);
	} while (n > 0);
}

static inline void
fake_client_bytes(struct fake *fake, const char *bytes, size_t length)
{
	ssize_t n;

	while (length > 0) {
		n = write(fake->input, bytes, length);
		if (n > 0) {
			bytes += n;
			length -= (size_t)n;
		} else {
			fake_run(fake);
		}
	}
	fake_run(fake);
}

/* The catalogue worker gets ready and tells the settings. */
static inline void
fake_settings(struct fake *fake, const char *settings)
{
	struct worker_process *catalogue = fake_catalogue(fake);

	if (catalogue == NULL)
		return;
	fake_catalogue_ready(fake, catalogue);
	fake_say(catalogue, TO_SUPERVISOR_SETTINGS, 0, 0, settings, strlen(settings));
	fake_run(fake);
}

#endif
