/*
 * Questions on the client's screen whose worker died: joined to what the successor asks, or
 * withdrawn; and an answer counts once, for what the user saw.
 */
#include <config.h>

#include "tests/lib/fake_session.h"

#define PERMISSION "session/request_permission"
#define EDIT "{\"toolCall\":{\"toolCallId\":\"a\"},\"options\":[]}"
#define OTHER "{\"toolCall\":{\"toolCallId\":\"a\",\"title\":\"x\"},\"options\":[]}"
#define ALLOW(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":{\"outcome\":{}}}"
#define WITHDRAWN(id)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":" #id  \
	"}}\n"

static void
ask(struct fixture *fixture, uint32_t request, const char *call, const char *params)
{
	fake_call_request(fixture->worker, request, 1, PERMISSION, call, params);
}

/* A turn with an open card "a" and its question, id 1, whose worker has just died. */
static int
set_up_death(void **state)
{
	struct fixture *fixture;

	set_up_turn(state);
	fixture = *state;
	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_OPEN, 1, "a");
	ask(fixture, 7, "a", EDIT);
	forget(fixture);
	fake_die(fixture->worker, "crashed");
	expect_part(fixture, "Another one goes on");
	return 0;
}

static void
test_answered_after_it_was_joined(void **state)
{
	struct fixture *fixture = *state;

	successor_ready(fixture);
	ask(fixture, 1, "a", EDIT);
	expect(fixture, "");
	buffer_clear(&fixture->worker->told);
	client(fixture, ALLOW(1));
	expect_told(fixture, "TO_WORKER_CLIENT_ANSWER\n");
	assert_int_equal(fixture->worker->last.request, 1);
	assert_memory_equal(fixture->worker->payload.data, "\0{\"outcome\":{}}", 15);
	client(fixture, ALLOW(1));
	expect_told(fixture, "");
}

static void
test_answered_between_two_workers(void **state)
{
	struct fixture *fixture = *state;

	client(fixture, ALLOW(1));
	client(fixture, ALLOW(1)); /* the second one counts for nothing */
	successor_ready(fixture);
	buffer_clear(&fixture->worker->told);
	ask(fixture, 3, "a", EDIT);
	expect_told(fixture, "TO_WORKER_CLIENT_ANSWER\n");
	assert_int_equal(fixture->worker->last.request, 3);
	assert_memory_equal(fixture->worker->payload.data, "\0{\"outcome\":{}}", 15);
	expect(fixture, "");
	ask(fixture, 4, "a", EDIT); /* it was used up: a new question */
	expect_told(fixture, "");
	expect_part(fixture, "\"id\":2,\"method\":\"" PERMISSION "\"");
}

/* Also when another worker has died in between, and when an answer waited. */
static void
test_several_deaths(void **state)
{
	struct fixture *fixture = *state;

	successor_ready(fixture);
	ask(fixture, 1, "a", EDIT);
	fake_die(fixture->worker, "crashed");
	client(fixture, ALLOW(1));
	successor_ready(fixture);
	buffer_clear(&fixture->worker->told);
	ask(fixture, 1, "a", EDIT);
	expect_told(fixture, "TO_WORKER_CLIENT_ANSWER\n");
	expect(fixture, "");
}

/* The answer had been passed on: what the worker did about it nobody knows but CALL_STARTED. */
static void
test_passed_on_before_the_death(void **state)
{
	struct fixture *fixture;

	set_up_turn(state);
	fixture = *state;
	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_OPEN, 1, "a");
	ask(fixture, 7, "a", EDIT);
	client(fixture, ALLOW(1));
	fake_die(fixture->worker, "crashed");
	successor_ready(fixture);
	forget(fixture);
	ask(fixture, 1, "a", EDIT);
	expect_part(fixture, "\"id\":2,\"method\":\"" PERMISSION "\"");
	tear_down(state);
}

static void
test_other_question(void **state)
{
	struct fixture *fixture = *state;

	client(fixture, ALLOW(1));
	successor_ready(fixture);
	buffer_clear(&fixture->worker->told);
	ask(fixture, 1, "a", OTHER);
	expect_told(fixture, "");
	expect_part(fixture, "\"id\":2,\"method\":\"" PERMISSION "\"");
}

static void
test_other_question_withdraws(void **state)
{
	struct fixture *fixture = *state;

	successor_ready(fixture);
	ask(fixture, 1, "b", OTHER); /* about another call: the first one stays */
	expect_part(fixture, "\"id\":2,\"method\":\"" PERMISSION "\"");
	ask(fixture, 2, "a", OTHER);
	expect_part(
	    fixture, WITHDRAWN(1) "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"" PERMISSION);
	buffer_clear(&fixture->worker->told);
	client(fixture, ALLOW(1));
	expect_told(fixture, "");
}

/* The successor needs no answer any more. */
static void
test_call_goes_on(void **state)
{
	struct fixture *fixture = *state;

	successor_ready(fixture);
	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_STARTED, 1, "a");
	expect(fixture, WITHDRAWN(1));
}

static void
test_call_is_closed(void **state)
{
	struct fixture *fixture = *state;

	successor_ready(fixture);
	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_CLOSED, 1, "a");
	expect(fixture, WITHDRAWN(1));
}

static void
test_turn_ends(void **state)
{
	struct fixture *fixture = *state;

	successor_ready(fixture);
	fake_turn_done(fixture->worker, 1, STOP_REASON_END_TURN);
	expect_part(fixture, WITHDRAWN(1));
}

static void
test_cancelled_between_two_workers(void **state)
{
	struct fixture *fixture = *state;

	cancel(fixture);
	expect_part(fixture, WITHDRAWN(1));
	client(fixture, ALLOW(1));
	prompt(fixture, 2);
	successor_ready(fixture);
	expect_told(fixture, "TO_WORKER_SETUP\nTO_WORKER_TURN_START\n");
}

static void
test_closed_between_two_workers(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 9, "session/close", "");
	expect_part(fixture, WITHDRAWN(1));
}

static void
test_no_successor(void **state)
{
	struct fixture *fixture = *state;

	fake_run(fixture->fake);
	kill_successors(fixture, "crashed");
	expect_part(fixture, WITHDRAWN(1));
}

static void
test_set_up_fails(void **state)
{
	struct fixture *fixture = *state;

	session_timer(fixture->session);
	fixture->worker = fixture->session->worker;
	fake_hello(fixture->worker);
	fake_failure(fixture->worker, TO_SUPERVISOR_SETUP_FAILED, 0, 0, -32000, "no key", "");
	expect_part(fixture, WITHDRAWN(1));
}

/* A worker names its own session's questions only, by its turn and its call. */
static void
test_other_session(void **state)
{
	struct fixture *fixture = *state;
	struct session *first = fixture->session, *second;

	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":50,\"method\":\"session/new\",\"params\":"
			"{\"cwd\":\"/\",\"mcpServers\":[]}}");
	second = session_first(fixture->fake->supervisor.sessions);
	assert_ptr_not_equal(first, second);
	fixture->session = second;
	fixture->worker = second->worker;
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
	prompt(fixture, 51);
	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_OPEN, 1, "a");
	forget(fixture);
	ask(fixture, 7, "a", EDIT);
	expect_part(fixture, "\"id\":2,\"method\":\"" PERMISSION "\"");
	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_STARTED, 1, "a");
	expect(fixture, "");
	fixture->session = first;
}

/* What is no permission question is never joined. */
static void
test_other_methods(void **state)
{
	struct fixture *fixture;

	set_up_turn(state);
	fixture = *state;
	fake_call_request(fixture->worker, 7, 1, "fs/write_text_file", "a", "{}");
	ask(fixture, 8, "", EDIT);
	forget(fixture);
	fake_die(fixture->worker, "crashed");
	expect_part(fixture, WITHDRAWN(1) WITHDRAWN(2));
	successor_ready(fixture);
	forget(fixture);
	fake_call_request(fixture->worker, 7, 1, "fs/write_text_file", "a", "{}");
	expect_part(fixture, "\"id\":3,\"method\":\"fs/write_text_file\"");
	tear_down(state);
}

#define AFTER_DEATH(test) cmocka_unit_test_setup_teardown(test, set_up_death, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    AFTER_DEATH(test_answered_after_it_was_joined),
	    AFTER_DEATH(test_answered_between_two_workers),
	    AFTER_DEATH(test_several_deaths),
	    cmocka_unit_test(test_passed_on_before_the_death),
	    AFTER_DEATH(test_other_question),
	    AFTER_DEATH(test_other_question_withdraws),
	    AFTER_DEATH(test_call_goes_on),
	    AFTER_DEATH(test_call_is_closed),
	    AFTER_DEATH(test_turn_ends),
	    AFTER_DEATH(test_cancelled_between_two_workers),
	    AFTER_DEATH(test_closed_between_two_workers),
	    AFTER_DEATH(test_no_successor),
	    AFTER_DEATH(test_set_up_fails),
	    AFTER_DEATH(test_other_session),
	    cmocka_unit_test(test_other_methods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
