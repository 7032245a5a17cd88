/*
 * Requests about sessions that need no worker of their own: the catalogue worker answers
 * them from the database.
 */
#include <config.h>

#include "supervisor/handlers.h"
#include "supervisor/rpc.h"
#include "supervisor/session_actions.h"
#include "supervisor/session_worker_end.h"
#include "supervisor/supervisor.h"
#include "common/buffer.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

static const enum pending_kind kinds[] = {PENDING_LIST, PENDING_DELETE, PENDING_FORK};

static void
forward(struct supervisor *supervisor, struct pending *pending, const char *method,
    const char *params, size_t length)
{
	if (catalogue_request(
		supervisor->catalogue, pending_token(pending), method, params, length) == -1)
		pending_error(pending, RPC_INTERNAL_ERROR,
		    "The session store is not available now", NULL, 0);
}

static struct pending *
ask(struct supervisor *supervisor, const struct call *call, enum pending_kind kind)
{
	struct pending *pending;

	if (call->params_length > SESSION_BYTES_MAX / 64) {
		call_error(supervisor, call, RPC_INVALID_PARAMS, "The parameters are too long",
		    NULL, NULL);
		return NULL;
	}
	pending = pending_new(supervisor->pending, kind, call->id, call->id_length, NULL);
	if (pending == NULL)
		call_error(supervisor, call, RPC_INTERNAL_ERROR, "Out of memory", NULL, NULL);
	return pending;
}

void
handle_session_list(struct supervisor *supervisor, const struct call *call)
{
	struct pending *pending = ask(supervisor, call, PENDING_LIST);

	if (pending != NULL)
		forward(supervisor, pending, call->method, call->params, call->params_length);
}

void
handle_catalogue_delete(struct supervisor *supervisor, struct pending *pending, const char *id)
{
	struct buffer params = BUFFER_EMPTY;

	pending_attach(pending, PENDING_DELETE, NULL);
	buffer_append_text(&params, "{\"sessionId\":");
	buffer_append_json_text(&params, id);
	buffer_append_byte(&params, '}');
	forward(supervisor, pending, "session/delete", buffer_text(&params), params.length);
	buffer_free(&params);
}

/* An open session is closed first. */
void
handle_session_delete(struct supervisor *supervisor, const struct call *call)
{
	char *id = client_line_string(call->line, PART_SESSION_ID);
	struct session *session;
	struct pending *pending;

	if (id == NULL) {
		call_error(supervisor, call, RPC_INVALID_PARAMS,
		    "sessionId is missing or not a string", "field", "sessionId");
		return;
	}
	session = session_find(supervisor->sessions, id);
	pending = ask(supervisor, call, PENDING_DELETE);
	if (pending != NULL && session != NULL) {
		pending_attach(pending, PENDING_DELETE, session);
		session_close(session);
	} else if (pending != NULL) {
		handle_catalogue_delete(supervisor, pending, id);
	}
	free(id);
}

/* The catalogue copies the rows; then the copy is opened like any stored session. */
void
handle_session_fork(struct supervisor *supervisor, const struct call *call)
{
	struct pending *pending;

	if (!handle_session_check(supervisor, call))
		return;
	pending = ask(supervisor, call, PENDING_FORK);
	if (pending == NULL)
		return;
	if (pending_keep(pending, call->params, call->params_length) == -1)
		pending_error(pending, RPC_INTERNAL_ERROR, "Out of memory", NULL, 0);
	else
		forward(supervisor, pending, call->method, call->params, call->params_length);
}

static void
open_fork(
    struct supervisor *supervisor, struct pending *pending, const char *result, size_t length)
{
	struct json_object *value;
	const char *reason, *id, *params;
	size_t params_length;

	value = json_parse(result, length, &reason);
	id = json_member_string(value, "sessionId");
	params = pending_kept(pending, &params_length);
	if (id == NULL)
		pending_error(
		    pending, RPC_INTERNAL_ERROR, "The session could not be forked", NULL, 0);
	else
		handle_open_stored(supervisor, pending, id, params, params_length);
	json_object_put(value);
}

static struct pending *
find(struct supervisor *supervisor, uint32_t token)
{
	struct pending *pending = pending_find(supervisor->pending, token, NULL);
	size_t i;

	for (i = 0; pending != NULL && i < sizeof kinds / sizeof kinds[0]; i++)
		if (pending_get_kind(pending) == kinds[i])
			return pending;
	return NULL;
}

void
handle_catalogue_answer(
    struct supervisor *supervisor, uint32_t token, const char *result, size_t length)
{
	struct pending *pending = find(supervisor, token);

	if (pending == NULL)
		return;
	if (pending_get_kind(pending) == PENDING_FORK)
		open_fork(supervisor, pending, result, length);
	else
		pending_result(pending, result, length);
	supervisor_check_stop(supervisor);
}

void
handle_catalogue_error(struct supervisor *supervisor, uint32_t token, int code,
    const char *message, const char *data, size_t length)
{
	struct pending *pending = find(supervisor, token);

	if (pending == NULL)
		return;
	pending_error(pending, code, message, data, length);
	supervisor_check_stop(supervisor);
}

void
handle_catalogue_committed(struct supervisor *supervisor, const char *id)
{
	struct session *session = session_find(supervisor->sessions, id);

	if (session != NULL && !catalogue_commits(supervisor->catalogue, id))
		session_start_again(session);
	supervisor_check_stop(supervisor);
}

void
handle_catalogue_gone(struct supervisor *supervisor, const char *cause)
{
	struct pending *pending;
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		while ((pending = pending_first(supervisor->pending, kinds[i], NULL)) != NULL)
			pending_error_with(pending, RPC_INTERNAL_ERROR,
			    "The session store's process died", "details", cause);
	supervisor_check_stop(supervisor);
}
