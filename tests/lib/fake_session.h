/*
 * A session of a supervisor without processes, brought into a state, and what its tests say
 * and expect. Include it once in a test.
 */
#ifndef HERMES_TESTS_LIB_FAKE_SESSION_H
#define HERMES_TESTS_LIB_FAKE_SESSION_H

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

static inline void
client(struct fixture *fixture, const char *line)
{
	fake_client_bytes(fixture->fake, line, strlen(line));
	fake_client_bytes(fixture->fake, "\n", 1);
}

/* A request of the session with the given params behind sessionId. */
static inline void
request(struct fixture *fixture, int id, const char *method, const char *more)
{
	struct buffer line = BUFFER_EMPTY;

	buffer_printf(&line,
	    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"sessionId\":%s%s}}",
	    id, method, fixture->session->quoted, more);
	client(fixture, buffer_text(&line));
	buffer_free(&line);
}

static inline void
prompt(struct fixture *fixture, int id)
{
	request(
	    fixture, id, "session/prompt", ",\"prompt\":[{\"type\":\"text\",\"text\":\"x\"}]");
}

static inline void
cancel(struct fixture *fixture)
{
	struct buffer line = BUFFER_EMPTY;

	buffer_printf(&line,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":%s}}",
	    fixture->session->quoted);
	client(fixture, buffer_text(&line));
	buffer_free(&line);
}

static inline void
forget(struct fixture *fixture)
{
	fake_run(fixture->fake);
	buffer_clear(&fixture->fake->got);
}

/* What the client got since the last look. */
static inline void
expect(struct fixture *fixture, const char *text)
{
	fake_run(fixture->fake);
	assert_string_equal(buffer_text(&fixture->fake->got), text);
	buffer_clear(&fixture->fake->got);
}

static inline void
expect_part(struct fixture *fixture, const char *text)
{
	fake_run(fixture->fake);
	if (strstr(buffer_text(&fixture->fake->got), text) == NULL)
		fail_msg("%s is not in %s", text, buffer_text(&fixture->fake->got));
	buffer_clear(&fixture->fake->got);
}

/* Kills every worker that takes the turn over until the prompt is answered with an error. */
static inline void
kill_successors(struct fixture *fixture, const char *cause)
{
	int deaths;

	for (deaths = 0; deaths < 10; deaths++) {
		fake_run(fixture->fake);
		if (strstr(buffer_text(&fixture->fake->got), "\"error\":") != NULL)
			break;
		if (fixture->session->worker != NULL)
			fake_die(fixture->session->worker, cause);
		else if (fixture->session->state == SESSION_RECOVERING)
			session_timer(fixture->session);
		else
			break;
	}
	fixture->worker = fixture->session->worker;
}

/* The successor of a worker that died in a turn gets ready. */
static inline void
successor_ready(struct fixture *fixture)
{
	fake_commit(fixture->fake);
	if (fixture->session->worker == NULL)
		session_timer(fixture->session);
	fixture->worker = fixture->session->worker;
	fake_hello(fixture->worker);
	fake_ready(fixture->worker, "", "{}");
}

static inline void
expect_told(struct fixture *fixture, const char *names)
{
	assert_string_equal(buffer_text(&fixture->worker->told), names);
	buffer_clear(&fixture->worker->told);
}

static inline void
expect_violation(struct fixture *fixture)
{
	assert_true(fixture->worker->violated);
	expect(fixture, "");
}

static inline int
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

static inline void
new_session(struct fixture *fixture)
{
	client(fixture,
	    "{\"jsonrpc\":\"2.0\",\"id\":\"new\",\"method\":\"session/new\",\"params\":"
	    "{\"cwd\":\"/\",\"mcpServers\":[]}}");
	fixture->session = session_first(fixture->fake->supervisor.sessions);
	assert_non_null(fixture->session);
	fixture->worker = fixture->session->worker;
	assert_non_null(fixture->worker);
}

static inline int
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

static inline int
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

static inline int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	fake_delete(fixture->fake);
	free(fixture);
	return 0;
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define ROW_EMPTY(name) cmocka_unit_test_setup_teardown(name, set_up_empty, tear_down)
#define ROW_TURN(name) cmocka_unit_test_setup_teardown(name, set_up_turn, tear_down)

#endif
