/*
 * The worker of a session ends, or is made to, while no turn runs. Whatever the client asked
 * for is answered or waits for the next worker; a turn is session_recovery_actions.c's part.
 */
#include <config.h>

#include "supervisor/session_worker_end.h"
#include "supervisor/rpc.h"
#include "supervisor/session_answers.h"
#include "supervisor/session_recovery.h"
#include "supervisor/session_worker.h"
#include "supervisor/supervisor.h"
#include "common/log.h"

#include <errno.h>
#include <string.h>

/* Workers that may die in a row while they are set up: for a prompt that waits, and while the
 * client waits for a session to be opened, who can ask again. */
#define SETUP_DEATHS_MAX 3
#define OPENING_DEATHS_MAX 2

void
session_start_for_waiting(struct session *session)
{
	if (!TAILQ_EMPTY(&session->waiting) && session_provide_worker(session) == -1)
		session_fail_waiting(
		    session, RPC_INTERNAL_ERROR, "No worker could be started", strerror(errno));
}

void
session_open_now(struct session *session)
{
	struct pending *pending;

	if (session_provide_worker(session) == 0)
		return;
	pending = session_opening(session);
	if (pending != NULL)
		pending_error_with(pending, RPC_INTERNAL_ERROR, "No worker could be started",
		    "details", strerror(errno));
	session_answer_closed(session);
}

void
session_start_again(struct session *session)
{
	if (session->state != SESSION_DEAD)
		return;
	if (session_opening(session) != NULL)
		session_open_now(session);
	else
		session_start_for_waiting(session);
}

void
session_become_dead(struct session *session)
{
	if (session->turn.tail.chunks.length > 0)
		recovery_commit(session);
	session->worker = NULL;
	session->state = SESSION_DEAD;
	session_disarm(session);
	/* A successor counts its requests anew: a late answer must not meet one of those. */
	client_request_cancel_all(session->supervisor->requests, session);
	if (session->close_wanted) {
		session_answer_closed(session);
		return;
	}
	if (session->supervisor->stopping)
		session_fail_waiting(session, RPC_INTERNAL_ERROR, "The agent shuts down", NULL);
	session_start_for_waiting(session);
}

void
session_close_now(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	session_fail_calls(session, "ended because the session was closed");
	session_cancel_waiting(session);
	session_disarm(session);
	session->close_wanted = true;
	session->state = SESSION_STOPPING;
	worker_send(session->worker, TO_WORKER_SHUTDOWN, 0, 0, NULL, 0);
	worker_stop(session->worker, STOP_CLOSE, WORKER_STOP_TERM_MS, WORKER_STOP_KILL_MS);
}

void
session_fail_setup(struct session *session, const struct session_detail *detail)
{
	struct pending *pending;

	session_disarm(session);
	worker_stop(session->worker, STOP_CLOSE, WORKER_STOP_TERM_MS, WORKER_STOP_KILL_MS);
	pending = session_opening(session);
	if (pending != NULL) {
		session->state = SESSION_STOPPING;
		session->close_wanted = true;
		pending_error(
		    pending, detail->code, detail->message, detail->data, detail->data_length);
		return;
	}
	session_fail_waiting(session, detail->code, detail->message, NULL);
	session->state = SESSION_STARTING; /* until it is gone */
}

void
session_setup_timeout(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	log_error("session", "%s: the worker was not ready within %d ms", session->id,
	    WORKER_SETUP_MS);
	worker_stop(session->worker, STOP_SETUP_TIMEOUT, 0, 200);
}

/* A worker that dies before it is ready has done nothing that anybody saw: the next one may do
 * better, unless it is a load, of which a part may have been shown. */
static bool
may_start_again(struct session *session)
{
	unsigned limit =
	    session_opening(session) != NULL ? OPENING_DEATHS_MAX : SETUP_DEATHS_MAX;

	/* One that breaks the rules, or is of another version, does so each time. */
	if (worker_cause(session->worker) != STOP_NONE &&
	    worker_cause(session->worker) != STOP_SETUP_TIMEOUT)
		return false;
	return ++session->setup_deaths < limit && !session->supervisor->stopping &&
	       !session->close_wanted &&
	       (session_opening(session) == NULL || strcmp(session->open, "load") != 0);
}

void
session_start_died(struct session *session, const struct session_detail *detail)
{
	struct pending *pending;

	if (may_start_again(session)) {
		log_warning("session",
		    "%s: its worker %s while it was set up; another one is tried", session->id,
		    detail->cause);
		session
		    ->starts--; /* the next one takes its place, also in what it does first */
		session_become_dead(session);
		session_start_again(session);
		return;
	}
	session->setup_deaths = 0;
	pending = session_opening(session);
	if (pending != NULL) {
		session_error_died(pending, session, detail->cause);
		session->close_wanted = true;
	}
	session_fail_waiting(session, RPC_INTERNAL_ERROR,
	    "The session's worker could not be set up", detail->cause);
	session_become_dead(session);
}

void
session_idle_died(struct session *session, const struct session_detail *detail)
{
	session_fail_calls(session, detail->cause);
	session_become_dead(session);
}

void
session_retire(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	if (pending_first(session->supervisor->pending, PENDING_FORWARDED, session) != NULL) {
		session_idle_since_now(session);
		return;
	}
	session->state = SESSION_RETIRING;
	session_arm(session, WORKER_RETIRE_MS);
	worker_send(session->worker, TO_WORKER_RETIRE, 0, 0, NULL, 0);
}

void
session_retire_timeout(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	log_error("session", "%s: the idle worker said nothing within %d ms", session->id,
	    WORKER_RETIRE_MS);
	worker_stop(session->worker, STOP_IDLE, 0, WORKER_STOP_KILL_MS - WORKER_STOP_TERM_MS);
}
