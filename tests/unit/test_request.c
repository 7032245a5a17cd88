/*
 * The request's messages: whatever was stored, each call is answered exactly once and in
 * order, roles follow each other as providers want it, and the conversation stays as it is.
 */
#include <config.h>

#include "worker/agent/conversation.h"
#include "worker/agent/request.h"
#include "worker/tools/tool.h"
#include "common/json_scan.h"
#include "tests/unit/parsed_json.h"

#include <stdio.h>
#include <stdlib.h>

#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define GO_ON "{\"role\":\"user\",\"content\":\"on\",\"_display\":{\"hidden\":true}}"
#define ASSISTANT(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define CALL(id)                                                                               \
	"{\"id\":\"" id                                                                        \
	"\",\"type\":\"function\",\"function\":{\"name\":\"n\",\"arguments\":\"{}\"}}"
#define CALLS(text, calls)                                                                     \
	"{\"role\":\"assistant\",\"content\":" text ",\"tool_calls\":[" calls "]}"
#define RESULT(id, text)                                                                       \
	"{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"name\":\"n\",\"content\":\"" text    \
	"\"}"
#define MISSING(id)                                                                            \
	RESULT(id,                                                                             \
	    "{\\\"error\\\":\\\"The result is not available: the call was not finished.\\\"}")

static const struct {
	const char *stored, *sent;
} rows[] = {
    {"[]", "[]"},
    {"[" USER("a") "]", "[" USER("a") "]"},
    {"[" USER("a") "," ASSISTANT("b") "," USER("c") "]",
	"[" USER("a") "," ASSISTANT("b") "," USER("c") "]"},
    /* Users in a row. */
    {"[" USER("a") "," USER("b") "," USER("c") "]", "[" USER("a\\n\\nb\\n\\nc") "]"},
    {"[" USER("a") ",{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}]",
	"[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
	"{\"type\":\"text\",\"text\":\"b\"}]}]"},
    /* "Go on" after a crash, as long as it is the last word. */
    {"[" USER("a") "," ASSISTANT("b") "," GO_ON "]",
	"[" USER("a") "," ASSISTANT("b") "," USER("on") "]"},
    {"[" USER("a") "," ASSISTANT("b") "," GO_ON "," ASSISTANT("c") "," USER("d") "]",
	"[" USER("a") "," ASSISTANT("b") "," USER("on") "," ASSISTANT("c") "," USER("d") "]"},
    {"[" USER("a") "," ASSISTANT("b") "," GO_ON "," USER("d") "]",
	"[" USER("a") "," ASSISTANT("b") "," USER("d") "]"},
    /* Empty answers. */
    {"[" USER("a") "," ASSISTANT("") "," USER("b") "]", "[" USER("a\\n\\nb") "]"},
    {"[" USER("a") "," ASSISTANT(" \\n") "]", "[" USER("a") "]"},
    {"[" USER("a") ",{\"role\":\"assistant\",\"content\":null}]", "[" USER("a") "]"},
    {"[" USER("a") ",{\"role\":\"assistant\"}," USER("b") "]", "[" USER("a\\n\\nb") "]"},
    /* Calls with their results. */
    {"[" USER("a") "," CALLS("null", CALL("1") "," CALL("2")) "," RESULT("1", "x") "," RESULT(
	 "2", "y") "]",
	"[" USER("a") "," CALLS("null", CALL("1") "," CALL("2")) "," RESULT(
	    "1", "x") "," RESULT("2", "y") "]"},
    /* In the wrong order, twice, missing, of nothing. */
    {"[" CALLS("null", CALL("1") "," CALL("2")) "," RESULT("2", "y") "," RESULT("1", "x") "]",
	"[" CALLS("null", CALL("1") "," CALL("2")) "," RESULT("1", "x") "," RESULT(
	    "2", "y") "]"},
    {"[" CALLS("null", CALL("1")) "," RESULT("1", "x") "," RESULT("1", "z") "]",
	"[" CALLS("null", CALL("1")) "," RESULT("1", "x") "]"},
    {"[" CALLS("\"t\"", CALL("1") "," CALL("2")) "," RESULT("2", "y") "," USER("b") "]",
	"[" CALLS("\"t\"", CALL("1") "," CALL("2")) "," MISSING("1") "," RESULT(
	    "2", "y") "," USER("b") "]"},
    {"[" CALLS("null", CALL("1")) "]", "[" CALLS("null", CALL("1")) "," MISSING("1") "]"},
    {"[" CALLS("null", CALL("1")) "," USER("b") "," RESULT("1", "late") "]",
	"[" CALLS("null", CALL("1")) "," MISSING("1") "," USER("b") "]"},
    {"[" USER("a") "," RESULT("9", "x") "," USER("b") "]", "[" USER("a\\n\\nb") "]"},
    {"[" CALLS("null", CALL("1")) "," RESULT("9", "x") "," RESULT("1", "y") "]",
	"[" CALLS("null", CALL("1")) "," RESULT("1", "y") "]"},
    {"[" RESULT("1", "x") "]", "[]"},
    /* Members that are ours alone. */
    {"[{\"role\":\"user\",\"content\":\"a\",\"time\":5,\"tool_calls\":[]},"
     "{\"role\":\"assistant\",\"content\":\"b\",\"finish\":\"stop\",\"reasoning_content\":"
     "\"r\",\"name\":\"x\"}]",
	"[" USER("a") "," ASSISTANT("b") "]"},
};

static struct conversation *
conversation_of(const char *text)
{
	struct conversation *conversation = conversation_new(1);
	struct json_object *list = parsed_json(text);
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++)
		conversation_append(conversation, json_object_array_get_idx(list, i));
	json_object_put(list);
	return conversation;
}

static char *
sorted(struct json_object *value)
{
	struct buffer text = BUFFER_EMPTY;

	json_append_sorted(&text, value);
	return buffer_take(&text);
}

static void
expect(struct json_object *list, const char *expected)
{
	struct json_object *wanted = parsed_json(expected);
	char *is = sorted(list), *should = sorted(wanted);

	assert_string_equal(is, should);
	free(is);
	free(should);
	json_object_put(wanted);
	json_object_put(list);
}

static void
test_repair(void **state)
{
	struct conversation *conversation;
	char *before, *after;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		conversation = conversation_of(rows[i].stored);
		before = sorted(conversation_messages(conversation));
		expect(request_messages(conversation, NULL, true, false), rows[i].sent);
		after = sorted(conversation_messages(conversation));
		assert_string_equal(before, after);
		free(before);
		free(after);
		conversation_free(conversation);
	}
}

static void
test_system_prompt(void **state)
{
	struct conversation *conversation = conversation_of("[" USER("a") "]");

	(void)state;
	expect(request_messages(conversation, "be \"good\"", true, false),
	    "[{\"role\":\"system\",\"content\":\"be \\\"good\\\"\"}," USER("a") "]");
	conversation_free(conversation);
}

static void
test_reasoning(void **state)
{
	struct conversation *conversation = conversation_of(
	    "[{\"role\":\"assistant\",\"content\":\"b\",\"reasoning_content\":\"r\","
	    "\"reasoning_details\":[1],\"reasoning\":\"x\",\"codex_reasoning_items\":[2],"
	    "\"codex_message_items\":[3]}]");

	(void)state;
	expect(request_messages(conversation, NULL, true, true),
	    "[{\"role\":\"assistant\",\"content\":\"b\",\"reasoning_content\":\"r\","
	    "\"reasoning_details\":[1]}]");
	expect(request_messages(conversation, NULL, true, false), "[" ASSISTANT("b") "]");
	expect(request_messages(conversation, NULL, true, REQUEST_REASONING_ITEMS),
	    "[{\"role\":\"assistant\",\"content\":\"b\",\"codex_reasoning_items\":[2],"
	    "\"codex_message_items\":[3]}]");
	conversation_free(conversation);
	assert_int_equal(request_reasoning_default("openai-api", "codex_responses"),
	    REQUEST_REASONING_ITEMS);
	assert_int_equal(request_reasoning_default("deepseek", "chat_completions"),
	    REQUEST_REASONING_CONTENT);
}

/* Thinking of the Messages API goes to that dialect only. */
static void
test_thinking_blocks(void **state)
{
	static const char mixed[] =
	    "[{\"role\":\"assistant\",\"content\":\"b\",\"reasoning_details\":["
	    "{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"},"
	    "{\"type\":\"redacted_thinking\",\"data\":\"d\"},"
	    "{\"type\":\"reasoning.text\",\"text\":\"r\"},{\"type\":\"anthropic_order\"}]}]";
	struct conversation *conversation = conversation_of(mixed);

	(void)state;
	expect(request_messages(conversation, NULL, true, REQUEST_REASONING_BLOCKS), mixed);
	expect(request_messages(conversation, NULL, true, REQUEST_REASONING_DETAILS),
	    "[{\"role\":\"assistant\",\"content\":\"b\",\"reasoning_details\":["
	    "{\"type\":\"reasoning.text\",\"text\":\"r\"}]}]");
	expect(request_messages(conversation, NULL, true, REQUEST_REASONING_NONE),
	    "[" ASSISTANT("b") "]");
	assert_int_equal(request_reasoning_default("openrouter", "chat_completions"),
	    REQUEST_REASONING_DETAILS);
	assert_int_equal(request_reasoning_default("custom", "anthropic_messages"),
	    REQUEST_REASONING_BLOCKS);
	conversation_free(conversation);
}

static void
test_images(void **state)
{
	static const char stored[] =
	    "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
	    "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
	    "png;base64,AAAA\"}}]}]";
	struct conversation *conversation = conversation_of(stored);

	(void)state;
	expect(request_messages(conversation, NULL, true, false), stored);
	expect(request_messages(conversation, NULL, false, false),
	    "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
	    "{\"type\":\"text\",\"text\":\"[An image stood here; the model does not take "
	    "images.]\"}]}]");
	expect(request_messages(conversation, NULL, true, false), stored);
	conversation_free(conversation);
}

/* Random conversations: the rules hold for every one. */
static void
test_random(void **state)
{
	struct json_object *list, *message, *calls, *next;
	struct conversation *conversation;
	struct buffer text = BUFFER_EMPTY;
	unsigned seed = 7, round, i, kinds;
	size_t at, count, j;
	const char *role, *before;

	(void)state;
	for (round = 0; round < 2000; round++) {
		buffer_clear(&text);
		buffer_append_byte(&text, '[');
		for (i = 0; i < 12; i++) {
			seed = seed * 1103515245u + 12345u;
			kinds = seed >> 16;
			if (i > 0)
				buffer_append_byte(&text, ',');
			switch (kinds % 5) {
			case 0:
				buffer_append_text(&text, USER("u"));
				break;
			case 1:
				buffer_append_text(
				    &text, kinds & 64 ? ASSISTANT("") : ASSISTANT("a"));
				break;
			case 2:
				buffer_append_text(
				    &text, kinds & 64 ? CALLS("null", CALL("1") "," CALL("2"))
						      : CALLS("\"\"", CALL("2")));
				break;
			case 3:
				buffer_append_text(&text, RESULT("1", "x"));
				break;
			default:
				buffer_append_text(&text, RESULT("2", "y"));
				break;
			}
		}
		buffer_append_byte(&text, ']');
		conversation = conversation_of(buffer_text(&text));
		list = request_messages(conversation, NULL, true, false);
		count = json_object_array_length(list);
		before = "";
		for (at = 0; at < count; at++) {
			message = json_object_array_get_idx(list, at);
			role = json_member_text(message, "role", "");
			if (strcmp(role, "user") == 0)
				assert_string_not_equal(before, "user");
			calls = json_member_array(message, "tool_calls");
			for (j = 0; calls != NULL && j < json_object_array_length(calls); j++) {
				next = json_object_array_get_idx(list, at + 1 + j);
				assert_string_equal(json_member_text(next, "role", ""), "tool");
				assert_string_equal(json_member_text(next, "tool_call_id", ""),
				    json_member_text(
					json_object_array_get_idx(calls, j), "id", "-"));
			}
			at += j;
			assert_string_not_equal(role, "tool");
			before = role;
		}
		json_object_put(list);
		conversation_free(conversation);
	}
	buffer_free(&text);
}

/* Every tool is offered with a schema that is an object, and the bytes are always the same. */
static void
test_tools(void **state)
{
	const struct tool_context context = {.session_id = "s"};
	struct json_object *one = request_tools(&context), *two = request_tools(&context),
			   *function;
	size_t i;

	(void)state;
	assert_string_equal(json_text(one, NULL), json_text(two, NULL));
	assert_true(json_object_array_length(one) > 0);
	for (i = 0; i < json_object_array_length(one); i++) {
		function = json_member_object(json_object_array_get_idx(one, i), "function");
		assert_non_null(tool_find(json_member_text(function, "name", "")));
		assert_true(strlen(json_member_text(function, "description", "")) > 10);
		assert_string_equal(
		    json_member_text(json_member_object(function, "parameters"), "type", ""),
		    "object");
	}
	json_object_put(one);
	json_object_put(two);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_repair),
	    cmocka_unit_test(test_system_prompt),
	    cmocka_unit_test(test_reasoning),
	    cmocka_unit_test(test_thinking_blocks),
	    cmocka_unit_test(test_images),
	    cmocka_unit_test(test_random),
	    cmocka_unit_test(test_tools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
