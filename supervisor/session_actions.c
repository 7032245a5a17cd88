/*
 * The actions of the session table. Each leaves the session in a definite state and every
 * request either answered or in a queue; none of them waits for anything.
 */
#include <config.h>

#include "supervisor/session_actions.h"
#include "supervisor/rpc.h"
#include "supervisor/session_answers.h"
#include "supervisor/supervisor.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/monotonic.h"
#include "common/wire.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

typedef void (*action_function)(struct session *, const struct session_detail *);

static struct supervisor *
owner(const struct session *session)
{
	return session->owner;
}

static void
on_timer(int fd, short events, void *arg)
{
	static const struct session_detail nothing;

	(void)fd;
	(void)events;
	session_event(arg, SESSION_EVENT_TIMER, &nothing);
}

static void
arm(struct session *session, int64_t milliseconds)
{
	struct timeval interval = monotonic_interval(milliseconds);

	if (session->timer == NULL)
		session->timer = evtimer_new(owner(session)->base, on_timer, session);
	if (session->timer != NULL)
		event_add(session->timer, &interval);
}

static void
disarm(struct session *session)
{
	if (session->timer != NULL)
		event_del(session->timer);
}

int
session_start_worker(struct session *session)
{
	struct supervisor *supervisor = owner(session);
	struct buffer setup = BUFFER_EMPTY;

	session->worker =
	    spare_take(supervisor->spare, supervisor->session_worker, session, &session->hello);
	if (session->worker == NULL)
		return -1;
	session->ready = false;
	session->state = SESSION_STARTING;
	session->starts++;
	buffer_append(&setup, session->setup, session->setup_length);
	buffer_printf(&setup, ",\"starts\":%u", session->starts);
	if (session->worker_state != NULL) {
		buffer_append_text(&setup, ",\"state\":");
		buffer_append_text(&setup, session->worker_state);
	}
	buffer_append_byte(&setup, '}');
	if (setup.failed ||
	    worker_send(session->worker, TO_WORKER_SETUP, 0, 0, setup.data, setup.length) == -1)
		worker_stop(session->worker, STOP_SETUP_TIMEOUT, 0, 0);
	buffer_free(&setup);
	arm(session, WORKER_SETUP_MS);
	return 0;
}

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
	session_keep_prompt(session, params, length);
	/* A worker that is just dying fails the turn by its end. */
	worker_send(session->worker, TO_WORKER_TURN_START, 0, session->turn.id, params, length);
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

/* The session has no worker now. What waits gets a new one, or an error. */
static void
become_dead(struct session *session)
{
	session->worker = NULL;
	session->state = SESSION_DEAD;
	disarm(session);
	/* A successor counts its requests anew: a late answer must not meet one of those. */
	client_request_cancel_all(owner(session)->requests, session);
	if (session->close_wanted) {
		session_answer_closed(session);
		return;
	}
	if (owner(session)->stopping)
		session_fail_waiting(session, RPC_INTERNAL_ERROR, "The agent shuts down", NULL);
	if (TAILQ_EMPTY(&session->waiting))
		return;
	if (session_start_worker(session) == -1)
		session_fail_waiting(session, RPC_INTERNAL_ERROR, "No worker could be started",
		    strerror(errno));
}

/* The turn is over for the worker; it takes the next one. */
static void
become_idle(struct session *session)
{
	session->turn.id = 0;
	session->state = SESSION_IDLE;
	disarm(session);
	client_request_cancel_all(owner(session)->requests, session);
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

static void
refuse(struct session *session, const struct session_detail *detail)
{
	pending_error_with(detail->pending, RPC_NOT_FOUND, "No such session", "sessionId",
	    session->id);
}

static void
wait_in_queue(struct session *session, const struct session_detail *detail)
{
	if (detail->method == NULL && (session->waiting_prompts >= SESSION_PROMPTS_MAX ||
				       session->waiting_bytes + detail->length >
					   SESSION_BYTES_MAX)) {
		pending_error_with(detail->pending, RPC_INTERNAL_ERROR,
		    "Too many prompts wait in this session", "sessionId", session->id);
		return;
	}
	if (session_wait(session, detail->pending, detail->method, detail->params,
		detail->length) == -1)
		pending_error_with(detail->pending, RPC_INTERNAL_ERROR, "Out of memory",
		    "sessionId", session->id);
}

static void
revive(struct session *session, const struct session_detail *detail)
{
	wait_in_queue(session, detail);
	if (!TAILQ_EMPTY(&session->waiting) && session_start_worker(session) == -1)
		session_fail_waiting(session, RPC_INTERNAL_ERROR, "No worker could be started",
		    strerror(errno));
}

static void
start_prompt(struct session *session, const struct session_detail *detail)
{
	start_turn(session, detail->pending, detail->params, detail->length);
}

static void
forward_call(struct session *session, const struct session_detail *detail)
{
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
	client_request_cancel_all(owner(session)->requests, session);
	arm(session, WORKER_CANCEL_ANSWER_MS);
}

/* First the client gets its answer, then the worker is made to end. */
static void
cancel_timeout(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	if (session->turn.pending != NULL) {
		session_answer_turn(session, STOP_REASON_CANCELLED, NULL, 0);
		arm(session, WORKER_CANCEL_TERM_MS - WORKER_CANCEL_ANSWER_MS);
		return;
	}
	worker_stop(session->worker, STOP_CANCEL_IGNORED, 0,
	    WORKER_CANCEL_KILL_MS - WORKER_CANCEL_TERM_MS);
}

static void
close_now(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	session_fail_calls(session, "ended because the session was closed");
	session_cancel_waiting(session);
	disarm(session);
	session->close_wanted = true;
	session->state = SESSION_STOPPING;
	worker_send(session->worker, TO_WORKER_SHUTDOWN, 0, 0, NULL, 0);
	worker_stop(session->worker, STOP_CLOSE, WORKER_STOP_TERM_MS, WORKER_STOP_KILL_MS);
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
	session->state = SESSION_IDLE;
	disarm(session);
	pending = pending_first(owner(session)->pending, PENDING_NEW, session);
	if (pending != NULL)
		session_answer_new(session, pending, detail->data, detail->data_length);
	run_waiting(session);
}

/* The set-up failed with a reason of the worker's own. */
static void
fail_setup(struct session *session, const struct session_detail *detail)
{
	struct pending *pending;

	disarm(session);
	worker_stop(session->worker, STOP_CLOSE, WORKER_STOP_TERM_MS, WORKER_STOP_KILL_MS);
	pending = pending_first(owner(session)->pending, PENDING_NEW, session);
	if (pending != NULL) {
		session->state = SESSION_STOPPING;
		session->close_wanted = true;
		pending_error(pending, detail->code, detail->message, detail->data,
		    detail->data_length);
		return;
	}
	session_fail_waiting(session, detail->code, detail->message, NULL);
	session->state = SESSION_STARTING; /* until it is gone */
}

static void
setup_timeout(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	log_error("session", "%s: the worker was not ready within %d ms", session->id,
	    WORKER_SETUP_MS);
	worker_stop(session->worker, STOP_SETUP_TIMEOUT, 0, 200);
}

static void
end_turn(struct session *session, const struct session_detail *detail)
{
	session->turn.again = false;
	session_answer_turn(session, detail->reason, detail->data, detail->data_length);
	become_idle(session);
}

static void
fail_turn(struct session *session, const struct session_detail *detail)
{
	session->turn.again = false;
	session_answer_turn_failed(session, detail->code, detail->message, detail->data,
	    detail->data_length);
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
start_died(struct session *session, const struct session_detail *detail)
{
	struct pending *pending;

	pending = pending_first(owner(session)->pending, PENDING_NEW, session);
	if (pending != NULL) {
		session_error_died(pending, session, detail->cause);
		session->close_wanted = true;
	}
	session_fail_waiting(session, RPC_INTERNAL_ERROR,
	    "The session's worker could not be set up", detail->cause);
	become_dead(session);
}

static void
idle_died(struct session *session, const struct session_detail *detail)
{
	session_fail_calls(session, detail->cause);
	become_dead(session);
}

/* The worker was dying when it got the prompt and did nothing with it: the prompt runs on
 * the next worker, once. */
static bool
run_again(struct session *session)
{
	struct turn *turn = &session->turn;

	if (turn->prompt == NULL || turn->again || owner(session)->stopping ||
	    session_wait_first(session, turn->pending, turn->prompt, turn->prompt_length) == -1)
		return false;
	turn->pending = NULL;
	turn->again = true;
	return true;
}

static void
turn_died(struct session *session, const struct session_detail *detail)
{
	client_request_cancel_all(owner(session)->requests, session);
	if (run_again(session)) {
		session_fail_calls(session, detail->cause);
		session->turn.id = 0;
		become_dead(session);
		return;
	}
	session->turn.again = false;
	session_answer_turn_died(session, detail->cause);
	session_fail_calls(session, detail->cause);
	session->turn.id = 0;
	become_dead(session);
}

static void
cancel_died(struct session *session, const struct session_detail *detail)
{
	session->turn.again = false;
	if (session->turn.pending != NULL)
		session_answer_turn(session, STOP_REASON_CANCELLED, NULL, 0);
	session_fail_calls(session, detail->cause);
	session->turn.id = 0;
	become_dead(session);
}

static void
closed(struct session *session, const struct session_detail *detail)
{
	(void)detail;
	session->worker = NULL;
	session_answer_closed(session);
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
	[SESSION_CLOSE_NOW] = close_now,
	[SESSION_CLOSE_AFTER_TURN] = close_after_turn,
	[SESSION_CLOSE_DEAD] = close_dead,
	[SESSION_BECOME_READY] = become_ready,
	[SESSION_FAIL_SETUP] = fail_setup,
	[SESSION_SETUP_TIMEOUT] = setup_timeout,
	[SESSION_END_TURN] = end_turn,
	[SESSION_FAIL_TURN] = fail_turn,
	[SESSION_END_CANCELLED] = end_cancelled,
	[SESSION_CANCEL_TIMEOUT] = cancel_timeout,
	[SESSION_START_DIED] = start_died,
	[SESSION_IDLE_DIED] = idle_died,
	[SESSION_TURN_DIED] = turn_died,
	[SESSION_CANCEL_DIED] = cancel_died,
	[SESSION_CLOSED] = closed,
	[SESSION_VIOLATION] = violation,
};

void
session_event(struct session *session, enum session_event event,
    const struct session_detail *detail)
{
	struct supervisor *supervisor = owner(session);

	functions[session_action_for(session->state, event)](session, detail);
	supervisor_check_stop(supervisor);
}
