/*
 * Answers to a call. A notification is never answered, whatever was wrong with it.
 */
#include <config.h>

#include "supervisor/call.h"
#include "supervisor/rpc.h"
#include "supervisor/supervisor.h"

#include <stdlib.h>
#include <string.h>

void
call_result(struct supervisor *supervisor, const struct call *call, const char *result)
{
	char *id;

	if (call->id == NULL)
		return;
	id = strndup(call->id, call->id_length);
	rpc_result(supervisor->writer, id, result, strlen(result));
	free(id);
}

void
call_error(struct supervisor *supervisor, const struct call *call, int code,
    const char *message, const char *key, const char *text)
{
	char *id;

	if (call->id == NULL)
		return;
	id = strndup(call->id, call->id_length);
	if (key != NULL)
		rpc_error_with(supervisor->writer, id, code, message, key, text);
	else
		rpc_error(supervisor->writer, id, code, message, NULL, 0);
	free(id);
}

struct session *
call_session(struct supervisor *supervisor, const struct call *call)
{
	char *id = client_line_string(call->line, PART_SESSION_ID);
	struct session *session = NULL;

	if (id == NULL) {
		call_error(supervisor, call, RPC_INVALID_PARAMS,
		    "sessionId is missing or not a string", "field", "sessionId");
		return NULL;
	}
	session = session_find(supervisor->sessions, id);
	if (session == NULL || (session->state == SESSION_STOPPING && !session->reopen)) {
		call_error(supervisor, call, RPC_NOT_FOUND, "No such session", "sessionId", id);
		session = NULL;
	}
	free(id);
	return session;
}
