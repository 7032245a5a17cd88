/*
 * Sessions: new, close, and what their workers answer.
 */
#include <config.h>

#include "supervisor/handlers.h"
#include "supervisor/rpc.h"
#include "supervisor/session_actions.h"
#include "supervisor/session_setup.h"
#include "supervisor/session_worker.h"
#include "supervisor/supervisor.h"
#include "common/buffer.h"
#include "common/json.h"

#include <errno.h>
#include <string.h>

/* What of session/new can be judged without looking at the disk: NULL, or the fault and the
 * field. */
static const char *
new_fault(struct json_object *params, const char **field)
{
	const char *cwd = json_member_string(params, "cwd");
	struct json_object *value;

	*field = "cwd";
	if (cwd == NULL)
		return "cwd is missing or not a string";
	if (cwd[0] != '/')
		return "cwd must be an absolute path";
	*field = "mcpServers";
	value = json_member(params, "mcpServers");
	if (value != NULL && !json_object_is_type(value, json_type_array))
		return "mcpServers must be an array";
	*field = "additionalDirectories";
	value = json_member(params, "additionalDirectories");
	if (value != NULL && !json_object_is_type(value, json_type_array))
		return "additionalDirectories must be an array";
	return NULL;
}

/* Names the field and what it was. */
static void
refuse_new(struct supervisor *supervisor, const struct call *call, const char *fault,
    const char *field, const char *value)
{
	struct buffer text = BUFFER_EMPTY;

	buffer_append_text(&text, fault);
	if (value != NULL)
		buffer_printf(&text, ": %.200s", value);
	call_error(supervisor, call, RPC_INVALID_PARAMS, buffer_text(&text), "field", field);
	buffer_free(&text);
}

bool
handle_session_check(struct supervisor *supervisor, const struct call *call)
{
	struct json_object *params;
	const char *reason, *fault, *field = "params";

	if (supervisor->connection.logged_out) {
		call_error(supervisor, call, RPC_AUTH_REQUIRED,
		    "Authentication is required after logout", "details",
		    "Call authenticate with one of the methods of initialize.");
		return false;
	}
	if (call->params_length > SESSION_SETUP_MAX) {
		call_error(supervisor, call, RPC_INVALID_PARAMS,
		    "The parameters are longer than 256 KiB", "field", "params");
		return false;
	}
	params = json_parse(call->params, call->params_length, &reason);
	fault = params == NULL ? "params could not be read" : new_fault(params, &field);
	if (fault != NULL)
		refuse_new(supervisor, call, fault, field, json_member_string(params, field));
	json_object_put(params);
	return fault == NULL;
}

void
handle_session_new(struct supervisor *supervisor, const struct call *call)
{
	struct session *session;
	struct pending *pending;

	if (!handle_session_check(supervisor, call))
		return;
	session = session_new(supervisor->sessions, supervisor, NULL);
	if (session == NULL)
		goto failed;
	pending =
	    pending_new(supervisor->pending, PENDING_NEW, call->id, call->id_length, session);
	if (pending == NULL ||
	    session_setup_build(supervisor, session, call->params, call->params_length) == -1) {
		if (pending != NULL)
			pending_done(pending);
		session_free(session);
		goto failed;
	}
	if (session_start_worker(session) == -1) {
		pending_error_with(pending, RPC_INTERNAL_ERROR, "No worker could be started",
		    "details", strerror(errno));
		session_free(session);
	}
	return;
failed:
	call_error(supervisor, call, RPC_INTERNAL_ERROR, "Out of memory", NULL, NULL);
}

void
handle_session_close(struct supervisor *supervisor, const struct call *call)
{
	struct session *session = call_session(supervisor, call);

	if (session == NULL)
		return;
	if (pending_new(supervisor->pending, PENDING_CLOSE, call->id, call->id_length,
		session) == NULL) {
		call_error(supervisor, call, RPC_INTERNAL_ERROR, "Out of memory", NULL, NULL);
		return;
	}
	session_close(session);
}

void
handle_session_call(struct supervisor *supervisor, const struct call *call)
{
	struct session_detail detail = {
	    .method = call->method, .params = call->params, .length = call->params_length};
	struct session *session = call_session(supervisor, call);

	if (session == NULL)
		return;
	detail.pending =
	    pending_new(supervisor->pending, PENDING_CALL, call->id, call->id_length, session);
	if (detail.pending == NULL)
		call_error(supervisor, call, RPC_INTERNAL_ERROR, "Out of memory", NULL, NULL);
	else
		session_event(session, SESSION_EVENT_CALL, &detail);
}
