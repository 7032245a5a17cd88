/*
 * The actions of the session table for a turn whose worker died and for the state RECOVERING:
 * a successor goes on with the turn, or it ends here. Its prompt is answered exactly once.
 */
#include <config.h>

#include "supervisor/session_recovery_actions.h"
#include "supervisor/session_answers.h"
#include "supervisor/session_recovery.h"
#include "supervisor/session_worker.h"
#include "supervisor/session_worker_end.h"
#include "supervisor/supervisor.h"

#include <errno.h>
#include <string.h>

/* The worker was dying when it got the prompt and did nothing with it: the prompt runs on
 * the next worker, once. */
static bool
run_again(struct session *session)
{
	struct turn *turn = &session->turn;

	if (turn->prompt == NULL || turn->again || session->supervisor->stopping ||
	    session_wait_first(session, turn->pending, turn->prompt, turn->prompt_length) == -1)
		return false;
	turn->pending = NULL;
	turn->again = true;
	return true;
}

void
session_turn_died(struct session *session, const struct session_detail *detail)
{
	struct client_request_table *requests = session->supervisor->requests;

	if (run_again(session)) {
		client_request_cancel_all(requests, session);
		session_fail_calls(session, detail->cause);
		session->turn.id = 0;
		session_become_dead(session);
		return;
	}
	session->turn.again = false;
	session_fail_calls(session, detail->cause);
	session->worker = NULL;
	/* A successor goes on only with a turn that is known to be saved. */
	if (session->turn.prompt == NULL && recovery_begin(session, detail->cause)) {
		client_request_keep(requests, session);
		return;
	}
	client_request_cancel_all(requests, session);
	recovery_commit(session);
	session_answer_turn_died(session, detail->cause);
	session->turn.id = 0;
	session_become_dead(session);
}

void
session_cancel_died(struct session *session, const struct session_detail *detail)
{
	recovery_commit(session);
	session->turn.again = false;
	if (session->turn.pending != NULL)
		session_answer_turn(session, STOP_REASON_CANCELLED, NULL, 0);
	session_fail_calls(session, detail->cause);
	session->turn.id = 0;
	session_become_dead(session);
}

void
session_cancel_recovery(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	client_request_cancel_all(session->supervisor->requests, session);
	recovery_commit(session);
	session_cancel_waiting(session);
	session_answer_turn(session, STOP_REASON_CANCELLED, NULL, 0);
	session->turn.id = 0;
	if (session->worker != NULL)
		session->state = SESSION_STARTING;
	else
		session_become_dead(session);
}

void
session_close_recovery(struct session *session, const struct session_detail *detail)
{
	client_request_cancel_all(session->supervisor->requests, session);
	recovery_commit(session);
	session_answer_turn(session, STOP_REASON_CANCELLED, NULL, 0);
	session->turn.id = 0;
	session->close_wanted = true;
	if (session->worker != NULL)
		session_close_now(session, detail);
	else
		session_become_dead(session);
}

void
session_recovery_timer(struct session *session, const struct session_detail *detail)
{
	if (session->worker != NULL) {
		session_setup_timeout(session, detail);
		return;
	}
	if (recovery_start(session))
		return;
	client_request_cancel_all(session->supervisor->requests, session);
	session_answer_turn_died(session, strerror(errno));
	session->turn.id = 0;
	session_become_dead(session);
}

void
session_recovery_go_on(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	session->ready = true;
	session->setup_deaths = 0;
	session_disarm(session);
	session->state = SESSION_TURN_RUNNING;
	recovery_send(session);
}

void
session_fail_recovery(struct session *session, const struct session_detail *detail)
{
	client_request_cancel_all(session->supervisor->requests, session);
	session_answer_turn_failed(
	    session, detail->code, detail->message, detail->data, detail->data_length);
	session->turn.id = 0;
	session_fail_setup(session, detail);
}
