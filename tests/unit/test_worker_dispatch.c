/*
 * Workers that are played: what a worker says reaches the client only when every rule is
 * kept, and whoever breaks one is ended without a byte of it having gone out.
 */
#include <config.h>

#include "tests/lib/fake_session.h"

#define PERMISSION "session/request_permission"

static void
test_ready(void **state)
{
	struct fixture *fixture = *state;
	char answer[200];

	new_session(fixture);
	expect_told(fixture, "TO_WORKER_SETUP\n");
	assert_non_null(strstr(buffer_text(&fixture->worker->payload), "\"cwd\":\"/\""));
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "help", "{ \"modes\":{\"x\":1}}");
	snprintf(answer, sizeof answer,
	    "{\"jsonrpc\":\"2.0\",\"id\":\"new\",\"result\":{\"sessionId\":%s,\"modes\":{\"x\":"
	    "1}}}\n",
	    fixture->session->quoted);
	expect(fixture, answer);
	fake_ready(fixture->worker, "", "{}"); /* a second time */
	expect_violation(fixture);
}

static void
test_ready_of_nothing(void **state)
{
	struct fixture *fixture = *state;
	char answer[200];

	new_session(fixture);
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
	snprintf(answer, sizeof answer,
	    "{\"jsonrpc\":\"2.0\",\"id\":\"new\",\"result\":{\"sessionId\":%s}}\n",
	    fixture->session->quoted);
	expect(fixture, answer);
}

static void
test_bad_ready(void **state)
{
	static const char *const members[] = {"[]", "null", "{", "{}{}", "{\"a\":\n1}", "{}\n",
	    "{\"sessionId\":\"x\"}", "{\"session\\u0049d\":\"x\"}", " {}"};
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < sizeof members / sizeof members[0]; i++) {
		new_session(fixture);
		fake_hello(fixture->worker);
		fake_ready(fixture->worker, "", members[i]);
		expect_violation(fixture);
		fake_die(fixture->worker, "ended after a protocol violation");
		expect_part(fixture, "\"id\":\"new\",\"error\":{\"code\":-32603");
		assert_null(session_first(fixture->fake->supervisor.sessions));
	}
}

static void
test_ready_before_hello(void **state)
{
	struct fixture *fixture = *state;

	new_session(fixture);
	fake_ready(fixture->worker, "", "{}");
	expect_violation(fixture);
}

static void
test_bad_hello(void **state)
{
	struct fixture *fixture = *state;
	struct buffer payload = BUFFER_EMPTY;

	new_session(fixture);
	wire_put_u32(&payload, MESSAGE_PROTOCOL_VERSION + 1);
	wire_put_u32(&payload, (uint32_t)fixture->worker->pid);
	fake_say(fixture->worker, TO_SUPERVISOR_HELLO, 0, 0, payload.data, payload.length);
	assert_int_equal(fixture->worker->cause, STOP_VERSION);
	fake_ready(fixture->worker, "", "{}"); /* too late */
	expect(fixture, "");
	fake_die(fixture->worker, "has another version");
	expect_part(fixture, "has another version");
	new_session(fixture);
	buffer_clear(&payload);
	wire_put_u32(&payload, MESSAGE_PROTOCOL_VERSION);
	wire_put_u32(&payload, 1); /* not its pid */
	fake_say(fixture->worker, TO_SUPERVISOR_HELLO, 0, 0, payload.data, payload.length);
	expect_violation(fixture);
	buffer_free(&payload);
}

static void
test_setup_failed(void **state)
{
	struct fixture *fixture = *state;

	new_session(fixture);
	fake_hello(fixture->worker);
	fake_failure(fixture->worker, TO_SUPERVISOR_SETUP_FAILED, 0, 0, -32602, "no\nfolder",
	    "{\"field\":\"cwd\"}");
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":\"new\",\"error\":{\"code\":-32602,\"message\":"
	    "\"no\\nfolder\",\"data\":{\"field\":\"cwd\"}}}\n");
	assert_true(fixture->worker->stopping);
	fake_ready(fixture->worker, "", "{}");
	fake_failure(fixture->worker, TO_SUPERVISOR_SETUP_FAILED, 0, 0, -1, "again", "");
	expect(fixture, "");
	fake_die(fixture->worker, "ended");
	expect(fixture, "");
	assert_null(session_first(fixture->fake->supervisor.sessions));
}

static void
test_died_at_start(void **state)
{
	struct fixture *fixture = *state;

	new_session(fixture);
	fake_die(fixture->worker, "was killed by signal 7 (Bus error)");
	expect(fixture, ""); /* the next one takes its place */
	fixture->worker = session_first(fixture->fake->supervisor.sessions)->worker;
	assert_non_null(fixture->worker);
	fake_die(fixture->worker, "was killed by signal 9 (Killed)");
	expect_part(fixture,
	    "\"message\":\"The session's worker process was killed by signal 9 (Killed)\"");
	assert_null(session_first(fixture->fake->supervisor.sessions));
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
}

static void
test_turn(void **state)
{
	struct fixture *fixture = *state;
	char line[600];

	fake_say(fixture->worker, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	snprintf(line, sizeof line,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":%s,"
	    "\"update\":" TEXT "}}\n",
	    fixture->session->quoted);
	expect(fixture, line);
	assert_int_equal(fixture->session->turn.tail.next, 1);
	fake_say(fixture->worker, TO_SUPERVISOR_TURN_UPDATE, 0, 1, TEXT, sizeof TEXT - 1);
	expect(fixture, line);
	fake_say(fixture->worker, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, TEXT, sizeof TEXT - 1);
	expect(fixture, line);
	fake_say(fixture->worker, TO_SUPERVISOR_TURN_DONE, 0, 1, "\1{\"totalTokens\":5}", 18);
	expect(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"max_tokens\","
	    "\"usage\":{\"totalTokens\":5}}}\n");
	assert_int_equal(fixture->session->state, SESSION_IDLE);
	assert_false(fixture->worker->violated);
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
	/* A second end, and text after it. */
	fake_say(fixture->worker, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	expect_violation(fixture);
}

static void
test_turn_failed(void **state)
{
	struct fixture *fixture = *state;

	fake_failure(fixture->worker, TO_SUPERVISOR_TURN_FAILED, 0, 1, -32000, "key", "");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":"
			"\"key\"}}\n");
	assert_int_equal(fixture->session->state, SESSION_IDLE);
}

static void
test_hostile_messages(void **state)
{
	static const struct {
		enum message_type type;
		uint32_t request, turn;
		const char *payload;
		size_t length;
	} rows[] = {
#define P(text) text, sizeof text - 1
	    {TO_SUPERVISOR_TEXT, 0, 1, P("[]")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{}")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":1}")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\",\"sessionUpdate\":\"b\"}")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\"}}")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\"}\n")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\n\"a\"}")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\nb\"}")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\"}\r")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\"},\"id\":1")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"\xff\"}")},
	    {TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\",\"x\":NaN}")},
	    {TO_SUPERVISOR_TEXT, 0, 2, P("{\"sessionUpdate\":\"a\"")},
	    {TO_SUPERVISOR_TURN_UPDATE, 0, 1, P("{}")},
	    {TO_SUPERVISOR_SESSION_UPDATE, 0, 0, P("{}")},
	    {TO_SUPERVISOR_SESSION_STATE, 0, 0, P("[]")},
	    {TO_SUPERVISOR_SESSION_STATE, 0, 0, P("{},\"params\":{}")},
	    {TO_SUPERVISOR_TURN_DONE, 0, 2, P("\0")},
	    {TO_SUPERVISOR_TURN_DONE, 0, 0, P("\0")},
	    {TO_SUPERVISOR_TURN_DONE, 0, 1, P("\5")},
	    {TO_SUPERVISOR_TURN_DONE, 0, 1, P("\0[]")},
	    {TO_SUPERVISOR_TURN_DONE, 0, 1, P("\0{}}")},
	    {TO_SUPERVISOR_TURN_FAILED, 0, 2, P("\0\0\0\0\0\0\0\0")},
	    {TO_SUPERVISOR_TURN_FAILED, 0, 1, P("\0\0\0\0\xff\xff\xff\xff")},
	    {TO_SUPERVISOR_TURN_FAILED, 0, 1, P("\0\0\0\0\0\0\0\0{")},
	    {TO_SUPERVISOR_CALL_STARTED, 0, 1, P("\1\0\0\0a")},
	    {TO_SUPERVISOR_CALL_CLOSED, 0, 1, P("\1\0\0\0a")},
	    {TO_SUPERVISOR_CALL_OPEN, 0, 1, P("\2\0\0\0a")},
	    {TO_SUPERVISOR_CALL_OPEN, 0, 1, P("\0\0\0\0a")},
	    {TO_SUPERVISOR_RESPONSE, 77, 0, P("{}")},
	    {TO_SUPERVISOR_RESPONSE, 0, 0, P("{}")},
	    {TO_SUPERVISOR_RESPONSE_ERROR, 77, 0, P("\0\0\0\0\0\0\0\0")},
	    {TO_SUPERVISOR_HELLO, 0, 0, P("12345678")},
	    {TO_SUPERVISOR_READY, 0, 0, P("\0\0\0\0{}")},
	    {TO_SUPERVISOR_SETUP_FAILED, 0, 0, P("\0\0\0\0\0\0\0\0")},
	    {TO_SUPERVISOR_SETTINGS, 0, 0, P("{}")},
	    {TO_SUPERVISOR_LOG, 0, 0, P("\x09text")},
	    {TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\0\0\0\0\0\0\0\0{}")},
	    {TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\x11\0\0\0fs/read_text_file\4\0\0\0{}")},
	    {TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\4\0\0\0exit\0\0\0\0{}")},
	    {TO_SUPERVISOR_CLIENT_REQUEST, 0, 1, P("\x11\0\0\0fs/read_text_file\0\0\0\0{}")},
	    {TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\x11\0\0\0fs/read_text_file\0\0\0\0[]")},
	    {TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\x11\0\0\0fs/read_text_file\0\0\0\0")},
	    {TO_SUPERVISOR_CLIENT_REQUEST, 1, 1,
		P("\x11\0\0\0fs/read_text_file\0\0\0\0{\"sessionId\":\"y\"}")},
	    {TO_SUPERVISOR_CLIENT_REQUEST, 1, 1,
		P("\x11\0\0\0fs/read_text_file\0\0\0\0{\"sess\\u0069onId\":\"y\"}")},
	    {TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\x11\0\0\0fs/read_text_file\0\0\0\0{}\n")},
	};
	struct fixture *fixture;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		set_up_turn(state);
		fixture = *state;
		fake_say(fixture->worker, rows[i].type, rows[i].request, rows[i].turn,
		    rows[i].payload, rows[i].length);
		if (!fixture->worker->violated)
			fail_msg("row %zu was taken", i);
		expect(fixture, "");
		kill_successors(fixture, "ended after a protocol violation");
		expect_part(fixture, "\"id\":1,\"error\":{\"code\":-32603");
		assert_true(pending_table_empty(fixture->fake->supervisor.pending));
		tear_down(state);
	}
}

static void
test_deep_update(void **state)
{
	struct fixture *fixture = *state;
	struct buffer update = BUFFER_EMPTY;
	int i;

	buffer_append_text(&update, "{\"sessionUpdate\":\"tool_call\",\"rawInput\":");
	for (i = 0; i < 128; i++)
		buffer_append_byte(&update, '[');
	for (i = 0; i < 128; i++)
		buffer_append_byte(&update, ']');
	buffer_append_byte(&update, '}');
	fake_say(fixture->worker, TO_SUPERVISOR_TURN_UPDATE, 0, 1, update.data, update.length);
	assert_false(fixture->worker->violated);
	expect_part(fixture, "rawInput");
	buffer_free(&update);
}

static void
test_other_turn(void **state)
{
	struct fixture *fixture = *state;

	fake_say(fixture->worker, TO_SUPERVISOR_TEXT, 0, 9, TEXT, sizeof TEXT - 1);
	assert_false(fixture->worker->violated);
	expect(fixture, "");
}

static void
test_cards(void **state)
{
	struct fixture *fixture = *state;

	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_OPEN, 1, "one\n\"");
	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_OPEN, 1, "two");
	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_STARTED, 1, "two");
	fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_CLOSED, 1, "two");
	expect(fixture, "");
	kill_successors(fixture, "was killed by signal 9 (Killed)");
	fake_run(fixture->fake);
	assert_non_null(
	    strstr(buffer_text(&fixture->fake->got), "\"toolCallId\":\"one\\n\\\"\""));
	assert_null(strstr(buffer_text(&fixture->fake->got), "two"));
	expect_part(fixture, "\"id\":1,\"error\":{\"code\":-32603");
	assert_int_equal(fixture->session->state, SESSION_DEAD);
}

static void
test_too_many_cards(void **state)
{
	struct fixture *fixture = *state;
	char id[16];
	int i;

	for (i = 0; i <= SESSION_CALLS_MAX; i++) {
		assert_false(fixture->worker->violated);
		snprintf(id, sizeof id, "%d", i);
		fake_say_text(fixture->worker, TO_SUPERVISOR_CALL_OPEN, 1, id);
	}
	expect_violation(fixture);
}

static void
test_foreign_answers(void **state)
{
	struct fixture *fixture = *state;
	uint32_t token;

	token = pending_token(fixture->session->turn.pending);
	fake_say(fixture->worker, TO_SUPERVISOR_RESPONSE, token, 0, "{}", 2);
	expect_violation(fixture);
}

static void
test_client_request(void **state)
{
	struct fixture *fixture = *state;

	fake_client_request(fixture->worker, 7, 1, PERMISSION, "{\"options\":[]}");
	expect_part(fixture, "\"id\":1,\"method\":\"session/request_permission\"");
	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"outcome\":{}}}");
	expect_told(fixture, "TO_WORKER_CLIENT_ANSWER\n");
	assert_int_equal(fixture->worker->last.request, 7);
	assert_int_equal(fixture->worker->payload.length, 15);
	assert_memory_equal(fixture->worker->payload.data, "\0{\"outcome\":{}}", 15);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"outcome\":{}}}");
	expect_told(fixture, ""); /* a second answer */
	fake_client_request(fixture->worker, 8, 1, PERMISSION, "{}");
	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{},\"error\":{\"code\":1}}");
	assert_memory_equal(fixture->worker->payload.data, "\1{\"code\":1}", 11);
	fake_client_request(fixture->worker, 9, 1, PERMISSION, "{}");
	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":null}");
	assert_memory_equal(fixture->worker->payload.data, "\1null", 5);
}

static void
test_foreign_ids(void **state)
{
	static const char *const ids[] = {"\"1\"", "-1", "0", "2", "4294967297", "9999999999",
	    "1.0", "null", "99999999999999999999"};
	struct fixture *fixture = *state;
	char line[100];
	size_t i;

	fake_client_request(fixture->worker, 7, 1, PERMISSION, "{}");
	for (i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		snprintf(
		    line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", ids[i]);
		client(fixture, line);
		expect_told(fixture, "");
	}
	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	expect_told(fixture, "TO_WORKER_CLIENT_ANSWER\n");
}

static void
test_client_request_cancelled(void **state)
{
	struct fixture *fixture = *state;

	fake_client_request(fixture->worker, 7, 1, PERMISSION, "{}");
	forget(fixture);
	cancel(fixture);
	expect_part(fixture, "\"method\":\"$/cancel_request\",\"params\":{\"requestId\":1}");
	fake_client_request(fixture->worker, 8, 1, PERMISSION, "{}"); /* too late */
	expect(fixture, "");
	assert_false(fixture->worker->violated);
	buffer_clear(&fixture->worker->told);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	expect_told(fixture, "");
}

static void
test_client_request_left_open(void **state)
{
	struct fixture *fixture = *state;

	fake_client_request(fixture->worker, 1, 1, PERMISSION, "{}");
	forget(fixture);
	fake_turn_done(fixture->worker, 1, STOP_REASON_END_TURN);
	expect_part(fixture, "\"requestId\":1");
	fake_die(fixture->worker, "crashed");
	prompt(fixture, 2);
	fixture->worker = fixture->session->worker;
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
	fake_client_request(fixture->worker, 1, 2, PERMISSION, "{}");
	buffer_clear(&fixture->worker->told);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	expect_told(fixture, "");
	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	expect_told(fixture, "TO_WORKER_CLIENT_ANSWER\n");
}

static void
test_too_many_client_requests(void **state)
{
	struct fixture *fixture = *state;
	uint32_t i;

	for (i = 1; i <= CLIENT_REQUESTS_MAX; i++)
		fake_client_request(fixture->worker, i, 1, PERMISSION, "{}");
	assert_false(fixture->worker->violated);
	forget(fixture);
	fake_client_request(fixture->worker, i, 1, PERMISSION, "{}");
	expect_violation(fixture);
}

static void
test_spare(void **state)
{
	struct fixture *fixture = *state;
	struct worker_process *spare = NULL, *worker;
	int rounds;

	for (rounds = 0; spare == NULL && rounds < 100; rounds++) {
		usleep(5000);
		fake_run(fixture->fake);
		LIST_FOREACH(worker, &fake_workers, entry)
		if (worker->arg == fixture->fake->supervisor.spare)
			spare = worker;
	}
	assert_non_null(spare);
	fake_hello(spare);
	new_session(fixture);
	assert_ptr_equal(fixture->worker, spare);
	fake_hello(fixture->worker); /* it has said HELLO already */
	expect_violation(fixture);
}

static void
test_spare_that_talks(void **state)
{
	struct fixture *fixture = *state;
	struct worker_process *spare;
	bool hello;

	usleep(20000);
	fake_run(fixture->fake);
	spare = LIST_FIRST(&fake_workers);
	assert_ptr_equal(spare->arg, fixture->fake->supervisor.spare);
	fake_say(spare, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	assert_true(spare->violated);
	expect(fixture, "");
	new_session(fixture); /* it is not taken */
	assert_ptr_not_equal(fixture->worker, spare);
	hello = fixture->session->hello;
	assert_false(hello);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ROW_EMPTY(test_ready),
	    ROW_EMPTY(test_ready_of_nothing),
	    ROW_EMPTY(test_bad_ready),
	    ROW_EMPTY(test_ready_before_hello),
	    ROW_EMPTY(test_bad_hello),
	    ROW_EMPTY(test_setup_failed),
	    ROW_EMPTY(test_died_at_start),
	    ROW_TURN(test_turn),
	    ROW_TURN(test_turn_failed),
	    cmocka_unit_test(test_hostile_messages),
	    ROW_TURN(test_deep_update),
	    ROW_TURN(test_other_turn),
	    ROW_TURN(test_cards),
	    ROW_TURN(test_too_many_cards),
	    ROW_TURN(test_foreign_answers),
	    ROW_TURN(test_client_request),
	    ROW_TURN(test_foreign_ids),
	    ROW_TURN(test_client_request_cancelled),
	    ROW_TURN(test_client_request_left_open),
	    ROW_TURN(test_too_many_client_requests),
	    ROW_EMPTY(test_spare),
	    ROW_EMPTY(test_spare_that_talks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
