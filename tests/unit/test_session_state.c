/*
 * The table of a session's life: every cell is walked and the rules that must hold over
 * whole rows and columns are checked.
 */
#include <config.h>

#include "supervisor/session_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static enum session_action
at(int state, int event)
{
	return session_action_for((enum session_state)state, (enum session_event)event);
}

/* Events by who causes them. */
static bool
is_request(int event)
{
	return event == SESSION_EVENT_PROMPT || event == SESSION_EVENT_COMMAND ||
	       event == SESSION_EVENT_CALL || event == SESSION_EVENT_CLOSE;
}

static bool
is_said_by_worker(int event)
{
	return event == SESSION_EVENT_READY || event == SESSION_EVENT_SETUP_FAILED ||
	       event == SESSION_EVENT_TURN_DONE || event == SESSION_EVENT_TURN_FAILED ||
	       event == SESSION_EVENT_BUSY;
}

static void
test_every_cell(void **unused)
{
	int state, event;
	enum session_action action;

	(void)unused;
	for (state = 0; state < SESSION_STATE_COUNT; state++)
		for (event = 0; event < SESSION_EVENT_COUNT; event++) {
			action = at(state, event);
			assert_in_range(action, 0, SESSION_ACTION_COUNT - 1);
			/* A request that is ignored would never be answered. */
			if (is_request(event))
				assert_int_not_equal(action, SESSION_IGNORE);
			/* Only a worker's words can be a violation. */
			if (!is_said_by_worker(event))
				assert_int_not_equal(action, SESSION_VIOLATION);
		}
}

/* Without a worker that is still believed, its words count for nothing. */
static void
test_no_worker(void **unused)
{
	int event;

	(void)unused;
	for (event = 0; event < SESSION_EVENT_COUNT; event++)
		if (is_said_by_worker(event)) {
			assert_int_equal(at(SESSION_DEAD, event), SESSION_IGNORE);
			assert_int_equal(at(SESSION_STOPPING, event), SESSION_IGNORE);
		}
	assert_int_equal(at(SESSION_DEAD, SESSION_EVENT_GONE), SESSION_IGNORE);
}

static void
test_cancelling(void **unused)
{
	(void)unused;
	assert_int_equal(
	    at(SESSION_CANCELLING, SESSION_EVENT_TURN_DONE), SESSION_END_CANCELLED);
	assert_int_equal(
	    at(SESSION_CANCELLING, SESSION_EVENT_TURN_FAILED), SESSION_END_CANCELLED);
	assert_int_equal(at(SESSION_CANCELLING, SESSION_EVENT_GONE), SESSION_CANCEL_DIED);
	assert_int_equal(at(SESSION_CANCELLING, SESSION_EVENT_TIMER), SESSION_CANCEL_TIMEOUT);
	assert_int_equal(at(SESSION_CANCELLING, SESSION_EVENT_CANCEL), SESSION_CANCEL_WAITING);
	assert_int_equal(at(SESSION_CANCELLING, SESSION_EVENT_PROMPT), SESSION_WAIT);
}

/* The end of a turn counts only where there is a turn. */
static void
test_turn_ends(void **unused)
{
	int state;

	(void)unused;
	for (state = 0; state < SESSION_STATE_COUNT; state++) {
		if (state == SESSION_TURN_RUNNING || state == SESSION_CANCELLING)
			continue;
		assert_true(at(state, SESSION_EVENT_TURN_DONE) == SESSION_VIOLATION ||
			    at(state, SESSION_EVENT_TURN_DONE) == SESSION_IGNORE);
		assert_true(at(state, SESSION_EVENT_TURN_FAILED) == SESSION_VIOLATION ||
			    at(state, SESSION_EVENT_TURN_FAILED) == SESSION_IGNORE);
	}
	assert_int_equal(at(SESSION_IDLE, SESSION_EVENT_TURN_DONE), SESSION_VIOLATION);
	assert_int_equal(at(SESSION_IDLE, SESSION_EVENT_TURN_FAILED), SESSION_VIOLATION);
}

/* A turn begins only with an idle worker. */
static void
test_turn_begins(void **unused)
{
	int state, event;

	(void)unused;
	for (state = 0; state < SESSION_STATE_COUNT; state++)
		for (event = 0; event < SESSION_EVENT_COUNT; event++)
			if (at(state, event) == SESSION_START_TURN)
				assert_int_equal(state, SESSION_IDLE);
}

/* A worker becomes ready once. */
static void
test_ready(void **unused)
{
	(void)unused;
	assert_int_equal(at(SESSION_STARTING, SESSION_EVENT_READY), SESSION_BECOME_READY);
	assert_int_equal(at(SESSION_RECOVERING, SESSION_EVENT_READY), SESSION_RECOVERY_GO_ON);
	assert_int_equal(at(SESSION_IDLE, SESSION_EVENT_READY), SESSION_VIOLATION);
	assert_int_equal(at(SESSION_TURN_RUNNING, SESSION_EVENT_READY), SESSION_VIOLATION);
	assert_int_equal(at(SESSION_CANCELLING, SESSION_EVENT_READY), SESSION_VIOLATION);
}

/* Every state with a worker does something about its end. */
static void
test_gone(void **unused)
{
	int state;

	(void)unused;
	for (state = 0; state < SESSION_STATE_COUNT; state++)
		if (state != SESSION_DEAD)
			assert_int_not_equal(at(state, SESSION_EVENT_GONE), SESSION_IGNORE);
}

/* A session that closes takes nothing new. */
static void
test_stopping(void **unused)
{
	int event;

	(void)unused;
	for (event = 0; event < SESSION_EVENT_COUNT; event++)
		if (is_request(event))
			assert_int_equal(at(SESSION_STOPPING, event), SESSION_REFUSE);
	assert_int_equal(at(SESSION_STOPPING, SESSION_EVENT_GONE), SESSION_CLOSED);
}

/* A worker that gives its process back is asked for nothing; what comes waits. */
static void
test_retiring(void **unused)
{
	int state;

	(void)unused;
	assert_int_equal(at(SESSION_IDLE, SESSION_EVENT_TIMER), SESSION_RETIRE);
	assert_int_equal(at(SESSION_RETIRING, SESSION_EVENT_PROMPT), SESSION_WAIT);
	assert_int_equal(at(SESSION_RETIRING, SESSION_EVENT_COMMAND), SESSION_WAIT);
	assert_int_equal(at(SESSION_RETIRING, SESSION_EVENT_CALL), SESSION_WAIT);
	assert_int_equal(at(SESSION_RETIRING, SESSION_EVENT_CLOSE), SESSION_CLOSE_NOW);
	assert_int_equal(at(SESSION_RETIRING, SESSION_EVENT_BUSY), SESSION_STAY);
	assert_int_equal(at(SESSION_RETIRING, SESSION_EVENT_GONE), SESSION_IDLE_DIED);
	assert_int_equal(at(SESSION_RETIRING, SESSION_EVENT_TIMER), SESSION_RETIRE_TIMEOUT);
	for (state = 0; state < SESSION_STATE_COUNT; state++) {
		if (state != SESSION_RETIRING)
			assert_int_not_equal(at(state, SESSION_EVENT_BUSY), SESSION_STAY);
		if (state != SESSION_IDLE)
			assert_int_not_equal(at(state, SESSION_EVENT_TIMER), SESSION_RETIRE);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_cell),
	    cmocka_unit_test(test_no_worker),
	    cmocka_unit_test(test_cancelling),
	    cmocka_unit_test(test_turn_ends),
	    cmocka_unit_test(test_turn_begins),
	    cmocka_unit_test(test_ready),
	    cmocka_unit_test(test_gone),
	    cmocka_unit_test(test_stopping),
	    cmocka_unit_test(test_retiring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
