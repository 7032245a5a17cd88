/*
 * From a worker's frame to the client's line. A worker's bytes are untrusted: a payload that
 * becomes part of a line is scanned first, the supervisor alone writes ids, and whoever
 * breaks a rule is killed without a byte of it having gone out.
 */
#include <config.h>

#include "supervisor/worker_dispatch.h"
#include "supervisor/payload.h"
#include "supervisor/rpc.h"
#include "supervisor/session_actions.h"
#include "supervisor/session_answers.h"
#include "supervisor/supervisor.h"
#include "supervisor/worker_hello.h"
#include "common/log.h"
#include "common/wire.h"

#include <stdlib.h>
#include <string.h>

struct message {
	const struct frame_header *header;
	const char *payload;
	size_t length;
};

typedef void (*message_function)(struct session *, const struct message *);

static void
refuse(struct session *session, const char *text)
{
	worker_violation(session->worker, text);
}

/* A message of the running turn counts only while the client waits for that turn. */
static bool
is_current(const struct session *session, const struct message *message)
{
	return message->header->turn == session->turn.id && session->turn.pending != NULL;
}

static void
on_hello(struct session *session, const struct message *message)
{
	if (session->hello)
		refuse(session, "a second HELLO");
	else
		session->hello =
		    worker_hello_check(session->worker, message->payload, message->length);
}

static void
on_ready(struct session *session, const struct message *message)
{
	struct session_detail detail = {0};
	struct wire_cursor cursor;
	const char *commands;
	size_t length;

	wire_start(&cursor, message->payload, message->length);
	commands = wire_get_text(&cursor, &length);
	detail.data = wire_get_rest(&cursor, &detail.data_length);
	if (detail.data == NULL ||
	    !payload_is_object(detail.data, detail.data_length, "sessionId", NULL)) {
		refuse(session, "malformed READY");
		return;
	}
	free(session->commands);
	session->commands = malloc(length + 3);
	if (session->commands != NULL) {
		session->commands[0] = ' ';
		memcpy(session->commands + 1, commands, length);
		memcpy(session->commands + 1 + length, " ", 2);
	}
	session_event(session, SESSION_EVENT_READY, &detail);
}

/* i32 code, text message, JSON data: decoded into `detail`; the caller frees message. */
static char *
get_failure(
    struct session *session, const struct message *message, struct session_detail *detail)
{
	struct wire_cursor cursor;
	const char *text;
	char *copy;
	size_t length;

	wire_start(&cursor, message->payload, message->length);
	detail->code = (int)(int32_t)wire_get_u32(&cursor);
	text = wire_get_text(&cursor, &length);
	detail->data = wire_get_rest(&cursor, &detail->data_length);
	if (wire_end(&cursor) == -1 || text == NULL ||
	    (detail->data_length > 0 && !payload_is_line(detail->data, detail->data_length))) {
		refuse(session, "malformed failure");
		return NULL;
	}
	copy = strndup(text, length);
	detail->message = copy;
	return copy;
}

static void
failure_event(struct session *session, const struct message *message, enum session_event event)
{
	struct session_detail detail = {0};
	char *text = get_failure(session, message, &detail);

	if (text == NULL)
		return;
	session_event(session, event, &detail);
	free(text);
}

static void
on_setup_failed(struct session *session, const struct message *message)
{
	failure_event(session, message, SESSION_EVENT_SETUP_FAILED);
}

static void
on_log(struct session *session, const struct message *message)
{
	worker_hello_log(session->worker, message->payload, message->length);
}

static void
pass_update(struct session *session, const struct message *message)
{
	rpc_session_update(
	    session->supervisor->writer, session->quoted, message->payload, message->length);
}

static void
on_text(struct session *session, const struct message *message)
{
	if (!payload_is_object(message->payload, message->length, NULL, "sessionUpdate")) {
		refuse(session, "malformed TEXT");
		return;
	}
	if (!is_current(session, message))
		return;
	pass_update(session, message);
	tail_add(&session->turn.tail, message->payload, message->length);
}

static void
on_turn_update(struct session *session, const struct message *message)
{
	if (!payload_is_object(message->payload, message->length, NULL, "sessionUpdate"))
		refuse(session, "malformed TURN_UPDATE");
	else if (is_current(session, message))
		pass_update(session, message);
}

static void
on_session_update(struct session *session, const struct message *message)
{
	if (!payload_is_object(message->payload, message->length, NULL, "sessionUpdate"))
		refuse(session, "malformed SESSION_UPDATE");
	else if (session->state == SESSION_STARTING && session_opening(session) != NULL &&
		 pending_get_kind(session_opening(session)) == PENDING_NEW)
		refuse(session, "an update before the client knows the session");
	else if (session->state != SESSION_STOPPING)
		pass_update(session, message);
}

static const char *
get_call_id(struct session *session, const struct message *message, size_t *length)
{
	struct wire_cursor cursor;
	const char *id;

	wire_start(&cursor, message->payload, message->length);
	id = wire_get_text(&cursor, length);
	if (wire_end(&cursor) == 0 && id != NULL)
		return id;
	refuse(session, "malformed call id");
	return NULL;
}

static void
on_call_open(struct session *session, const struct message *message)
{
	size_t length;
	const char *id = get_call_id(session, message, &length);

	if (id != NULL && is_current(session, message) &&
	    session_call_open(session, id, length) == -1)
		refuse(session, "too many open calls");
}

/* The call goes on without the answer to what a dead worker asked for it. */
static void
forget_question(struct session *session, const char *call, size_t length)
{
	const struct client_question question = {
	    .turn = session->turn.id, .call = call, .call_length = length};

	client_request_settled(session->supervisor->requests, session, &question);
}

static void
on_call_started(struct session *session, const struct message *message)
{
	size_t length;
	const char *id = get_call_id(session, message, &length);

	if (id == NULL || !is_current(session, message))
		return;
	if (session_call_started(session, id, length))
		forget_question(session, id, length);
	else
		refuse(session, "CALL_STARTED without CALL_OPEN");
}

static void
on_call_closed(struct session *session, const struct message *message)
{
	size_t length;
	const char *id = get_call_id(session, message, &length);

	if (id == NULL || !is_current(session, message))
		return;
	if (session_call_closed(session, id, length))
		forget_question(session, id, length);
	else
		refuse(session, "CALL_CLOSED without CALL_OPEN");
}

static void
on_state_saved(struct session *session, const struct message *message)
{
	struct wire_cursor cursor;

	wire_start(&cursor, message->payload, message->length);
	if (message->header->turn == session->turn.id)
		tail_saved(&session->turn.tail, wire_get_u64(&cursor));
}

static void
on_session_state(struct session *session, const struct message *message)
{
	if (!payload_is_object(message->payload, message->length, NULL, NULL)) {
		refuse(session, "malformed SESSION_STATE");
		return;
	}
	free(session->worker_state);
	session->worker_state = strndup(message->payload, message->length);
}

/* Passes a question on, or joins it to the one that a dead worker left on the screen. */
static void
ask_client(struct session *session, const struct client_question *question)
{
	struct client_request_table *requests = session->supervisor->requests;
	struct buffer answer = BUFFER_EMPTY;

	if (!client_request_join(requests, session, question, &answer))
		client_request_send(requests, session, session->quoted, question);
	else if (answer.length > 0)
		worker_send(session->worker, TO_WORKER_CLIENT_ANSWER, question->worker_request,
		    0, answer.data, answer.length);
	buffer_free(&answer);
}

static void
on_client_request(struct session *session, const struct message *message)
{
	struct client_question question = {
	    .worker_request = message->header->request, .turn = message->header->turn};
	struct wire_cursor cursor;

	wire_start(&cursor, message->payload, message->length);
	question.method = wire_get_text(&cursor, &question.method_length);
	question.call = wire_get_text(&cursor, &question.call_length);
	question.params = wire_get_rest(&cursor, &question.length);
	if (question.method == NULL || question.call == NULL ||
	    !client_request_allowed(question.method, question.method_length) ||
	    !payload_is_object(question.params, question.length, "sessionId", NULL) ||
	    question.worker_request == 0) {
		refuse(session, "malformed CLIENT_REQUEST");
		return;
	}
	if (client_request_count(session->supervisor->requests, session) >= CLIENT_REQUESTS_MAX)
		refuse(session, "too many open requests");
	else if (is_current(session, message) && session->state == SESSION_TURN_RUNNING)
		ask_client(session, &question);
}

static void
on_client_cancel(struct session *session, const struct message *message)
{
	client_request_cancel(session->supervisor->requests, session, message->header->request);
}

/* The request that a worker answers, which must be one that it was given. */
static struct pending *
answered(struct session *session, const struct message *message)
{
	struct pending *pending =
	    pending_find(session->supervisor->pending, message->header->request, session);

	if (pending != NULL && (pending_get_kind(pending) == PENDING_FORWARDED ||
				   pending_get_kind(pending) == PENDING_COMMAND))
		return pending;
	/* A close answers what the worker was given; its own answer may cross that. */
	if (session->state == SESSION_STOPPING)
		return NULL;
	refuse(session, "answer to no request");
	return NULL;
}

static void
on_response(struct session *session, const struct message *message)
{
	struct pending *pending;

	if (!payload_is_object(message->payload, message->length, NULL, NULL)) {
		refuse(session, "malformed RESPONSE");
		return;
	}
	pending = answered(session, message);
	if (pending != NULL)
		pending_result(pending, message->payload, message->length);
}

static void
on_response_error(struct session *session, const struct message *message)
{
	struct session_detail detail = {0};
	char *text = get_failure(session, message, &detail);
	struct pending *pending;

	if (text == NULL)
		return;
	pending = answered(session, message);
	if (pending != NULL)
		pending_error(
		    pending, detail.code, detail.message, detail.data, detail.data_length);
	free(text);
}

static void
on_turn_done(struct session *session, const struct message *message)
{
	struct session_detail detail = {0};
	struct wire_cursor cursor;
	uint8_t reason;

	wire_start(&cursor, message->payload, message->length);
	reason = wire_get_u8(&cursor);
	detail.data = wire_get_rest(&cursor, &detail.data_length);
	if (reason >= STOP_REASON_COUNT || message->header->turn != session->turn.id ||
	    (detail.data_length > 0 &&
		!payload_is_object(detail.data, detail.data_length, NULL, NULL))) {
		refuse(session, "malformed TURN_DONE");
		return;
	}
	detail.reason = (enum stop_reason)reason;
	session_event(session, SESSION_EVENT_TURN_DONE, &detail);
}

static void
on_turn_failed(struct session *session, const struct message *message)
{
	if (message->header->turn != session->turn.id)
		refuse(session, "malformed TURN_FAILED");
	else
		failure_event(session, message, SESSION_EVENT_TURN_FAILED);
}

static void
on_busy(struct session *session, const struct message *message)
{
	static const struct session_detail nothing;

	(void)message;
	session_event(session, SESSION_EVENT_BUSY, &nothing);
}

static const struct {
	enum message_type type;
	message_function function;
} functions[] = {
    {TO_SUPERVISOR_TEXT, on_text},
    {TO_SUPERVISOR_TURN_UPDATE, on_turn_update},
    {TO_SUPERVISOR_SESSION_UPDATE, on_session_update},
    {TO_SUPERVISOR_CALL_OPEN, on_call_open},
    {TO_SUPERVISOR_CALL_STARTED, on_call_started},
    {TO_SUPERVISOR_CALL_CLOSED, on_call_closed},
    {TO_SUPERVISOR_STATE_SAVED, on_state_saved},
    {TO_SUPERVISOR_SESSION_STATE, on_session_state},
    {TO_SUPERVISOR_CLIENT_REQUEST, on_client_request},
    {TO_SUPERVISOR_CLIENT_CANCEL, on_client_cancel},
    {TO_SUPERVISOR_RESPONSE, on_response},
    {TO_SUPERVISOR_RESPONSE_ERROR, on_response_error},
    {TO_SUPERVISOR_TURN_DONE, on_turn_done},
    {TO_SUPERVISOR_TURN_FAILED, on_turn_failed},
    {TO_SUPERVISOR_BUSY, on_busy},
    {TO_SUPERVISOR_HELLO, on_hello},
    {TO_SUPERVISOR_READY, on_ready},
    {TO_SUPERVISOR_SETUP_FAILED, on_setup_failed},
    {TO_SUPERVISOR_LOG, on_log},
};

/* NULL when the message is legal now, else what is wrong. */
static const char *
illegal(const struct session *session, const struct message_row *row)
{
	if ((row->peer & MESSAGE_PEER_SESSION) == 0)
		return "not a message of a session's worker";
	if ((row->states & 1u << session->state) == 0)
		return "message in the wrong state";
	if (row->setup && session->ready)
		return "set-up message after READY";
	if (row->setup && row->type != TO_SUPERVISOR_HELLO && !session->hello)
		return "set-up message before HELLO";
	return NULL;
}

static void
on_message(struct worker_process *worker, const struct frame_header *header,
    const void *payload, size_t length, void *arg)
{
	struct session *session = arg;
	struct message message = {header, payload, length};
	const struct message_row *row = message_row(header->type);
	const char *fault = illegal(session, row);
	size_t i;

	if (row->setup && worker_stopping(worker))
		return; /* too late: it is being ended already */
	if (fault != NULL) {
		log_error(
		    "worker", "%s in state %s", row->name, session_state_name(session->state));
		refuse(session, fault);
		return;
	}
	if (header->turn != 0 && header->turn == session->turn.id)
		session_forget_prompt(session); /* it has begun: it is never run again */
	for (i = 0; i < sizeof functions / sizeof functions[0]; i++)
		if (functions[i].type == row->type) {
			functions[i].function(session, &message);
			return;
		}
	refuse(session, "message without a handler");
}

static void
on_gone(struct worker_process *worker, const char *cause, void *arg)
{
	struct session_detail detail = {.cause = cause};

	(void)worker;
	session_event(arg, SESSION_EVENT_GONE, &detail);
}

const struct worker_callbacks *
worker_dispatch_callbacks(void)
{
	static const struct worker_callbacks callbacks = {
	    .message = on_message,
	    .gone = on_gone,
	};

	return &callbacks;
}
