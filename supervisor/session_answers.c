/*
 * Encoding of answers. No answer may go out twice, and none may be left out.
 */
#include <config.h>

#include "supervisor/session_answers.h"
#include "supervisor/rpc.h"
#include "supervisor/supervisor.h"
#include "common/buffer.h"

#include <stdio.h>
#include <string.h>

struct pending *
session_opening(const struct session *session)
{
	struct pending *pending;

	pending = pending_first(session->supervisor->pending, PENDING_NEW, session);
	if (pending == NULL)
		pending = pending_first(session->supervisor->pending, PENDING_LOAD, session);
	return pending;
}

void
session_answer_open(
    struct session *session, struct pending *pending, const char *members, size_t length)
{
	struct client_writer *writer = session->supervisor->writer;

	if (pending_get_kind(pending) == PENDING_LOAD) {
		pending_result(pending, members, length);
		return;
	}
	pending_start_result(pending);
	client_writer_text(writer, "{\"sessionId\":");
	client_writer_text(writer, session->quoted);
	rpc_add_members(writer, members, length);
	client_writer_text(writer, "}\n");
	pending_done(pending);
}

/* Tool cards that nobody will finish any more get their final state. */
static void
close_cards(struct session *session, const char *text)
{
	struct open_call *call;
	struct buffer update = BUFFER_EMPTY;

	TAILQ_FOREACH(call, &session->turn.calls, entry)
	{
		buffer_clear(&update);
		buffer_append_text(
		    &update, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":");
		buffer_append_json(&update, call->id, call->length);
		buffer_append_text(&update,
		    ",\"status\":\"failed\",\"content\":[{\"type\":"
		    "\"content\",\"content\":{\"type\":\"text\",\"text\":");
		buffer_append_json_text(&update, text);
		buffer_append_text(&update, "}}]}");
		if (!update.failed)
			rpc_session_update(session->supervisor->writer, session->quoted,
			    update.data, update.length);
	}
	buffer_free(&update);
	session_calls_clear(session);
}

void
session_answer_turn(
    struct session *session, enum stop_reason reason, const char *usage, size_t length)
{
	struct buffer result = BUFFER_EMPTY;
	struct pending *pending = session->turn.pending;

	if (pending == NULL)
		return;
	close_cards(session, reason == STOP_REASON_CANCELLED ? "Cancelled by the user"
							     : "Ended without a result");
	session->turn.pending = NULL;
	buffer_printf(&result, "{\"stopReason\":\"%s\"", stop_reason_name(reason));
	if (length > 0) {
		buffer_append_text(&result, ",\"usage\":");
		buffer_append(&result, usage, length);
	}
	buffer_append_byte(&result, '}');
	if (result.failed)
		pending_error(pending, RPC_INTERNAL_ERROR, "Out of memory", NULL, 0);
	else
		pending_result(pending, result.data, result.length);
	buffer_free(&result);
}

void
session_answer_turn_failed(
    struct session *session, int code, const char *message, const char *data, size_t length)
{
	struct pending *pending = session->turn.pending;

	if (pending == NULL)
		return;
	close_cards(session, "Ended without a result");
	session->turn.pending = NULL;
	pending_error(pending, code, message, data, length);
}

void
session_error_died(struct pending *pending, const struct session *session, const char *cause)
{
	struct buffer data = BUFFER_EMPTY;
	char text[320];

	snprintf(text, sizeof text, "The session's worker process %s", cause);
	buffer_printf(&data,
	    "{\"sessionId\":%s,\"reason\":\"worker_died\",\"details\":", session->quoted);
	buffer_append_json_text(&data, text);
	buffer_append_byte(&data, '}');
	pending_error(
	    pending, RPC_INTERNAL_ERROR, text, data.failed ? NULL : data.data, data.length);
	buffer_free(&data);
}

void
session_answer_turn_died(struct session *session, const char *cause)
{
	struct pending *pending = session->turn.pending;
	char text[320];

	if (pending == NULL)
		return;
	snprintf(text, sizeof text, "Unknown outcome: the worker process %s", cause);
	close_cards(session, text);
	session->turn.pending = NULL;
	session_error_died(pending, session, cause);
}

void
session_cancel_waiting(struct session *session)
{
	static const char result[] = "{\"stopReason\":\"cancelled\"}";
	struct waiting *waiting, *next;

	for (waiting = TAILQ_FIRST(&session->waiting); waiting != NULL; waiting = next) {
		next = TAILQ_NEXT(waiting, entry);
		if (waiting->method != NULL)
			continue;
		session_remove_waiting(session, waiting);
		pending_result(waiting->pending, result, sizeof result - 1);
		waiting_free(waiting);
	}
}

void
session_fail_waiting(
    struct session *session, int code, const char *message, const char *details)
{
	struct waiting *waiting;

	while ((waiting = session_take_waiting(session)) != NULL) {
		pending_error_with(waiting->pending, code, message,
		    details != NULL ? "details" : "sessionId",
		    details != NULL ? details : session->id);
		waiting_free(waiting);
	}
}

void
session_fail_calls(struct session *session, const char *cause)
{
	struct pending *pending;
	struct pending_table *table = session->supervisor->pending;

	while ((pending = pending_first(table, PENDING_COMMAND, session)) != NULL)
		session_error_died(pending, session, cause);
	while ((pending = pending_first(table, PENDING_FORWARDED, session)) != NULL)
		session_error_died(pending, session, cause);
}

void
session_answer_closed(struct session *session)
{
	struct pending *pending;
	struct pending_table *table = session->supervisor->pending;

	client_request_cancel_all(session->supervisor->requests, session);
	session_cancel_waiting(session);
	session_fail_waiting(session, RPC_NOT_FOUND, "The session was closed", NULL);
	pending = session_opening(session);
	if (pending != NULL)
		pending_error_with(
		    pending, RPC_NOT_FOUND, "The session was closed", "sessionId", session->id);
	while ((pending = pending_first(table, PENDING_CLOSE, session)) != NULL)
		pending_result(pending, "{}", 2);
	/* What deletes it goes on now that nobody writes to it any more. */
	while ((pending = pending_first(table, PENDING_DELETE, session)) != NULL)
		session->supervisor->forward_delete(session->supervisor, pending, session->id);
	session_free(session);
}
