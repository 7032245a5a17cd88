/*
 * The actions of the session table. Each leaves the session in a definite state and every
 * request either answered or in a queue; none of them waits for anything.
 */
#include <config.h>

#include "supervisor/session_actions.h"
#include "supervisor/rpc.h"
#include "supervisor/session_answers.h"
#include "supervisor/session_recovery_actions.h"
#include "supervisor/session_worker.h"
#include "supervisor/session_worker_end.h"
#include "supervisor/supervisor.h"
#include "common/buffer.h"
#include "common/wire.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

typedef void (*action_function)(struct session *, const struct session_detail *);

/* Starts the turn of a prompt. */
static void
start_turn(struct session *session, struct pending *pending, const char *params, size_t length)
{
	session_calls_clear(session);
	tail_clear(&session->turn.tail);
	if (++session->last_turn == 0)
		session->last_turn = 1;
	session->turn.id = session->last_turn;
	session->turn.pending = pending;
	session->state = SESSION_TURN_RUNNING;
	session_disarm(session);
	session->turn.deaths = 0;
	session_keep_prompt(session, params, length);
	/* A worker that is just dying fails the turn by its end. */
	worker_send(session->worker, TO_WORKER_TURN_START, session->turn.again,
	    session->turn.id, params, length);
}

static void
forward(struct session *session, struct pending *pending, const char *method,
    const char *params, size_t length)
{
	struct buffer payload = BUFFER_EMPTY;

	pending_set_kind(pending, PENDING_FORWARDED);
	wire_put_text(&payload, method, strlen(method));
	buffer_append(&payload, params, length);
	if (payload.failed ||
	    worker_send(session->worker, TO_WORKER_REQUEST, pending_token(pending), 0,
		payload.data, payload.length) == -1)
		pending_error_with(pending, RPC_INTERNAL_ERROR, "The session's worker is gone",
		    "sessionId", session->id);
	buffer_free(&payload);
}

/* Hands what waits to a worker that is idle: calls at once, then one prompt. */
static void
run_waiting(struct session *session)
{
	struct waiting *waiting;

	while (session->state == SESSION_IDLE &&
	       (waiting = session_take_waiting(session)) != NULL) {
		if (waiting->method != NULL)
			forward(session, waiting->pending, waiting->method, waiting->params,
			    waiting->length);
		else
			start_turn(session, waiting->pending, waiting->params, waiting->length);
		waiting_free(waiting);
	}
}

/* The turn is over for the worker; it takes the next one. */
static void
become_idle(struct session *session)
{
	session->turn.id = 0;
	tail_clear(&session->turn.tail);
	session->state = SESSION_IDLE;
	session_idle_since_now(session);
	client_request_cancel_all(session->supervisor->requests, session);
	if (session->close_wanted) {
		static const struct session_detail nothing;

		session_event(session, SESSION_EVENT_CLOSE, &nothing);
		return;
	}
	run_waiting(session);
}

static void
ignore(struct session *session, const struct session_detail *detail)
{
	(void)session;
	(void)detail;
}

static void wait_in_queue(struct session *session, const struct session_detail *detail);

static void
refuse(struct session *session, const struct session_detail *detail)
{
	if (session->reopen) {
		wait_in_queue(session, detail);
		return;
	}
	pending_error_with(
	    detail->pending, RPC_NOT_FOUND, "No such session", "sessionId", session->id);
}

static void
wait_in_queue(struct session *session, const struct session_detail *detail)
{
	if (detail->method == NULL &&
	    (session->waiting_prompts >= SESSION_PROMPTS_MAX ||
		session->waiting_bytes + detail->length > SESSION_BYTES_MAX)) {
		pending_error_with(detail->pending, RPC_INTERNAL_ERROR,
		    "Too many prompts wait in this session", "sessionId", session->id);
		return;
	}
	if (session_wait(
		session, detail->pending, detail->method, detail->params, detail->length) == -1)
		pending_error_with(detail->pending, RPC_INTERNAL_ERROR, "Out of memory",
		    "sessionId", session->id);
}

static void
revive(struct session *session, const struct session_detail *detail)
{
	wait_in_queue(session, detail);
	session_start_for_waiting(session);
}

static void
start_prompt(struct session *session, const struct session_detail *detail)
{
	start_turn(session, detail->pending, detail->params, detail->length);
}

static void
forward_call(struct session *session, const struct session_detail *detail)
{
	if (session->state == SESSION_IDLE)
		session_idle_since_now(session);
	forward(session, detail->pending, detail->method, detail->params, detail->length);
}

static void
forward_command(struct session *session, const struct session_detail *detail)
{
	pending_set_kind(detail->pending, PENDING_COMMAND);
	if (worker_send(session->worker, TO_WORKER_COMMAND, pending_token(detail->pending),
		session->turn.id, detail->params, detail->length) == -1)
		pending_error_with(detail->pending, RPC_INTERNAL_ERROR,
		    "The session's worker is gone", "sessionId", session->id);
}

static void
cancel_waiting(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	session_cancel_waiting(session);
}

static void
begin_cancel(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	session_cancel_waiting(session);
	session->state = SESSION_CANCELLING;
	worker_send(session->worker, TO_WORKER_TURN_CANCEL, 0, session->turn.id, NULL, 0);
	worker_poke(session->worker);
	client_request_cancel_all(session->supervisor->requests, session);
	session_arm(session, WORKER_CANCEL_ANSWER_MS);
}

/* First the client gets its answer, then the worker is made to end. */
static void
cancel_timeout(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	if (session->turn.pending != NULL) {
		session_answer_turn(session, STOP_REASON_CANCELLED, NULL, 0);
		session_arm(session, WORKER_CANCEL_TERM_MS - WORKER_CANCEL_ANSWER_MS);
		return;
	}
	worker_stop(session->worker, STOP_CANCEL_IGNORED, 0,
	    WORKER_CANCEL_KILL_MS - WORKER_CANCEL_TERM_MS);
}

static void
close_after_turn(struct session *session, const struct session_detail *detail)
{
	session->close_wanted = true;
	if (session->state == SESSION_TURN_RUNNING)
		begin_cancel(session, detail);
	else
		session_cancel_waiting(session);
}

static void
close_dead(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	session->close_wanted = true;
	session_answer_closed(session);
}

static void
become_ready(struct session *session, const struct session_detail *detail)
{
	struct pending *pending;

	session->ready = true;
	session->setup_deaths = 0;
	session->state = SESSION_IDLE;
	session_idle_since_now(session);
	pending = session_opening(session);
	if (pending != NULL)
		session_answer_open(session, pending, detail->data, detail->data_length);
	run_waiting(session);
}

static void
end_turn(struct session *session, const struct session_detail *detail)
{
	session->turn.again = false;
	session->turn.deaths = 0;
	session_answer_turn(session, detail->reason, detail->data, detail->data_length);
	become_idle(session);
}

static void
fail_turn(struct session *session, const struct session_detail *detail)
{
	session->turn.again = false;
	session_answer_turn_failed(
	    session, detail->code, detail->message, detail->data, detail->data_length);
	become_idle(session);
}

static void
end_cancelled(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	session->turn.again = false;
	if (session->turn.pending != NULL)
		session_answer_turn(session, STOP_REASON_CANCELLED, NULL, 0);
	/* One that is being ended takes no further turn: what waits is for its successor. */
	if (!worker_stopping(session->worker))
		become_idle(session);
}

static void
stay(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	session->state = SESSION_IDLE;
	session_idle_since_now(session);
	run_waiting(session);
}

/* Without its old worker: the next one opens it. */
static void
open_anew(struct session *session)
{
	struct pending *pending;

	while ((pending = pending_first(
		    session->supervisor->pending, PENDING_CLOSE, session)) != NULL)
		pending_result(pending, "{}", 2);
	session->state = SESSION_DEAD;
	session->close_wanted = false;
	session_open_now(session);
}

static void
closed(struct session *session, const struct session_detail *detail)
{
	session->worker = NULL;
	if (!session->reopen) {
		session_answer_closed(session);
		return;
	}
	session_fail_calls(session, detail->cause);
	open_anew(session);
}

void
session_close(struct session *session)
{
	static const struct session_detail nothing;

	if (session->state == SESSION_STOPPING)
		session->reopen = false;
	else
		session_event(session, SESSION_EVENT_CLOSE, &nothing);
}

bool
session_may_open_again(const struct session *session)
{
	return session->state == SESSION_IDLE || session->state == SESSION_RETIRING ||
	       session->state == SESSION_DEAD ||
	       (session->state == SESSION_STOPPING && !session->reopen);
}

void
session_open_again(struct session *session)
{
	session->reopen = true;
	if (session->state == SESSION_STOPPING)
		return; /* opened when its worker is gone */
	if (session->worker == NULL) {
		open_anew(session);
		return;
	}
	session_disarm(session);
	session->state = SESSION_STOPPING;
	worker_send(session->worker, TO_WORKER_SHUTDOWN, 0, 0, NULL, 0);
	worker_stop(session->worker, STOP_CLOSE, WORKER_STOP_TERM_MS, WORKER_STOP_KILL_MS);
}

static void
violation(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	worker_violation(session->worker, "message in the wrong state");
}

static const action_function functions[SESSION_ACTION_COUNT] = {
    [SESSION_IGNORE] = ignore,
    [SESSION_REFUSE] = refuse,
    [SESSION_WAIT] = wait_in_queue,
    [SESSION_REVIVE] = revive,
    [SESSION_START_TURN] = start_prompt,
    [SESSION_FORWARD_CALL] = forward_call,
    [SESSION_FORWARD_COMMAND] = forward_command,
    [SESSION_BEGIN_CANCEL] = begin_cancel,
    [SESSION_CANCEL_WAITING] = cancel_waiting,
    [SESSION_CLOSE_NOW] = session_close_now,
    [SESSION_CLOSE_AFTER_TURN] = close_after_turn,
    [SESSION_CLOSE_DEAD] = close_dead,
    [SESSION_BECOME_READY] = become_ready,
    [SESSION_FAIL_SETUP] = session_fail_setup,
    [SESSION_SETUP_TIMEOUT] = session_setup_timeout,
    [SESSION_END_TURN] = end_turn,
    [SESSION_FAIL_TURN] = fail_turn,
    [SESSION_END_CANCELLED] = end_cancelled,
    [SESSION_CANCEL_TIMEOUT] = cancel_timeout,
    [SESSION_RETIRE] = session_retire,
    [SESSION_STAY] = stay,
    [SESSION_RETIRE_TIMEOUT] = session_retire_timeout,
    [SESSION_START_DIED] = session_start_died,
    [SESSION_IDLE_DIED] = session_idle_died,
    [SESSION_TURN_DIED] = session_turn_died,
    [SESSION_CANCEL_DIED] = session_cancel_died,
    [SESSION_CLOSED] = closed,
    [SESSION_CANCEL_RECOVERY] = session_cancel_recovery,
    [SESSION_CLOSE_RECOVERY] = session_close_recovery,
    [SESSION_RECOVERY_TIMER] = session_recovery_timer,
    [SESSION_RECOVERY_GO_ON] = session_recovery_go_on,
    [SESSION_FAIL_RECOVERY] = session_fail_recovery,
    [SESSION_VIOLATION] = violation,
};

void
session_event(
    struct session *session, enum session_event event, const struct session_detail *detail)
{
	struct supervisor *supervisor = session->supervisor;

	functions[session_action_for(session->state, event)](session, detail);
	supervisor_check_stop(supervisor);
}

void
session_timer(struct session *session)
{
	static const struct session_detail nothing;

	session_event(session, SESSION_EVENT_TIMER, &nothing);
}
