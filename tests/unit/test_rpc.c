/*
 * What each line of a client is answered, to the byte: envelope, ids, methods, params. No
 * worker can be started here, so everything is the supervisor's own answer.
 */
#include <config.h>

#include "common/json_scan.h"
#include "tests/lib/fake_supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define SETTINGS "{\"provider\":\"openrouter\",\"label\":\"OpenRouter\"}"
#define INITIALIZE                                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"                 \
	"\"protocolVersion\":1}}\n"

static int
set_up(void **state)
{
	struct fake *fake = fake_new();

	fake_settings(fake, SETTINGS);
	fake_client_bytes(fake, INITIALIZE, sizeof INITIALIZE - 1);
	assert_non_null(strstr(buffer_text(&fake->got), "\"protocolVersion\":1"));
	buffer_clear(&fake->got);
	fake_start_fails = true;
	*state = fake;
	return 0;
}

static int
tear_down(void **state)
{
	fake_delete(*state);
	return 0;
}

/* Everything that goes out is one JSON object a line. */
static void
check_lines(const char *text)
{
	const char *newline;

	for (; *text != '\0'; text = newline + 1) {
		newline = strchr(text, '\n');
		assert_non_null(newline);
		assert_int_equal(text[0], '{');
		assert_null(json_scan_check(text, (size_t)(newline - text), JSON_SCAN_DEPTH));
	}
}

static void
expect(struct fake *fake, const char *line, const char *answer)
{
	buffer_clear(&fake->got);
	fake_client_bytes(fake, line, strlen(line));
	fake_client_bytes(fake, "\n", 1);
	check_lines(buffer_text(&fake->got));
	if (strcmp(buffer_text(&fake->got), answer) != 0)
		fail_msg("%s\n gave %s\n not   %s", line, buffer_text(&fake->got), answer);
}

#define INVALID(id, details)                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                      \
	",\"error\":{\"code\":-32600,\"message\":\"Invalid request\",\"data\":{\"details\":"   \
	"\"" details "\"}}}\n"
#define NO_METHOD(id, method)                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                      \
	",\"error\":{\"code\":-32601,\"message\":\"Method not found\",\"data\":{\"method\":"   \
	"\"" method "\"}}}\n"
#define NO_ID "id must be a string, a 64-bit integer or null"
#define X(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"x\"}"

/* Ids: echoed as they were spelt, or refused. */
static void
test_ids(void **state)
{
	static const char *const good[] = {"0", "-0", "1", "-1", "9223372036854775807",
	    "-9223372036854775808", "999999999999999999", "\"\"", "\"a\"", "\"1\"",
	    "\"\\u0061\\n\\/\"", "\"\\ud800\"", "\"\xc3\xa9\"", "\"\\u0000\"", "null"};
	static const char *const bad[] = {"1.0", "1.5", "1e3", "-1E5", "0e0",
	    "9223372036854775808", "-9223372036854775809", "18446744073709551616",
	    "123456789012345678901234567890", "true", "false", "[]", "[1]", "{}", "{\"a\":1}"};
	char line[200], answer[300];
	size_t i;

	for (i = 0; i < sizeof good / sizeof good[0]; i++) {
		snprintf(line, sizeof line, X("%s"), good[i]);
		snprintf(answer, sizeof answer, NO_METHOD("%s", "x"), good[i]);
		expect(*state, line, answer);
	}
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(line, sizeof line, X("%s"), bad[i]);
		expect(*state, line, INVALID("null", NO_ID));
	}
}

static void
test_envelope(void **state)
{
	static const struct {
		const char *line, *answer;
	} rows[] = {
	    {"[]", INVALID("null", "batches are not part of ACP")},
	    {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]",
		INVALID("null", "batches are not part of ACP")},
	    {" \t[1]", INVALID("null", "batches are not part of ACP")},
	    {"1", INVALID("null", "a message must be an object")},
	    {"null", INVALID("null", "a message must be an object")},
	    {"\"x\"", INVALID("null", "a message must be an object")},
	    {"{}", INVALID("null", "jsonrpc must be \\\"2.0\\\"")},
	    {"{\"id\":5,\"method\":\"x\"}", INVALID("5", "jsonrpc must be \\\"2.0\\\"")},
	    {"{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"x\"}",
		INVALID("5", "jsonrpc must be \\\"2.0\\\"")},
	    {"{\"jsonrpc\":2.0,\"id\":5,\"method\":\"x\"}",
		INVALID("5", "jsonrpc must be \\\"2.0\\\"")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":5}", INVALID("5", "method is missing")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}",
		INVALID("5", "method must be a string")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":null}",
		INVALID("5", "method must be a string")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"a\\u0000\"}",
		INVALID("5", "method must be a string")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":5,\"id\":6,\"method\":\"x\"}",
		INVALID("null", "a member stands there twice")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\",\"method\":\"y\"}",
		INVALID("5", "a member stands there twice")},
	    {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\",\"params\":{},\"params\":{}}",
		INVALID("5", "a member stands there twice")},
	    {"{\"id\":\"a\",\"extra\":[1,{\"id\":2}],\"method\":\"x\",\"jsonrpc\":\"2.0\"}",
		NO_METHOD("\"a\"", "x")},
	    {"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", ""},
	    {"{\"jsonrpc\":\"2.0\",\"method\":\"initialize\",\"params\":{\"a\":1}}", ""},
	    {"{\"jsonrpc\":\"2.0\",\"method\":\"session/prompt\"}", ""},
	    {"", ""},
	    {" \t\r", ""},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
		expect(*state, rows[i].line, rows[i].answer);
}

static void
test_no_json(void **state)
{
	struct fake *fake = *state;
	static const char *const lines[] = {"{", "}", "{'a':1}", "not json", "{} {}", "\xff",
	    "\xef\xbb\xbf{}", "{\"id\":1,}", "{\"id\":NaN}", "{\"id\":1 /* c */}"};
	size_t i;

	for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		buffer_clear(&fake->got);
		fake_client_bytes(fake, lines[i], strlen(lines[i]));
		fake_client_bytes(fake, "\n", 1);
		check_lines(buffer_text(&fake->got));
		assert_memory_equal(buffer_text(&fake->got),
		    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
		    "\"Parse error\"",
		    68);
	}
}

/* Nested too deeply is well-formed, so it is no parse error. */
static void
test_too_deep(void **state)
{
	char line[600];

	memset(line, '[', 200);
	memset(line + 200, ']', 200);
	line[400] = '\0';
	expect(*state, line, INVALID("null", "nested too deeply"));
	expect(*state, X("1"), NO_METHOD("1", "x"));
}

#define FAULT(id, code, message, key, text)                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code                         \
	",\"message\":\"" message "\",\"data\":{\"" key "\":\"" text "\"}}}\n"
#define CALL(method, params)                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"" method "\",\"params\":" params "}"
#define PARAMS(message, key, text) FAULT("3", "-32602", message, key, text)

static void
test_params(void **state)
{
	static const struct {
		const char *line, *answer;
	} rows[] = {
	    {CALL("session/prompt", "[]"),
		PARAMS("params must be an object", "method", "session/prompt")},
	    {CALL("session/prompt", "\"a\""),
		PARAMS("params must be an object", "method", "session/prompt")},
	    {CALL("session/prompt", "null"),
		PARAMS("params are missing", "method", "session/prompt")},
	    {CALL("session/prompt", "{}"),
		PARAMS("params are missing", "method", "session/prompt")},
	    {CALL("session/prompt", "{ }"),
		PARAMS("sessionId is missing or not a string", "field", "sessionId")},
	    {CALL("session/prompt", "{\"sessionId\":1}"),
		PARAMS("sessionId is missing or not a string", "field", "sessionId")},
	    {CALL("session/prompt", "{\"sessionId\":\"a\\u0000\"}"),
		PARAMS("sessionId is missing or not a string", "field", "sessionId")},
	    {CALL("session/prompt", "{\"sessionId\":\"n\\no\"}"),
		FAULT("3", "-32002", "No such session", "sessionId", "n\\no")},
	    {CALL("session/close", "{\"sessionId\":\"\"}"),
		FAULT("3", "-32002", "No such session", "sessionId", "")},
	    {CALL("session/set_mode", "{\"sessionId\":\"x\",\"modeId\":\"plan\"}"),
		FAULT("3", "-32002", "No such session", "sessionId", "x")},
	    {CALL("session/new", "{\"mcpServers\":[]}"),
		PARAMS("cwd is missing or not a string", "field", "cwd")},
	    {CALL("session/new", "{\"cwd\":\"relative\",\"mcpServers\":[]}"),
		PARAMS("cwd must be an absolute path: relative", "field", "cwd")},
	    {CALL("session/new", "{\"cwd\":\"/\\u0000\"}"),
		PARAMS("cwd is missing or not a string", "field", "cwd")},
	    {CALL("session/new", "{\"cwd\":\"/\",\"mcpServers\":{}}"),
		PARAMS("mcpServers must be an array", "field", "mcpServers")},
	    {CALL("session/new", "{\"cwd\":\"/\",\"additionalDirectories\":1}"),
		PARAMS("additionalDirectories must be an array", "field",
		    "additionalDirectories")},
	    {CALL("session/new", "{\"cwd\":\"/\",\"mcpServers\":[]}"),
		FAULT("3", "-32603", "No worker could be started", "details",
		    "Resource temporarily unavailable")},
	    {CALL("session/cancel", "{\"sessionId\":\"x\"}"), NO_METHOD("3", "session/cancel")},
	    {CALL("$/cancel_request", "{\"requestId\":1}"), NO_METHOD("3", "$/cancel_request")},
	    {CALL("session/load", "{\"sessionId\":\"x\"}"),
		PARAMS("cwd is missing or not a string", "field", "cwd")},
	    {CALL("session/archive", "{\"sessionId\":\"x\"}"),
		NO_METHOD("3", "session/archive")},
	    {CALL("Initialize", "{}"), NO_METHOD("3", "Initialize")},
	    {CALL("initialize", "{\"protocolVersion\":\"1\"}"),
		PARAMS("protocolVersion must be an integer from 0 to 65535", "field",
		    "protocolVersion")},
	    {CALL("initialize", "{\"protocolVersion\":-1}"),
		PARAMS("protocolVersion must be an integer from 0 to 65535", "field",
		    "protocolVersion")},
	    {CALL("initialize", "{\"protocolVersion\":65536}"),
		PARAMS("protocolVersion must be an integer from 0 to 65535", "field",
		    "protocolVersion")},
	    {CALL("initialize", "{\"protocolVersion\":1e999}"),
		PARAMS("protocolVersion must be an integer from 0 to 65535", "field",
		    "protocolVersion")},
	    {CALL("authenticate", "{\"methodId\":\"other\"}"),
		PARAMS("Unknown authentication method", "methodId", "other")},
	    {CALL("authenticate", "{\"methodId\":\"hermes-setup\"}"),
		PARAMS("This method is run in a terminal: hermes-acp --setup", "methodId",
		    "hermes-setup")},
	    {CALL("logout", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n"},
	    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"logout\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n"},
	    {CALL("session/new", "{\"cwd\":\"/\",\"mcpServers\":[]}"),
		FAULT("3", "-32000", "Authentication is required after logout", "details",
		    "Call authenticate with one of the methods of initialize.")},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
		expect(*state, rows[i].line, rows[i].answer);
}

/* Answers and cancellations that nobody waits for change nothing. */
static void
test_stray(void **state)
{
	struct fake *fake = *state;
	static const char *const lines[] = {
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}",
	    "{\"jsonrpc\":\"2.0\",\"result\":{}}",
	    "{\"jsonrpc\":\"2.0\",\"id\":99999999999,\"result\":null}",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"session/"
	    "cancel\",\"params\":{\"sessionId\":\"x\"}}",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{}}",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":[]}",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"$/"
	    "cancel_request\",\"params\":{\"requestId\":1}}",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"$/"
	    "cancel_request\",\"params\":{\"requestId\":{}}}",
	};
	size_t i;

	for (i = 0; i < sizeof lines / sizeof lines[0]; i++)
		expect(fake, lines[i], "");
}

static void
test_initialize_first(void **state)
{
	struct fake *fake = fake_new();

	(void)state;
	fake_settings(fake, SETTINGS);
	expect(fake, CALL("session/new", "{\"cwd\":\"/\"}"),
	    FAULT("3", "-32600", "initialize must come first", "method", "session/new"));
	expect(fake, X("4"), FAULT("4", "-32600", "initialize must come first", "method", "x"));
	expect(fake, "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"a\":1}}",
	    "");
	fake_delete(fake);
}

/* Until the settings are in, initialize waits and nothing behind it is taken. */
static void
test_initialize_waits(void **state)
{
	struct fake *fake = fake_new();

	(void)state;
	fake_client_bytes(fake, INITIALIZE X("5") "\n", strlen(INITIALIZE X("5") "\n"));
	assert_int_equal(fake->lines, 1);
	assert_int_equal(fake->got.length, 0);
	fake_settings(fake, "{\"provider\":null}");
	assert_int_equal(fake->lines, 2);
	check_lines(buffer_text(&fake->got));
	assert_non_null(strstr(buffer_text(&fake->got), "\"id\":\"hermes-config\""));
	assert_non_null(strstr(buffer_text(&fake->got), NO_METHOD("5", "x")));
	fake_delete(fake);
}

static void
test_authenticate(void **state)
{
	struct fake *fake = *state;
	struct worker_process *catalogue = NULL, *worker;

	LIST_FOREACH(worker, &fake_workers, entry)
	if (worker->arg == fake->supervisor.catalogue)
		catalogue = worker;
	if (catalogue == NULL) {
		fail_msg("there is no catalogue worker");
		return;
	}
	expect(fake, CALL("logout", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n");
	expect(fake, CALL("authenticate", "{\"methodId\":\"OpenRouter\"}"), "");
	assert_int_equal(catalogue->last.type, TO_WORKER_SETTINGS_QUERY);
	fake_say(catalogue, TO_SUPERVISOR_SETTINGS, 0, 0, SETTINGS, sizeof SETTINGS - 1);
	fake_run(fake);
	assert_string_equal(
	    buffer_text(&fake->got), "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n");
	expect(fake, CALL("authenticate", "{\"methodId\":\"hermes-config\"}"), "");
	fake_say(catalogue, TO_SUPERVISOR_SETTINGS, 0, 0, "{}", 2);
	fake_run(fake);
	check_lines(buffer_text(&fake->got));
	assert_non_null(strstr(buffer_text(&fake->got), "\"code\":-32000"));
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ROW(test_ids),
	    ROW(test_envelope),
	    ROW(test_no_json),
	    ROW(test_too_deep),
	    ROW(test_params),
	    ROW(test_stray),
	    cmocka_unit_test(test_initialize_first),
	    cmocka_unit_test(test_initialize_waits),
	    ROW(test_authenticate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
