/*
 * The life of a session with a worker that is played: each request is answered exactly once,
 * in whatever order cancel, close, deaths and answers come.
 */
#include <config.h>

#include "tests/lib/fake_session.h"

static void
test_cancel(void **state)
{
	struct fixture *fixture = *state;

	prompt(fixture, 2);
	prompt(fixture, 3);
	expect(fixture, "");
	cancel(fixture);
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"cancelled\"}}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	expect_told(fixture, "TO_WORKER_TURN_CANCEL\n");
	assert_int_equal(fixture->worker->pokes, 1);
	cancel(fixture);
	expect_told(fixture, "");
	fake_turn_done(fixture->worker, 1, STOP_REASON_END_TURN);
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	assert_int_equal(fixture->session->state, SESSION_IDLE);
	cancel(fixture);
	expect(fixture, "");
	expect_told(fixture, "");
}

static void
test_cancel_then_failed(void **state)
{
	struct fixture *fixture = *state;

	cancel(fixture);
	fake_failure(fixture->worker, TO_SUPERVISOR_TURN_FAILED, 0, 1, -32603, "x", "");
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
}

static void
test_cancel_then_died(void **state)
{
	struct fixture *fixture = *state;

	cancel(fixture);
	fake_die(fixture->worker, "crashed");
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	assert_int_equal(fixture->session->state, SESSION_DEAD);
}

static void
test_cancel_ignored(void **state)
{
	static const struct session_detail nothing;
	struct fixture *fixture = *state;
	struct worker_process *old = fixture->worker;

	fake_say_text(old, TO_SUPERVISOR_CALL_OPEN, 1, "open");
	cancel(fixture);
	session_event(fixture->session, SESSION_EVENT_TIMER, &nothing);
	fake_run(fixture->fake);
	assert_non_null(strstr(buffer_text(&fixture->fake->got), "\"status\":\"failed\""));
	expect_part(fixture, "\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}");
	fake_say(old, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	expect(fixture, "");
	prompt(fixture, 2);
	session_event(fixture->session, SESSION_EVENT_TIMER, &nothing);
	assert_true(old->stopping);
	assert_int_equal(old->cause, STOP_CANCEL_IGNORED);
	buffer_clear(&old->told);
	fake_turn_done(old, 1, STOP_REASON_CANCELLED);
	assert_string_equal(buffer_text(&old->told), ""); /* it gets no further turn */
	expect(fixture, "");
	fixture->fake->holds_commits = true; /* what was shown is saved before it is loaded */
	fake_die(old, "ended because it did not react to a cancel");
	expect(fixture, "");
	assert_int_equal(fixture->session->state, SESSION_DEAD);
	prompt(fixture, 3);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
			"{\"requestId\":3}}");
	expect_part(fixture, "\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}");
	assert_int_equal(fixture->session->state, SESSION_DEAD);
	fixture->fake->holds_commits = false;
	expect(fixture, "");
	assert_int_equal(fixture->session->state, SESSION_STARTING);
	fixture->worker = fixture->session->worker;
	assert_ptr_not_equal(fixture->worker, old);
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
	expect_told(fixture, "TO_WORKER_SETUP\nTO_WORKER_TURN_START\n");
	fake_turn_done(fixture->worker, 2, STOP_REASON_END_TURN);
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"end_turn\"}}\n");
}

static void
test_cancel_request(void **state)
{
	struct fixture *fixture = *state;

	prompt(fixture, 2);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
			"{\"requestId\":2}}");
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	assert_int_equal(fixture->session->state, SESSION_TURN_RUNNING);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
			"{\"requestId\":\"1\"}}");
	assert_int_equal(fixture->session->state, SESSION_TURN_RUNNING);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
			"{\"requestId\":1}}");
	assert_int_equal(fixture->session->state, SESSION_CANCELLING);
}

/* A session that is not wanted before it is there. */
static void
test_cancel_new(void **state)
{
	struct fixture *fixture = *state;

	new_session(fixture);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
			"{\"requestId\":\"new\"}}");
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":\"new\",\"error\":{\"code\":-32800,\"message\":"
	    "\"Request cancelled\"}}\n");
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}"); /* too late */
	expect(fixture, "");
	fake_die(fixture->worker, "ended");
	expect(fixture, "");
	assert_null(session_first(fixture->fake->supervisor.sessions));
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
}

static void
test_cancel_authenticate(void **state)
{
	struct fixture *fixture = *state;

	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"authenticate\",\"params\":"
			"{\"methodId\":\"p\"}}");
	client(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
			"{\"requestId\":4}}");
	expect_part(fixture, "\"id\":4,\"error\":{\"code\":-32800");
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
}

static void
test_queue(void **state)
{
	struct fixture *fixture = *state;
	int i;

	for (i = 0; i < SESSION_PROMPTS_MAX; i++)
		prompt(fixture, 10 + i);
	expect(fixture, "");
	prompt(fixture, 99);
	expect_part(fixture, "\"id\":99,\"error\":{\"code\":-32603");
	for (i = 0; i < SESSION_PROMPTS_MAX; i++) {
		fake_turn_done(fixture->worker, (uint32_t)i + 1, STOP_REASON_END_TURN);
		assert_int_equal(fixture->worker->last.turn, i + 2);
		forget(fixture);
	}
	fake_turn_done(fixture->worker, SESSION_PROMPTS_MAX + 1, STOP_REASON_REFUSAL);
	expect_part(fixture, "\"id\":25,\"result\":{\"stopReason\":\"refusal\"}");
	assert_int_equal(fixture->session->state, SESSION_IDLE);
}

/* The turn goes on with a successor, which is told what the client has seen. */
static void
test_death_in_a_turn(void **state)
{
	struct fixture *fixture = *state;

	fake_say(fixture->worker, TO_SUPERVISOR_SESSION_STATE, 0, 0, "{\"mode\":\"plan\"}", 15);
	fake_say(fixture->worker, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_OPEN, 1, "one");
	forget(fixture);
	prompt(fixture, 2);
	fake_die(fixture->worker, "crashed by signal 11 (Segmentation fault)");
	expect_part(fixture, "crashed by signal 11 (Segmentation fault). Another one goes on");
	assert_int_equal(fixture->session->state, SESSION_RECOVERING);
	successor_ready(fixture);
	expect_told(fixture, "TO_WORKER_SETUP\nTO_WORKER_TURN_RECOVER\n");
	assert_int_equal(fixture->worker->last.turn, 1);
	assert_string_equal(buffer_text(&fixture->worker->payload),
	    "{\"calls\":[{\"id\":\"one\",\"started\":false}],\"first\":0,\"tail\":[" TEXT "]}");
	fake_turn_done(fixture->worker, 1, STOP_REASON_END_TURN);
	expect_part(fixture, "\"id\":1,\"result\":{\"stopReason\":\"end_turn\"");
	assert_int_equal(fixture->worker->last.turn, 2);
	fake_turn_done(fixture->worker, 2, STOP_REASON_END_TURN);
	expect_part(fixture, "\"id\":2,\"result\"");
}

/* What the client has seen is handed to one successor after the other until one has saved it.
 */
static void
test_successor_dies(void **state)
{
	struct fixture *fixture = *state;
	struct buffer saved = BUFFER_EMPTY;

	wire_put_u64(&saved, 1);
	fake_say(fixture->worker, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	fake_say(fixture->worker, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	fake_say(fixture->worker, TO_SUPERVISOR_STATE_SAVED, 0, 1, saved.data, saved.length);
	fake_die(fixture->worker, "crashed");
	successor_ready(fixture);
	assert_string_equal(buffer_text(&fixture->worker->payload),
	    "{\"calls\":[],\"first\":1,\"tail\":[" TEXT "]}");
	fake_say(fixture->worker, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	fake_die(fixture->worker, "crashed");
	successor_ready(fixture);
	assert_string_equal(buffer_text(&fixture->worker->payload),
	    "{\"calls\":[],\"first\":1,\"tail\":[" TEXT "," TEXT "]}");
	buffer_free(&saved);
}

/* A turn that kills every worker is given up; what waits behind it gets a worker. */
static void
test_deaths_without_end(void **state)
{
	struct fixture *fixture = *state;

	fake_say(fixture->worker, TO_SUPERVISOR_SESSION_STATE, 0, 0, "{\"mode\":\"plan\"}", 15);
	fake_say(fixture->worker, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	prompt(fixture, 2);
	kill_successors(fixture, "was killed by signal 9 (Killed)");
	expect_part(fixture,
	    "\"id\":1,\"error\":{\"code\":-32603,\"message\":\"The session's worker "
	    "process was killed by signal 9 (Killed)\"");
	fixture->worker = fixture->session->worker;
	assert_non_null(fixture->worker);
	assert_non_null(
	    strstr(buffer_text(&fixture->worker->payload), ",\"state\":{\"mode\":\"plan\"}}"));
	successor_ready(fixture);
	assert_int_equal(fixture->worker->last.turn, 2);
	fake_turn_done(fixture->worker, 2, STOP_REASON_END_TURN);
	expect_part(fixture, "\"id\":2,\"result\"");
}

/* The client cancels while no worker has the turn. */
static void
test_cancel_between_workers(void **state)
{
	struct fixture *fixture = *state;

	fake_say(fixture->worker, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	fake_die(fixture->worker, "crashed");
	forget(fixture);
	cancel(fixture);
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	/* On a busy machine the successor is there already. */
	assert_true(fixture->session->state == SESSION_DEAD ||
		    fixture->session->state == SESSION_STARTING);
	prompt(fixture, 2);
	successor_ready(fixture);
	expect_told(fixture, "TO_WORKER_SETUP\nTO_WORKER_TURN_START\n");
	fake_turn_done(fixture->worker, 2, STOP_REASON_END_TURN);
	expect_part(fixture, "\"id\":2,\"result\"");
}

static void
test_death_before_a_word(void **state)
{
	struct fixture *fixture = *state;

	prompt(fixture, 2);
	fake_die(fixture->worker, "was killed by signal 9 (Killed)");
	expect(fixture, "");
	successor_ready(fixture);
	expect_told(fixture, "TO_WORKER_SETUP\nTO_WORKER_TURN_START\n");
	kill_successors(fixture, "was killed by signal 9 (Killed)");
	expect_part(fixture, "\"id\":1,\"error\":{\"code\":-32603");
	successor_ready(fixture);
	fake_failure(fixture->worker, TO_SUPERVISOR_TURN_FAILED, 0, 3, -32603, "x", "");
	expect_part(fixture, "\"id\":2,\"error\":{\"code\":-32603");
	prompt(fixture, 3); /* the next one has its own second try */
	fake_die(fixture->worker, "was killed by signal 9 (Killed)");
	expect(fixture, "");
	assert_int_equal(fixture->session->state, SESSION_STARTING);
}

static void
test_death_when_idle(void **state)
{
	struct fixture *fixture = *state;

	fake_die(fixture->worker, "was killed by signal 9 (Killed)");
	expect(fixture, "");
	assert_int_equal(fixture->session->state, SESSION_DEAD);
	request(fixture, 5, "session/set_mode", ",\"modeId\":\"plan\"");
	assert_int_equal(fixture->session->state, SESSION_STARTING);
	fixture->worker = fixture->session->worker;
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
	expect_told(fixture, "TO_WORKER_SETUP\nTO_WORKER_REQUEST\n");
	fake_say(
	    fixture->worker, TO_SUPERVISOR_RESPONSE, fixture->worker->last.request, 0, "{}", 2);
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n");
}

static void
test_no_successor(void **state)
{
	struct fixture *fixture = *state;

	fake_start_fails = true;
	prompt(fixture, 2);
	fake_die(fixture->worker, "crashed");
	fake_run(fixture->fake);
	assert_non_null(strstr(buffer_text(&fixture->fake->got), "\"id\":1,\"error\""));
	expect_part(fixture,
	    "\"id\":2,\"error\":{\"code\":-32603,\"message\":\"No worker could be "
	    "started\"");
	prompt(fixture, 3);
	expect_part(fixture, "\"id\":3,\"error\":{\"code\":-32603");
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
}

static void
test_calls(void **state)
{
	struct fixture *fixture = *state;
	struct wire_cursor cursor;
	const char *method;
	size_t length;
	uint32_t token;

	request(fixture, 5, "session/set_mode", ",\"modeId\":\"plan\"");
	expect_told(fixture, "TO_WORKER_REQUEST\n");
	wire_start(&cursor, fixture->worker->payload.data, fixture->worker->payload.length);
	method = wire_get_text(&cursor, &length);
	assert_int_equal(length, 16);
	assert_memory_equal(method, "session/set_mode", 16);
	token = fixture->worker->last.request;
	fake_failure(
	    fixture->worker, TO_SUPERVISOR_RESPONSE_ERROR, token, 0, -32602, "no", "[1]");
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32602,\"message\":\"no\","
	    "\"data\":[1]}}\n");
	fake_say(fixture->worker, TO_SUPERVISOR_RESPONSE, token, 0, "{}", 2); /* once more */
	expect_violation(fixture);
}

static void
test_commands(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 5, "session/prompt",
	    ",\"prompt\":[{\"type\":\"text\",\"text\":\"/help me\"}]");
	expect_told(fixture, "TO_WORKER_COMMAND\n");
	assert_int_equal(fixture->worker->last.turn, 1);
	fake_say(fixture->worker, TO_SUPERVISOR_RESPONSE, fixture->worker->last.request, 0,
	    "{\"stopReason\":\"end_turn\"}", 25);
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"stopReason\":\"end_turn\"}}\n");
	request(fixture, 6, "session/prompt",
	    ",\"prompt\":[{\"type\":\"text\",\"text\":\"/helpme\"}]");
	request(fixture, 7, "session/prompt", ",\"prompt\":[\"/help\"]");
	expect_told(fixture, "");
	assert_int_equal(fixture->session->waiting_prompts, 2);
	request(fixture, 8, "session/prompt",
	    ",\"prompt\":[{\"type\":\"text\",\"text\":\"/model\"}]");
	fake_die(fixture->worker, "crashed");
	expect_part(fixture, "\"id\":8,\"error\":{\"code\":-32603");
}

static void
test_bad_prompts(void **state)
{
	struct fixture *fixture = *state;
	static const char *const prompts[] = {"", ",\"prompt\":[]", ",\"prompt\":[ ]",
	    ",\"prompt\":{}", ",\"prompt\":null", ",\"prompt\":\"x\""};
	size_t i;

	for (i = 0; i < sizeof prompts / sizeof prompts[0]; i++) {
		request(fixture, 4, "session/prompt", prompts[i]);
		expect(fixture,
		    "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32602,\"message\":"
		    "\"prompt must be an array with at least one content block\",\"data\":"
		    "{\"field\":\"prompt\"}}}\n");
	}
	expect_told(fixture, "");
}

static void
test_close(void **state)
{
	struct fixture *fixture = *state;
	uint32_t token;

	request(fixture, 5, "session/set_mode", ",\"modeId\":\"plan\"");
	token = fixture->worker->last.request;
	request(fixture, 6, "session/close", "");
	expect_part(fixture,
	    "\"id\":5,\"error\":{\"code\":-32603,\"message\":\"The session's worker "
	    "process ended because the session was closed\"");
	/* The worker's answer crosses the close: no violation, and no second answer. */
	fake_say(fixture->worker, TO_SUPERVISOR_RESPONSE, token, 0, "{}", 2);
	assert_false(fixture->worker->violated);
	expect(fixture, "");
	prompt(fixture, 7);
	expect_part(fixture, "\"id\":7,\"error\":{\"code\":-32002");
	fake_say(fixture->worker, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, TEXT, sizeof TEXT - 1);
	expect(fixture, "");
	fake_die(fixture->worker, "ended");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{}}\n");
	assert_null(session_first(fixture->fake->supervisor.sessions));
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
}

static void
test_close_in_a_turn(void **state)
{
	struct fixture *fixture = *state;

	prompt(fixture, 2);
	request(fixture, 6, "session/close", "");
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	request(fixture, 7, "session/close", "");
	prompt(fixture, 3);
	fake_turn_done(fixture->worker, 1, STOP_REASON_CANCELLED);
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	expect_told(fixture, "TO_WORKER_TURN_CANCEL\nTO_WORKER_SHUTDOWN\n");
	fake_die(fixture->worker, "ended");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{}}\n"
			"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
	assert_null(session_first(fixture->fake->supervisor.sessions));
}

static void
test_close_then_died_in_the_turn(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 6, "session/close", "");
	fake_die(fixture->worker, "crashed");
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{}}\n");
	assert_null(session_first(fixture->fake->supervisor.sessions));
}

static void
test_close_dead(void **state)
{
	struct fixture *fixture = *state;

	fake_die(fixture->worker, "crashed");
	request(fixture, 6, "session/close", "");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{}}\n");
	assert_null(session_first(fixture->fake->supervisor.sessions));
}

#define LOAD ",\"cwd\":\"/\",\"mcpServers\":[]"

/* One that is closed only to be opened again is closed for good. */
static void
test_close_while_opened_again(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 5, "session/load", LOAD);
	expect(fixture, "");
	assert_int_equal(fixture->session->state, SESSION_STOPPING);
	prompt(fixture, 6);
	request(fixture, 7, "session/close", "");
	prompt(fixture, 8);
	expect_part(fixture, "\"id\":8,\"error\":{\"code\":-32002");
	cancel(fixture);
	fake_die(fixture->worker, "ended");
	fake_run(fixture->fake);
	assert_non_null(
	    strstr(buffer_text(&fixture->fake->got), "\"id\":5,\"error\":{\"code\":-32002"));
	assert_non_null(strstr(buffer_text(&fixture->fake->got),
	    "\"id\":6,\"result\":{\"stopReason\":\"cancelled\"}"));
	expect_part(fixture, "\"id\":7,\"result\":{}");
	assert_null(session_first(fixture->fake->supervisor.sessions));
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
}

/* What waits for the next worker is cancelled like what waits for a turn. */
static void
test_cancel_while_opened_again(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 5, "session/load", LOAD);
	prompt(fixture, 6);
	cancel(fixture);
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	fake_die(fixture->worker, "ended");
	successor_ready(fixture);
	expect_told(fixture, "TO_WORKER_SETUP\n");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n");
}

static void
test_load_of_a_closed_one(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 5, "session/close", "");
	request(fixture, 6, "session/load", LOAD);
	prompt(fixture, 7);
	fake_die(fixture->worker, "ended");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n");
	successor_ready(fixture);
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{}}\n");
	expect_told(fixture, "TO_WORKER_SETUP\nTO_WORKER_TURN_START\n");
}

static void
test_delete_while_opened_again(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 5, "session/load", LOAD);
	request(fixture, 6, "session/delete", "");
	fake_die(fixture->worker, "ended");
	expect_part(fixture, "\"id\":5,\"error\":{\"code\":-32002");
	assert_null(session_first(fixture->fake->supervisor.sessions));
	/* The catalogue worker has it. */
	assert_non_null(pending_first(fixture->fake->supervisor.pending, PENDING_DELETE, NULL));
}

static void
test_close_before_it_is_open(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 5, "session/load", LOAD);
	fake_die(fixture->worker, "ended");
	fixture->worker = fixture->session->worker;
	assert_int_equal(fixture->session->state, SESSION_STARTING);
	request(fixture, 6, "session/close", "");
	expect(fixture, "");
	fake_die(fixture->worker, "ended");
	fake_run(fixture->fake);
	assert_non_null(
	    strstr(buffer_text(&fixture->fake->got), "\"id\":5,\"error\":{\"code\":-32002"));
	expect_part(fixture, "\"id\":6,\"result\":{}");
	assert_null(session_first(fixture->fake->supervisor.sessions));
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
}

/* What the old worker had not answered is not left open. */
static void
test_open_again_with_a_call(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 5, "session/set_mode", ",\"modeId\":\"plan\"");
	request(fixture, 6, "session/load", LOAD);
	fake_die(fixture->worker, "crashed");
	expect_part(fixture, "\"id\":5,\"error\":{\"code\":-32603");
	successor_ready(fixture);
	expect_part(fixture, "\"id\":6,\"result\":{}");
	assert_int_equal(fixture->session->state, SESSION_IDLE);
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
}

/* $/cancel_request means the same as session/cancel while a successor is on its way. */
static void
test_cancel_request_between_workers(void **state)
{
	struct fixture *fixture = *state;

	fake_say(fixture->worker, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	fake_die(fixture->worker, "crashed");
	forget(fixture);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
			"{\"requestId\":1}}");
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	assert_int_equal(fixture->session->state, SESSION_DEAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ROW_TURN(test_cancel),
	    ROW_TURN(test_cancel_then_failed),
	    ROW_TURN(test_cancel_then_died),
	    ROW_TURN(test_cancel_ignored),
	    ROW_TURN(test_cancel_request),
	    ROW_EMPTY(test_cancel_new),
	    ROW_EMPTY(test_cancel_authenticate),
	    ROW_TURN(test_queue),
	    ROW_TURN(test_death_in_a_turn),
	    ROW_TURN(test_successor_dies),
	    ROW_TURN(test_deaths_without_end),
	    ROW_TURN(test_cancel_between_workers),
	    ROW_TURN(test_death_before_a_word),
	    ROW(test_death_when_idle),
	    ROW_TURN(test_no_successor),
	    ROW(test_calls),
	    ROW_TURN(test_commands),
	    ROW(test_bad_prompts),
	    ROW(test_close),
	    ROW_TURN(test_close_in_a_turn),
	    ROW_TURN(test_close_then_died_in_the_turn),
	    ROW(test_close_dead),
	    ROW(test_close_while_opened_again),
	    ROW(test_cancel_while_opened_again),
	    ROW(test_load_of_a_closed_one),
	    ROW(test_delete_while_opened_again),
	    ROW(test_close_before_it_is_open),
	    ROW(test_open_again_with_a_call),
	    ROW_TURN(test_cancel_request_between_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
