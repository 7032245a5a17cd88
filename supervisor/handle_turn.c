/*
 * Prompts and their cancellation.
 */
#include <config.h>

#include "supervisor/handlers.h"
#include "supervisor/rpc.h"
#include "supervisor/session_actions.h"
#include "supervisor/supervisor.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

/* A longer prompt is never a slash command that acts at once. */
#define COMMAND_MAX 65536
/* Bytes of prompts that wait in all sessions together (ARCHITECTURE.md). */
#define WAITING_MAX (128u * 1024 * 1024)

/* The array has at least one element: something but blanks stands after the bracket. */
static bool
is_filled_array(const char *text, size_t length)
{
	size_t at = 1;

	if (text == NULL || text[0] != '[')
		return false;
	while (at < length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
		at++;
	return at < length && text[at] != ']';
}

/* True when the prompt's first text block begins with a command of READY's list. */
static bool
is_command(const struct session *session, const char *prompt, size_t length)
{
	struct json_object *blocks, *first;
	const char *text, *reason;
	bool found = false;

	if (session->commands == NULL || length > COMMAND_MAX)
		return false;
	blocks = json_parse(prompt, length, &reason);
	first = json_object_is_type(blocks, json_type_array)
		    ? json_object_array_get_idx(blocks, 0)
		    : NULL;
	text = json_member_string(first, "text");
	if (text != NULL && text[0] == '/')
		found = session_has_command(session, text + 1, strcspn(text + 1, " \t\r\n"));
	json_object_put(blocks);
	return found;
}

static size_t
waiting_bytes(struct supervisor *supervisor)
{
	struct session *session;
	size_t bytes = 0;

	for (session = session_first(supervisor->sessions); session != NULL;
	     session = session_next(session))
		bytes += session->waiting_bytes;
	return bytes;
}

void
handle_session_prompt(struct supervisor *supervisor, const struct call *call)
{
	struct session_detail detail = {.params = call->params, .length = call->params_length};
	struct session *session;
	const char *prompt;
	size_t length;
	enum session_event event = SESSION_EVENT_PROMPT;

	session = call_session(supervisor, call);
	if (session == NULL)
		return;
	prompt = client_line_part(call->line, PART_PROMPT, &length);
	if (!is_filled_array(prompt, length)) {
		call_error(supervisor, call, RPC_INVALID_PARAMS,
		    "prompt must be an array with at least one content block", "field",
		    "prompt");
		return;
	}
	if (waiting_bytes(supervisor) + call->params_length > WAITING_MAX) {
		call_error(supervisor, call, RPC_INTERNAL_ERROR,
		    "Too much input waits in all sessions together", "sessionId", session->id);
		return;
	}
	detail.pending = pending_new(
	    supervisor->pending, PENDING_PROMPT, call->id, call->id_length, session);
	if (detail.pending == NULL) {
		call_error(supervisor, call, RPC_INTERNAL_ERROR, "Out of memory", NULL, NULL);
		return;
	}
	if (session->state == SESSION_TURN_RUNNING && is_command(session, prompt, length))
		event = SESSION_EVENT_COMMAND;
	session_event(session, event, &detail);
}

void
handle_session_cancel(struct supervisor *supervisor, const struct call *call)
{
	static const struct session_detail nothing;
	char *id = client_line_string(call->line, PART_SESSION_ID);
	struct session *session = id != NULL ? session_find(supervisor->sessions, id) : NULL;

	free(id);
	if (session != NULL)
		session_event(session, SESSION_EVENT_CANCEL, &nothing);
}

/* Takes a request that waits out of its queue and answers it. */
static bool
cancel_queued(struct session *session, const struct pending *pending)
{
	static const char result[] = "{\"stopReason\":\"cancelled\"}";
	struct waiting *waiting;

	TAILQ_FOREACH(waiting, &session->waiting, entry)
	if (waiting->pending == pending)
		break;
	if (waiting == NULL)
		return false;
	session_remove_waiting(session, waiting);
	if (waiting->method == NULL)
		pending_result(waiting->pending, result, sizeof result - 1);
	else
		pending_error(waiting->pending, RPC_CANCELLED, "Request cancelled", NULL, 0);
	waiting_free(waiting);
	return true;
}

/* A session that is being set up and is not wanted any more. */
static void
cancel_new(struct session *session, struct pending *pending)
{
	pending_error(pending, RPC_CANCELLED, "Request cancelled", NULL, 0);
	session_close(session);
}

void
handle_cancel_request(struct supervisor *supervisor, const struct call *call)
{
	static const struct session_detail nothing;
	struct pending *pending;
	struct session *session;
	const char *id;
	size_t length;

	id = client_line_part(call->line, PART_REQUEST_ID, &length);
	pending = id != NULL ? pending_find_id(supervisor->pending, id, length) : NULL;
	session = pending != NULL ? pending_session(pending) : NULL;
	if (pending != NULL && pending_get_kind(pending) == PENDING_AUTHENTICATE)
		pending_error(pending, RPC_CANCELLED, "Request cancelled", NULL, 0);
	if (session == NULL || cancel_queued(session, pending))
		return;
	if (pending_get_kind(pending) == PENDING_NEW)
		cancel_new(session, pending);
	else if (session->turn.pending == pending && session->state != SESSION_CANCELLING)
		session_event(session, SESSION_EVENT_CANCEL, &nothing);
}
