/*
 * Sessions with workers that are played: what a worker says reaches the client only when
 * every rule is kept, each request is answered exactly once whatever the order of events,
 * and whoever breaks a rule is ended without a byte of it having gone out.
 */
#include <config.h>

#include "tests/lib/fake_supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define SETTINGS "{\"provider\":\"p\",\"label\":\"P\"}"
#define TEXT "{\"sessionUpdate\":\"agent_message_chunk\"}"

struct fixture {
	struct fake *fake;
	struct session *session;
	struct worker_process *worker;
};

static void
client(struct fixture *fixture, const char *line)
{
	fake_client_bytes(fixture->fake, line, strlen(line));
	fake_client_bytes(fixture->fake, "\n", 1);
}

/* A request of the session with the given params behind sessionId. */
static void
request(struct fixture *fixture, int id, const char *method, const char *more)
{
	struct buffer line = BUFFER_EMPTY;

	buffer_printf(&line,
	    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"sessionId\":%s%s}}",
	    id, method, fixture->session->quoted, more);
	client(fixture, buffer_text(&line));
	buffer_free(&line);
}

static void
prompt(struct fixture *fixture, int id)
{
	request(fixture, id, "session/prompt", ",\"prompt\":[{\"type\":\"text\",\"text\":\"x\"}]");
}

static void
cancel(struct fixture *fixture)
{
	struct buffer line = BUFFER_EMPTY;

	buffer_printf(&line,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":%s}}",
	    fixture->session->quoted);
	client(fixture, buffer_text(&line));
	buffer_free(&line);
}

static void
forget(struct fixture *fixture)
{
	fake_run(fixture->fake);
	buffer_clear(&fixture->fake->got);
}

/* What the client got since the last look. */
static void
expect(struct fixture *fixture, const char *text)
{
	fake_run(fixture->fake);
	assert_string_equal(buffer_text(&fixture->fake->got), text);
	buffer_clear(&fixture->fake->got);
}

static void
expect_part(struct fixture *fixture, const char *text)
{
	fake_run(fixture->fake);
	if (strstr(buffer_text(&fixture->fake->got), text) == NULL)
		fail_msg("%s is not in %s", text, buffer_text(&fixture->fake->got));
	buffer_clear(&fixture->fake->got);
}

static void
expect_told(struct fixture *fixture, const char *names)
{
	assert_string_equal(buffer_text(&fixture->worker->told), names);
	buffer_clear(&fixture->worker->told);
}

static void
expect_violation(struct fixture *fixture)
{
	assert_true(fixture->worker->violated);
	expect(fixture, "");
}

static int
set_up_empty(void **state)
{
	static const char initialize[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
	    "{\"protocolVersion\":1}}\n";
	struct fixture *fixture = calloc(1, sizeof *fixture);

	assert_non_null(fixture);
	fixture->fake = fake_new();
	fake_settings(fixture->fake, SETTINGS);
	fake_client_bytes(fixture->fake, initialize, sizeof initialize - 1);
	buffer_clear(&fixture->fake->got);
	*state = fixture;
	return 0;
}

static void
new_session(struct fixture *fixture)
{
	client(fixture, "{\"jsonrpc\":\"2.0\",\"id\":\"new\",\"method\":\"session/new\",\"params\":"
			"{\"cwd\":\"/\",\"mcpServers\":[]}}");
	fixture->session = session_first(fixture->fake->supervisor.sessions);
	assert_non_null(fixture->session);
	fixture->worker = fixture->session->worker;
	assert_non_null(fixture->worker);
}

static int
set_up(void **state)
{
	struct fixture *fixture;

	set_up_empty(state);
	fixture = *state;
	new_session(fixture);
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "help model", "{\"modes\":{}}");
	forget(fixture);
	buffer_clear(&fixture->worker->told);
	assert_int_equal(fixture->session->state, SESSION_IDLE);
	return 0;
}

static int
set_up_turn(void **state)
{
	struct fixture *fixture;

	set_up(state);
	fixture = *state;
	prompt(fixture, 1);
	assert_int_equal(fixture->session->state, SESSION_TURN_RUNNING);
	assert_int_equal(fixture->worker->last.turn, 1);
	expect_told(fixture, "TO_WORKER_TURN_START\n");
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	fake_delete(fixture->fake);
	free(fixture);
	return 0;
}

/* Setting up. */

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
	    "{\"jsonrpc\":\"2.0\",\"id\":\"new\",\"result\":{\"sessionId\":%s,\"modes\":{\"x\":1}}}\n",
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
	static const char *const members[] = { "[]", "null", "{", "{}{}", "{\"a\":\n1}", "{}\n",
		"{\"sessionId\":\"x\"}", "{\"session\\u0049d\":\"x\"}", " {}" };
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
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":\"new\",\"error\":{\"code\":-32602,\"message\":"
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
	fake_die(fixture->worker, "was killed by signal 9 (Killed)");
	expect_part(fixture,
	    "\"message\":\"The session's worker process was killed by signal 9 (Killed)\"");
	assert_null(session_first(fixture->fake->supervisor.sessions));
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
}

/* Turns. */

static void
test_turn(void **state)
{
	struct fixture *fixture = *state;
	char line[200];

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
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"max_tokens\","
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

/* None of these may reach the client, and each ends the worker. */
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
		{ TO_SUPERVISOR_TEXT, 0, 1, P("[]") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{}") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":1}") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\",\"sessionUpdate\":\"b\"}") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\"}}") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\"}\n") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\n\"a\"}") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\nb\"}") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\"}\r") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\"},\"id\":1") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"\xff\"}") },
		{ TO_SUPERVISOR_TEXT, 0, 1, P("{\"sessionUpdate\":\"a\",\"x\":NaN}") },
		{ TO_SUPERVISOR_TEXT, 0, 2, P("{\"sessionUpdate\":\"a\"") },
		{ TO_SUPERVISOR_TURN_UPDATE, 0, 1, P("{}") },
		{ TO_SUPERVISOR_SESSION_UPDATE, 0, 0, P("{}") },
		{ TO_SUPERVISOR_SESSION_STATE, 0, 0, P("[]") },
		{ TO_SUPERVISOR_SESSION_STATE, 0, 0, P("{},\"params\":{}") },
		{ TO_SUPERVISOR_TURN_DONE, 0, 2, P("\0") },
		{ TO_SUPERVISOR_TURN_DONE, 0, 0, P("\0") },
		{ TO_SUPERVISOR_TURN_DONE, 0, 1, P("\5") },
		{ TO_SUPERVISOR_TURN_DONE, 0, 1, P("\0[]") },
		{ TO_SUPERVISOR_TURN_DONE, 0, 1, P("\0{}}") },
		{ TO_SUPERVISOR_TURN_FAILED, 0, 2, P("\0\0\0\0\0\0\0\0") },
		{ TO_SUPERVISOR_TURN_FAILED, 0, 1, P("\0\0\0\0\xff\xff\xff\xff") },
		{ TO_SUPERVISOR_TURN_FAILED, 0, 1, P("\0\0\0\0\0\0\0\0{") },
		{ TO_SUPERVISOR_CALL_STARTED, 0, 1, P("\1\0\0\0a") },
		{ TO_SUPERVISOR_CALL_CLOSED, 0, 1, P("\1\0\0\0a") },
		{ TO_SUPERVISOR_CALL_OPEN, 0, 1, P("\2\0\0\0a") },
		{ TO_SUPERVISOR_CALL_OPEN, 0, 1, P("\0\0\0\0a") },
		{ TO_SUPERVISOR_RESPONSE, 77, 0, P("{}") },
		{ TO_SUPERVISOR_RESPONSE, 0, 0, P("{}") },
		{ TO_SUPERVISOR_RESPONSE_ERROR, 77, 0, P("\0\0\0\0\0\0\0\0") },
		{ TO_SUPERVISOR_HELLO, 0, 0, P("12345678") },
		{ TO_SUPERVISOR_READY, 0, 0, P("\0\0\0\0{}") },
		{ TO_SUPERVISOR_SETUP_FAILED, 0, 0, P("\0\0\0\0\0\0\0\0") },
		{ TO_SUPERVISOR_SETTINGS, 0, 0, P("{}") },
		{ TO_SUPERVISOR_LOG, 0, 0, P("\x09text") },
		{ TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\0\0\0\0{}") },
		{ TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\4\0\0\0exit{}") },
		{ TO_SUPERVISOR_CLIENT_REQUEST, 0, 1, P("\x11\0\0\0fs/read_text_file{}") },
		{ TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\x11\0\0\0fs/read_text_file[]") },
		{ TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\x11\0\0\0fs/read_text_file") },
		{ TO_SUPERVISOR_CLIENT_REQUEST, 1, 1,
		    P("\x11\0\0\0fs/read_text_file{\"sessionId\":\"y\"}") },
		{ TO_SUPERVISOR_CLIENT_REQUEST, 1, 1,
		    P("\x11\0\0\0fs/read_text_file{\"sess\\u0069onId\":\"y\"}") },
		{ TO_SUPERVISOR_CLIENT_REQUEST, 1, 1, P("\x11\0\0\0fs/read_text_file{}\n") },
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
		/* A prompt of which a worker said nothing is given to a second one. */
		while ((fixture->worker = fixture->session->worker) != NULL)
			fake_die(fixture->worker, "ended after a protocol violation");
		expect_part(fixture, "\"id\":1,\"error\":{\"code\":-32603");
		assert_true(pending_table_empty(fixture->fake->supervisor.pending));
		tear_down(state);
	}
}

/* A value that was as deep as it may be from outside is passed on inside of another. */
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

/* Text of another turn is dropped without harm: it may be late. */
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
	fake_die(fixture->worker, "was killed by signal 9 (Killed)");
	fake_run(fixture->fake);
	assert_non_null(strstr(buffer_text(&fixture->fake->got), "\"toolCallId\":\"one\\n\\\"\""));
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

/* Cancelling. */

static void
test_cancel(void **state)
{
	struct fixture *fixture = *state;

	prompt(fixture, 2);
	prompt(fixture, 3);
	expect(fixture, "");
	cancel(fixture);
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"cancelled\"}}\n"
			"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	expect_told(fixture, "TO_WORKER_TURN_CANCEL\n");
	assert_int_equal(fixture->worker->pokes, 1);
	cancel(fixture);
	expect_told(fixture, "");
	fake_turn_done(fixture->worker, 1, STOP_REASON_END_TURN);
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
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
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
}

static void
test_cancel_then_died(void **state)
{
	struct fixture *fixture = *state;

	cancel(fixture);
	fake_die(fixture->worker, "crashed");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	assert_int_equal(fixture->session->state, SESSION_DEAD);
}

/* The worker does not react: the client gets its answer, later words of the turn do not
 * count, and a prompt that comes meanwhile is for a successor. */
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
	fake_die(old, "ended because it did not react to a cancel");
	assert_int_equal(fixture->session->state, SESSION_STARTING);
	fixture->worker = fixture->session->worker;
	assert_ptr_not_equal(fixture->worker, old);
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
	expect_told(fixture, "TO_WORKER_SETUP\nTO_WORKER_TURN_START\n");
	fake_turn_done(fixture->worker, 2, STOP_REASON_END_TURN);
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"end_turn\"}}\n");
}

static void
test_cancel_request(void **state)
{
	struct fixture *fixture = *state;

	prompt(fixture, 2);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
			"{\"requestId\":2}}");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	assert_int_equal(fixture->session->state, SESSION_TURN_RUNNING);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
			"{\"requestId\":\"1\"}}");
	assert_int_equal(fixture->session->state, SESSION_TURN_RUNNING);
	client(fixture, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":"
			"{\"requestId\":1}}");
	assert_int_equal(fixture->session->state, SESSION_CANCELLING);
}

/* Prompts that wait. */

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

/* A worker dies in a turn: its prompt fails, the next one gets a new worker. */
static void
test_death_in_a_turn(void **state)
{
	struct fixture *fixture = *state;
	struct worker_process *old = fixture->worker;

	fake_say(old, TO_SUPERVISOR_SESSION_STATE, 0, 0, "{\"mode\":\"plan\"}", 15);
	fake_say(old, TO_SUPERVISOR_TEXT, 0, 1, TEXT, sizeof TEXT - 1);
	forget(fixture);
	prompt(fixture, 2);
	fake_die(old, "crashed by signal 11 (Segmentation fault)");
	expect_part(fixture, "\"id\":1,\"error\":{\"code\":-32603,\"message\":\"The session's worker "
			     "process crashed by signal 11 (Segmentation fault)\"");
	fixture->worker = fixture->session->worker;
	assert_non_null(fixture->worker);
	assert_non_null(strstr(buffer_text(&fixture->worker->payload),
	    ",\"state\":{\"mode\":\"plan\"}}"));
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
	assert_int_equal(fixture->worker->last.turn, 2);
	fake_turn_done(fixture->worker, 2, STOP_REASON_END_TURN);
	expect_part(fixture, "\"id\":2,\"result\"");
}

/* A worker that died before it said anything about its turn: the prompt runs once again. */
static void
test_death_before_a_word(void **state)
{
	struct fixture *fixture = *state;

	prompt(fixture, 2);
	fake_die(fixture->worker, "was killed by signal 9 (Killed)");
	expect(fixture, "");
	fixture->worker = fixture->session->worker;
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
	expect_told(fixture, "TO_WORKER_SETUP\nTO_WORKER_TURN_START\n");
	fake_die(fixture->worker, "was killed by signal 9 (Killed)");
	expect_part(fixture, "\"id\":1,\"error\":{\"code\":-32603");
	fixture->worker = fixture->session->worker;
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
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
	fake_say(fixture->worker, TO_SUPERVISOR_RESPONSE, fixture->worker->last.request, 0, "{}", 2);
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
	expect_part(fixture, "\"id\":2,\"error\":{\"code\":-32603,\"message\":\"No worker could be "
			     "started\"");
	prompt(fixture, 3);
	expect_part(fixture, "\"id\":3,\"error\":{\"code\":-32603");
	assert_true(pending_table_empty(fixture->fake->supervisor.pending));
}

/* Calls and commands. */

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
	fake_failure(fixture->worker, TO_SUPERVISOR_RESPONSE_ERROR, token, 0, -32602, "no", "[1]");
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32602,\"message\":\"no\","
			"\"data\":[1]}}\n");
	fake_say(fixture->worker, TO_SUPERVISOR_RESPONSE, token, 0, "{}", 2); /* once more */
	expect_violation(fixture);
}

/* A worker cannot answer what was not given to it: the running prompt, another session's. */
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
test_commands(void **state)
{
	struct fixture *fixture = *state;

	request(fixture, 5, "session/prompt", ",\"prompt\":[{\"type\":\"text\",\"text\":\"/help me\"}]");
	expect_told(fixture, "TO_WORKER_COMMAND\n");
	assert_int_equal(fixture->worker->last.turn, 1);
	fake_say(fixture->worker, TO_SUPERVISOR_RESPONSE, fixture->worker->last.request, 0,
	    "{\"stopReason\":\"end_turn\"}", 25);
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"stopReason\":\"end_turn\"}}\n");
	request(fixture, 6, "session/prompt", ",\"prompt\":[{\"type\":\"text\",\"text\":\"/helpme\"}]");
	request(fixture, 7, "session/prompt", ",\"prompt\":[\"/help\"]");
	expect_told(fixture, "");
	assert_int_equal(fixture->session->waiting_prompts, 2);
	request(fixture, 8, "session/prompt", ",\"prompt\":[{\"type\":\"text\",\"text\":\"/model\"}]");
	fake_die(fixture->worker, "crashed");
	expect_part(fixture, "\"id\":8,\"error\":{\"code\":-32603");
}

static void
test_bad_prompts(void **state)
{
	struct fixture *fixture = *state;
	static const char *const prompts[] = { "", ",\"prompt\":[]", ",\"prompt\":[ ]",
		",\"prompt\":{}", ",\"prompt\":null", ",\"prompt\":\"x\"" };
	size_t i;

	for (i = 0; i < sizeof prompts / sizeof prompts[0]; i++) {
		request(fixture, 4, "session/prompt", prompts[i]);
		expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32602,\"message\":"
				"\"prompt must be an array with at least one content block\",\"data\":"
				"{\"field\":\"prompt\"}}}\n");
	}
	expect_told(fixture, "");
}

/* Closing. */

static void
test_close(void **state)
{
	struct fixture *fixture = *state;
	uint32_t token;

	request(fixture, 5, "session/set_mode", ",\"modeId\":\"plan\"");
	token = fixture->worker->last.request;
	request(fixture, 6, "session/close", "");
	expect_part(fixture, "\"id\":5,\"error\":{\"code\":-32603,\"message\":\"The session's worker "
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
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"cancelled\"}}\n");
	request(fixture, 7, "session/close", "");
	prompt(fixture, 3);
	fake_turn_done(fixture->worker, 1, STOP_REASON_CANCELLED);
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n"
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
	expect(fixture, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n"
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

/* Requests to the client. */

#define PERMISSION "session/request_permission"

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

/* Ids that only look like one of ours. */
static void
test_foreign_ids(void **state)
{
	static const char *const ids[] = { "\"1\"", "-1", "0", "2", "4294967297", "9999999999",
		"1.0", "null", "99999999999999999999" };
	struct fixture *fixture = *state;
	char line[100];
	size_t i;

	fake_client_request(fixture->worker, 7, 1, PERMISSION, "{}");
	for (i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", ids[i]);
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

/* A question that was left open by a turn is never answered into another: the worker's
 * numbers begin anew with a successor. */
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

/* The spare worker. */

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

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define ROW_EMPTY(name) cmocka_unit_test_setup_teardown(name, set_up_empty, tear_down)
#define ROW_TURN(name) cmocka_unit_test_setup_teardown(name, set_up_turn, tear_down)

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
		ROW_TURN(test_cancel),
		ROW_TURN(test_cancel_then_failed),
		ROW_TURN(test_cancel_then_died),
		ROW_TURN(test_cancel_ignored),
		ROW_TURN(test_cancel_request),
		ROW_TURN(test_queue),
		ROW_TURN(test_death_in_a_turn),
		ROW_TURN(test_death_before_a_word),
		ROW(test_death_when_idle),
		ROW_TURN(test_no_successor),
		ROW(test_calls),
		ROW_TURN(test_foreign_answers),
		ROW_TURN(test_commands),
		ROW(test_bad_prompts),
		ROW(test_close),
		ROW_TURN(test_close_in_a_turn),
		ROW_TURN(test_close_then_died_in_the_turn),
		ROW(test_close_dead),
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
