/*
 * An idle worker gives its process back: what the client asks meanwhile waits and is answered
 * once, by this worker or by the next one.
 */
#include <config.h>

#include "tests/lib/fake_session.h"

#define IDLE_SETTINGS "{\"provider\":\"p\",\"label\":\"P\",\"workerIdleMs\":20}"
#define STATE "{\"mode\":\"plan\",\"carried\":{}}"

/* The worker was asked to retire. */
static int
set_up_retiring(void **state)
{
	struct fixture *fixture;

	set_up(state);
	fixture = *state;
	session_timer(fixture->session);
	expect_told(fixture, "TO_WORKER_RETIRE\n");
	assert_int_equal(fixture->session->state, SESSION_RETIRING);
	return 0;
}

static void
retire(struct fixture *fixture)
{
	fake_say(fixture->worker, TO_SUPERVISOR_SESSION_STATE, 0, 0, STATE, sizeof STATE - 1);
	fake_die(fixture->worker, "ended without a word");
	fixture->worker = fixture->session->worker;
}

/* The next worker has the set-up and what it needs of the state. */
static void
expect_successor(struct fixture *fixture, const char *told)
{
	fixture->worker = fixture->session->worker;
	assert_non_null(fixture->worker);
	assert_string_equal(buffer_text(&fixture->worker->told), "TO_WORKER_SETUP\n");
	assert_non_null(strstr(buffer_text(&fixture->worker->payload), "\"open\":\"revive\""));
	assert_non_null(strstr(buffer_text(&fixture->worker->payload), "\"state\":" STATE));
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
	expect_told(fixture, told);
}

static void
test_retires(void **state)
{
	struct fixture *fixture = *state;

	retire(fixture);
	assert_int_equal(fixture->session->state, SESSION_DEAD);
	assert_null(fixture->worker);
	expect(fixture, "");
	prompt(fixture, 1);
	expect_successor(fixture, "TO_WORKER_SETUP\nTO_WORKER_TURN_START\n");
	fake_turn_done(fixture->worker, 1, STOP_REASON_END_TURN);
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"end_turn\"}}\n");
}

static void
test_calls_wait(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 5, "session/set_mode", ",\"modeId\":\"plan\"");
	prompt(fixture, 6);
	expect_told(fixture, "");
	retire(fixture);
	expect_successor(fixture, "TO_WORKER_SETUP\nTO_WORKER_REQUEST\nTO_WORKER_TURN_START\n");
	expect(fixture, "");
}

static void
test_busy(void **state)
{
	struct fixture *fixture = *state;

	prompt(fixture, 1);
	fake_say(fixture->worker, TO_SUPERVISOR_BUSY, 0, 0, NULL, 0);
	expect_told(fixture, "TO_WORKER_TURN_START\n");
	assert_int_equal(fixture->session->state, SESSION_TURN_RUNNING);
	fake_turn_done(fixture->worker, 1, STOP_REASON_END_TURN);
	session_timer(fixture->session);
	expect_told(fixture, "TO_WORKER_RETIRE\n");
	fake_say(fixture->worker, TO_SUPERVISOR_BUSY, 0, 0, NULL, 0);
	assert_int_equal(fixture->session->state, SESSION_IDLE);
	fake_say(fixture->worker, TO_SUPERVISOR_BUSY, 0, 0, NULL, 0); /* nobody asked */
	assert_true(fixture->worker->violated);
}

static void
test_cancelled(void **state)
{
	struct fixture *fixture = *state;

	prompt(fixture, 1);
	cancel(fixture);
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	retire(fixture);
	assert_int_equal(fixture->session->state, SESSION_DEAD);
}

static void
test_closed(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 2, "session/close", "");
	expect_told(fixture, "TO_WORKER_SHUTDOWN\n");
	fake_say(fixture->worker, TO_SUPERVISOR_BUSY, 0, 0, NULL, 0);
	assert_false(fixture->worker->violated);
	fake_die(fixture->worker, "ended");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
}

static void
test_closed_later(void **state)
{
	struct fixture *fixture = *state;

	retire(fixture);
	request(fixture, 2, "session/close", "");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
}

static void
test_loaded(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 3, "session/load", ",\"cwd\":\"/\",\"mcpServers\":[]");
	expect_told(fixture, "TO_WORKER_SHUTDOWN\n");
	retire(fixture);
	assert_non_null(fixture->worker);
	assert_non_null(strstr(buffer_text(&fixture->worker->payload), "\"open\":\"load\""));
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{\"modes\":{}}");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"modes\":{}}}\n");
}

static void
test_silent(void **state)
{
	struct fixture *fixture = *state;

	prompt(fixture, 1);
	session_timer(fixture->session);
	assert_int_equal(fixture->worker->cause, STOP_IDLE);
	fake_die(fixture->worker, "ended because it was idle");
	assert_non_null(fixture->session->worker);
	expect(fixture, "");
	kill_successors(fixture, "crashed");
}

static void
test_violations(void **state)
{
	static const enum message_type types[] = {TO_SUPERVISOR_TEXT, TO_SUPERVISOR_TURN_UPDATE,
	    TO_SUPERVISOR_TURN_DONE, TO_SUPERVISOR_CALL_OPEN, TO_SUPERVISOR_CLIENT_REQUEST,
	    TO_SUPERVISOR_READY};
	struct fixture *fixture;
	size_t i;

	for (i = 0; i < sizeof types / sizeof types[0]; i++) {
		set_up_retiring(state);
		fixture = *state;
		fake_say(fixture->worker, types[i], 1, 1, "\1\0\0\0a\1\0\0\0b{}", 12);
		expect_violation(fixture);
		tear_down(state);
	}
}

/* A request that the worker works on is not idleness. */
static void
test_not_while_a_call_is_open(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 5, "session/set_mode", ",\"modeId\":\"plan\"");
	expect_told(fixture, "TO_WORKER_REQUEST\n");
	session_timer(fixture->session);
	expect_told(fixture, "");
	fake_say(
	    fixture->worker, TO_SUPERVISOR_RESPONSE, fixture->worker->last.request, 0, "{}", 2);
	session_timer(fixture->session);
	expect_told(fixture, "TO_WORKER_RETIRE\n");
}

static void
wait_for(struct fixture *fixture, enum session_state state)
{
	int rounds;

	for (rounds = 0; rounds < 200 && fixture->session->state != state; rounds++) {
		usleep(5000);
		fake_run(fixture->fake);
	}
	assert_int_equal(fixture->session->state, state);
}

/* The time comes with SETTINGS and begins with the end of the set-up or of a turn. */
static void
test_timer(void **state)
{
	struct fixture *fixture = *state;

	fake_settings(fixture->fake, IDLE_SETTINGS);
	prompt(fixture, 1);
	usleep(60000);
	fake_run(fixture->fake);
	assert_int_equal(fixture->session->state, SESSION_TURN_RUNNING);
	fake_turn_done(fixture->worker, 1, STOP_REASON_END_TURN);
	wait_for(fixture, SESSION_RETIRING);
	fake_say(fixture->worker, TO_SUPERVISOR_BUSY, 0, 0, NULL, 0);
	wait_for(fixture, SESSION_RETIRING);
	retire(fixture);
	usleep(60000);
	fake_run(fixture->fake);
	assert_int_equal(fixture->session->state, SESSION_DEAD);
}

static void
test_never(void **state)
{
	struct fixture *fixture = *state;

	fake_settings(fixture->fake, IDLE_SETTINGS);
	fake_settings(fixture->fake, SETTINGS);
	prompt(fixture, 1);
	fake_turn_done(fixture->worker, 1, STOP_REASON_END_TURN);
	usleep(60000);
	fake_run(fixture->fake);
	assert_int_equal(fixture->session->state, SESSION_IDLE);
}

#define RETIRING(test) cmocka_unit_test_setup_teardown(test, set_up_retiring, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    RETIRING(test_retires),
	    RETIRING(test_calls_wait),
	    RETIRING(test_busy),
	    RETIRING(test_cancelled),
	    RETIRING(test_closed),
	    RETIRING(test_closed_later),
	    RETIRING(test_loaded),
	    RETIRING(test_silent),
	    cmocka_unit_test(test_violations),
	    ROW(test_not_while_a_call_is_open),
	    ROW(test_timer),
	    ROW(test_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
