/*
 * Sessions that were stored: load and resume. Their ids come from the client, so nothing is
 * believed about them before a worker has found them.
 */
#include <config.h>

#include "supervisor/handlers.h"
#include "supervisor/rpc.h"
#include "supervisor/session_actions.h"
#include "supervisor/session_setup.h"
#include "supervisor/session_worker.h"
#include "supervisor/supervisor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A session that is open already gets a new worker, unless it works. */
static void
open_again(struct supervisor *supervisor, const struct call *call, struct session *session,
    const char *how)
{
	struct pending *pending;

	if (pending_first(supervisor->pending, PENDING_DELETE, session) != NULL) {
		call_error(supervisor, call, RPC_NOT_FOUND, "No such session", "sessionId",
		    session->id);
		return;
	}
	if (!session_may_open_again(session)) {
		call_error(supervisor, call, RPC_INTERNAL_ERROR,
		    "The session is busy; load it when its turn has ended", "sessionId",
		    session->id);
		return;
	}
	pending =
	    pending_new(supervisor->pending, PENDING_LOAD, call->id, call->id_length, session);
	if (pending == NULL) {
		call_error(supervisor, call, RPC_INTERNAL_ERROR, "Out of memory", NULL, NULL);
		return;
	}
	if (session_setup_build(supervisor, session, call->params, call->params_length) == -1) {
		pending_error(pending, RPC_INTERNAL_ERROR, "Out of memory", NULL, 0);
		return;
	}
	session->open = how;
	session_open_again(session);
}

static void
open_stored(struct supervisor *supervisor, struct pending *pending, struct session *session,
    const char *how, const char *params, size_t length)
{
	session->open = how;
	if (session_setup_build(supervisor, session, params, length) == -1) {
		pending_error(pending, RPC_INTERNAL_ERROR, "Out of memory", NULL, 0);
		session_free(session);
	} else if (session_provide_worker(session) == -1) {
		pending_error_with(pending, RPC_INTERNAL_ERROR, "No worker could be started",
		    "details", strerror(errno));
		session_free(session);
	}
}

static void
open_session(struct supervisor *supervisor, const struct call *call, const char *how)
{
	char *id = client_line_string(call->line, PART_SESSION_ID);
	struct session *session;
	struct pending *pending = NULL;

	if (id == NULL) {
		call_error(supervisor, call, RPC_INVALID_PARAMS,
		    "sessionId is missing or not a string", "field", "sessionId");
		return;
	}
	if (!session_id_valid(id)) {
		call_error(supervisor, call, RPC_NOT_FOUND, "No such session", "sessionId", id);
		goto done;
	}
	if (!handle_session_check(supervisor, call))
		goto done;
	session = session_find(supervisor->sessions, id);
	if (session != NULL) {
		open_again(supervisor, call, session, how);
		goto done;
	}
	session = session_new(supervisor->sessions, supervisor, id);
	if (session != NULL)
		pending = pending_new(
		    supervisor->pending, PENDING_LOAD, call->id, call->id_length, session);
	if (pending != NULL) {
		open_stored(
		    supervisor, pending, session, how, call->params, call->params_length);
		goto done;
	}
	if (session != NULL)
		session_free(session);
	call_error(supervisor, call, RPC_INTERNAL_ERROR, "Out of memory", NULL, NULL);
done:
	free(id);
}

void
handle_session_load(struct supervisor *supervisor, const struct call *call)
{
	open_session(supervisor, call, "load");
}

void
handle_session_resume(struct supervisor *supervisor, const struct call *call)
{
	open_session(supervisor, call, "resume");
}

void
handle_open_stored(struct supervisor *supervisor, struct pending *pending, const char *id,
    const char *params, size_t length)
{
	struct session *session = NULL;

	if (session_id_valid(id) && session_find(supervisor->sessions, id) == NULL)
		session = session_new(supervisor->sessions, supervisor, id);
	if (session == NULL) {
		pending_error(
		    pending, RPC_INTERNAL_ERROR, "The session could not be opened", NULL, 0);
		return;
	}
	pending_attach(pending, PENDING_NEW, session);
	open_stored(supervisor, pending, session, "resume", params, length);
}
