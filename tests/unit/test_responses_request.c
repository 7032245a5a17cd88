/*
 * The request to a Responses server: what becomes of a conversation, what is asked of whom,
 * and that the same is always the same bytes.
 */
#include <config.h>

#include "worker/providers/responses.h"
#include "worker/providers/responses_input.h"
#include "worker/config/runtime.h"
#include "tests/unit/parsed_json.h"

#include <stdlib.h>

#define USER "{\"role\":\"user\",\"content\":\"a\"}"
#define USER_ITEM                                                                              \
	"{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\","       \
	"\"text\":\"a\"}]}"
#define ANSWER_ITEM(text)                                                                      \
	"{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\"," \
	"\"text\":\"" text "\"}]}"
#define CALLS                                                                                  \
	"\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","   \
	"\"arguments\":\"{}\"}},{\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":"  \
	"\"g\",\"arguments\":\"{\\\"x\\\":1}\"}}]"
#define CALL_ITEMS                                                                             \
	"{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"f\",\"arguments\":\"{}\"}," \
	"{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"g\",\"arguments\":"         \
	"\"{\\\"x\\\":1}\"}"
#define SEALED(issuer)                                                                         \
	"{\"type\":\"reasoning\",\"id\":\"rs_1\",\"encrypted_content\":\"E\",\"summary\":[{"   \
	"\"type\":\"summary_text\",\"text\":\"s\"}]" issuer "}"
#define SEALED_ITEM                                                                            \
	"{\"type\":\"reasoning\",\"encrypted_content\":\"E\",\"summary\":[{\"type\":"          \
	"\"summary_text\",\"text\":\"s\"}]}"
#define STAMP(issuer) ",\"_issuer_kind\":\"" issuer "\""
#define THOUGHT(issuer)                                                                        \
	"{\"role\":\"assistant\",\"content\":\"b\",\"codex_reasoning_items\":[" SEALED(        \
	    issuer) "]}"
#define LONG "0123456789012345678901234567890123456789012345678901234567890123456789"

static const struct {
	const char *messages, *input, *instructions;
} rows[] = {
    {"[]", "[]", ""},
    {"[{\"role\":\"system\",\"content\":\"be\"}," USER "]", "[" USER_ITEM "]", "be"},
    {"[{\"role\":\"system\",\"content\":\"be\"},{\"role\":\"system\",\"content\":[{\"type\":"
     "\"text\",\"text\":\"good\"}]}]",
	"[]", "be\n\ngood"},
    /* Pictures. */
    {"[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},{\"type\":"
     "\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AA\",\"detail\":\"low\"}},"
     "{\"type\":\"image_url\",\"image_url\":\"https://x/y.png\"},{\"type\":\"odd\"}]}]",
	"[{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
	"\"text\":\"see\"},{\"type\":\"input_image\",\"image_url\":"
	"\"data:image/png;base64,AA\",\"detail\":\"low\"},{\"type\":\"input_image\","
	"\"image_url\":\"https://x/y.png\"}]}]",
	""},
    /* Answers: text, calls, both, nothing. */
    {"[" USER ",{\"role\":\"assistant\",\"content\":\"b\"}]",
	"[" USER_ITEM "," ANSWER_ITEM("b") "]", ""},
    {"[{\"role\":\"assistant\",\"content\":null}]", "[]", ""},
    {"[{\"role\":\"assistant\",\"content\":\"\"}]", "[]", ""},
    {"[{\"role\":\"assistant\",\"content\":\"b\"," CALLS "},{\"role\":\"tool\","
     "\"tool_call_id\":\"c1\",\"name\":\"f\",\"content\":\"r1\"},{\"role\":\"tool\","
     "\"tool_call_id\":\"c2\",\"content\":\"\"}]",
	"[" ANSWER_ITEM("b") "," CALL_ITEMS
			     ",{\"type\":\"function_call_output\",\"call_id\":\"c1\","
			     "\"output\":\"r1\"},{\"type\":\"function_call_output\","
			     "\"call_id\":\"c2\",\"output\":\"\"}]",
	""},
    {"[{\"role\":\"assistant\",\"content\":null," CALLS "}]", "[" CALL_ITEMS "]", ""},
    /* A result in parts; with a picture. */
    {"[{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":[{\"type\":\"text\",\"text\":"
     "\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}]",
	"[{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"a\\nb\"}]", ""},
    {"[{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":[{\"type\":\"text\",\"text\":"
     "\"a\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"u\"}}]}]",
	"[{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":[{\"type\":"
	"\"input_text\",\"text\":\"a\"},{\"type\":\"input_image\",\"image_url\":\"u\"}]}]",
	""},
    /* Ids that are too long stay different, and the same for call and output. */
    {"[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"" LONG
     "\",\"function\":{\"name\":\"f\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"" LONG
     "\",\"content\":\"r\"}]",
	"[{\"type\":\"function_call\",\"call_id\":"
	"\"0123456789012345678901234567890123456789_be3cee88845bf57a\",\"name\":\"f\","
	"\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":"
	"\"0123456789012345678901234567890123456789_be3cee88845bf57a\",\"output\":\"r\"}]",
	""},
    /* Sealed thoughts: of this server, of nobody knows whom, of another one. */
    {"[" THOUGHT(STAMP("other:https://h/v1")) "]", "[" SEALED_ITEM "," ANSWER_ITEM("b") "]",
	""},
    {"[" THOUGHT("") "]", "[" SEALED_ITEM "," ANSWER_ITEM("b") "]", ""},
    {"[" THOUGHT(STAMP("xai_responses")) "]", "[" ANSWER_ITEM("b") "]", ""},
    /* Nothing follows them, or they are not sealed. */
    {"[{\"role\":\"assistant\",\"content\":null,\"codex_reasoning_items\":[" SEALED("") "]}]",
	"[]", ""},
    {"[{\"role\":\"assistant\",\"content\":\"b\",\"codex_reasoning_items\":[5,null,{},"
     "{\"encrypted_content\":\"\"}]}]",
	"[" ANSWER_ITEM("b") "]", ""},
    {"[{\"role\":\"assistant\",\"content\":\"b\",\"codex_reasoning_items\":\"text\"}]",
	"[" ANSWER_ITEM("b") "]", ""},
    /* Messages with a phase. */
    {"[{\"role\":\"assistant\",\"content\":\"b\\n\\nc\",\"codex_message_items\":[{\"type\":"
     "\"message\",\"id\":\"m\",\"phase\":\"commentary\",\"content\":[{\"type\":"
     "\"output_text\",\"text\":\"b\"}]},{\"type\":\"message\",\"content\":[{\"type\":"
     "\"output_text\",\"text\":\"c\"}]}]}]",
	"[{\"type\":\"message\",\"role\":\"assistant\",\"phase\":\"commentary\",\"content\":["
	"{\"type\":\"output_text\",\"text\":\"b\"}]}," ANSWER_ITEM("c") "]",
	""},
    {"[{\"role\":\"assistant\",\"content\":\"b\",\"codex_message_items\":[{}]}]",
	"[" ANSWER_ITEM("b") "]", ""},
};

static char *
sorted(struct json_object *value)
{
	struct buffer text = BUFFER_EMPTY;

	json_append_sorted(&text, value);
	return buffer_take(&text);
}

static void
test_input(void **state)
{
	static const struct responses_echo echo = {"other:https://h/v1", true};
	struct json_object *messages, *input, *wanted;
	struct buffer instructions = BUFFER_EMPTY;
	char *is, *should;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		buffer_clear(&instructions);
		messages = parsed_json(rows[i].messages);
		wanted = parsed_json(rows[i].input);
		input = responses_input(messages, &echo, &instructions);
		is = sorted(input);
		should = sorted(wanted);
		assert_string_equal(is, should);
		assert_string_equal(buffer_text(&instructions), rows[i].instructions);
		free(is);
		free(should);
		json_object_put(input);
		json_object_put(wanted);
		json_object_put(messages);
	}
	buffer_free(&instructions);
}

static void
test_issuer(void **state)
{
	char *issuer;

	(void)state;
	issuer = responses_issuer("https://api.x.ai/v1");
	assert_string_equal(issuer, "xai_responses");
	free(issuer);
	issuer = responses_issuer("https://api.openai.com/v1");
	assert_string_equal(issuer, "other:https://api.openai.com/v1");
	free(issuer);
}

/* The body for a model at a server, without what does not depend on them. */
static struct json_object *
body_for(const char *url, const char *model, const char *effort)
{
	struct runtime runtime = {.base_url = (char *)(uintptr_t)url,
	    .model = (char *)(uintptr_t)model,
	    .reasoning_effort = (char *)(uintptr_t)effort};
	struct model_request request = {.runtime = &runtime, .session_id = "s1"};
	struct buffer error = BUFFER_EMPTY;
	struct dialect_request built;
	struct json_object *body;

	request.messages = json_object_new_array();
	assert_int_equal(responses_request_build(&request, &built, &error), 0);
	body = parsed_json(built.body);
	dialect_request_clear(&built);
	json_object_put(request.messages);
	json_object_object_del(body, "input");
	json_object_object_del(body, "stream");
	json_object_object_del(body, "store");
	json_object_object_del(body, "model");
	json_object_object_del(body, "prompt_cache_key");
	json_object_object_del(body, "stream_options");
	return body;
}

#define INCLUDE "\"include\":[\"reasoning.encrypted_content\"]"

static void
test_reasoning(void **state)
{
	static const struct {
		const char *url, *model, *effort, *body;
	} cases[] = {
	    {"https://api.openai.com/v1", "gpt-4.1", NULL, "{}"},
	    {"https://api.openai.com/v1", "gpt-4.1", "high", "{}"},
	    {"https://api.openai.com/v1", "gpt-5-chat-latest", "high", "{}"},
	    {"https://api.openai.com/v1", "gpt-5.2", NULL,
		"{" INCLUDE ",\"reasoning\":{\"summary\":\"auto\"}}"},
	    {"https://api.openai.com/v1", "o3", "low",
		"{" INCLUDE ",\"reasoning\":{\"effort\":\"low\",\"summary\":\"auto\"}}"},
	    {"https://api.openai.com/v1", "gpt-5.2", "ultra",
		"{" INCLUDE ",\"reasoning\":{\"effort\":\"xhigh\",\"summary\":\"auto\"}}"},
	    {"https://api.x.ai/v1", "grok-4.3", "none", "{" INCLUDE "}"},
	    {"https://api.x.ai/v1", "grok-4.3", "max",
		"{" INCLUDE ",\"reasoning\":{\"effort\":\"high\"}}"},
	    {"https://router.example/v1", "openai/gpt-5-codex", "",
		"{" INCLUDE ",\"reasoning\":{\"summary\":\"auto\"}}"},
	    {"https://api.x.ai/v1", "grok-4", NULL, "{" INCLUDE "}"},
	    {"https://api.x.ai/v1", "grok-4.3", "low",
		"{" INCLUDE ",\"reasoning\":{\"effort\":\"low\"}}"},
	    {"http://127.0.0.1:8000/v1", "qwen", NULL, "{}"},
	    {"http://127.0.0.1:8000/v1", "qwen", "high",
		"{" INCLUDE ",\"reasoning\":{\"effort\":\"high\",\"summary\":\"auto\"}}"},
	};
	struct json_object *body, *wanted;
	char *is, *should;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		body = body_for(cases[i].url, cases[i].model, cases[i].effort);
		wanted = parsed_json(cases[i].body);
		is = sorted(body);
		should = sorted(wanted);
		assert_string_equal(is, should);
		free(is);
		free(should);
		json_object_put(body);
		json_object_put(wanted);
	}
}

static bool
has_line(const struct dialect_request *built, const char *line)
{
	size_t i;

	for (i = 0; built->headers[i] != NULL; i++)
		if (strcmp(built->headers[i], line) == 0)
			return true;
	return false;
}

static void
test_request(void **state)
{
	struct runtime runtime = {.base_url = (char *)(uintptr_t) "https://h/v1/?v=1",
	    .provider = (char *)(uintptr_t) "custom",
	    .model = (char *)(uintptr_t) "m",
	    .api_key = (char *)(uintptr_t) "key-1",
	    .max_tokens = 4096};
	struct model_request request = {.runtime = &runtime, .session_id = "sess-1"};
	struct dialect_request built, again;
	struct buffer error = BUFFER_EMPTY;

	(void)state;
	request.messages = parsed_json("[{\"role\":\"system\",\"content\":\"be\"}," USER "]");
	request.tools = parsed_json(
	    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"d\","
	    "\"parameters\":{\"type\":\"object\"}}}]");
	runtime.headers = parsed_json("{\"X-Own\":\"1\"}");
	runtime.extra_body = parsed_json("{\"service_tier\":\"flex\"}");
	assert_int_equal(responses_request_build(&request, &built, &error), 0);
	assert_string_equal(built.url, "https://h/v1/responses?v=1");
	assert_true(has_line(&built, "Authorization: Bearer key-1"));
	assert_true(has_line(&built, "X-Own: 1"));
	assert_string_equal(built.body,
	    "{\"input\":[{\"content\":[{\"text\":\"a\",\"type\":\"input_text\"}],\"role\":"
	    "\"user\",\"type\":\"message\"}],\"instructions\":\"be\",\"max_output_tokens\":"
	    "4096,"
	    "\"model\":\"m\",\"prompt_cache_key\":\"sess-1\",\"service_tier\":\"flex\","
	    "\"store\":false,\"stream\":true,\"tools\":[{\"description\":\"d\",\"name\":\"f\","
	    "\"parameters\":{\"type\":\"object\"},\"strict\":false,\"type\":\"function\"}]}");
	assert_int_equal(responses_request_build(&request, &again, &error), 0);
	assert_string_equal(built.body, again.body);
	dialect_request_clear(&built);
	dialect_request_clear(&again);
	runtime.model = NULL;
	assert_int_equal(responses_request_build(&request, &built, &error), -1);
	assert_non_null(strstr(buffer_text(&error), "no model is chosen"));
	dialect_request_clear(&built);
	buffer_free(&error);
	json_object_put(request.messages);
	json_object_put(request.tools);
	json_object_put(runtime.headers);
	json_object_put(runtime.extra_body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_input),
	    cmocka_unit_test(test_issuer),
	    cmocka_unit_test(test_reasoning),
	    cmocka_unit_test(test_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
