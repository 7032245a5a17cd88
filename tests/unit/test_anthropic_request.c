/*
 * The request of the Messages dialect: URL and headers for each kind of server, the
 * conversation as blocks in the order that the API demands, thinking that goes back unchanged
 * or not at all, and the same bytes for the same beginning.
 */
#include <config.h>

#include "worker/providers/anthropic_model.h"
#include "worker/providers/anthropic_request.h"
#include "worker/config/runtime.h"
#include "tests/unit/parsed_json.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT(text) "{\"text\":\"" text "\",\"type\":\"text\"}"
#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define CALL(id, name, arguments)                                                              \
	"{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name              \
	"\",\"arguments\":\"" arguments "\"}}"
#define RESULT(id, text)                                                                       \
	"{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"name\":\"n\",\"content\":\"" text    \
	"\"}"

struct world {
	struct runtime runtime;
	struct model_request request;
	struct dialect_request built;
	struct buffer error;
	struct json_object *body;
};

static int
setup(void **state)
{
	struct world *world = calloc(1, sizeof *world);

	world->runtime.provider = strdup("anthropic");
	world->runtime.base_url = strdup("https://api.anthropic.com");
	world->runtime.api_key = strdup("sk-ant-api03-x");
	world->runtime.model = strdup("claude-sonnet-4-5");
	world->runtime.reasoning_effort = strdup("");
	world->runtime.context_length = 200000;
	world->request.runtime = &world->runtime;
	*state = world;
	return 0;
}

static int
teardown(void **state)
{
	struct world *world = *state;

	dialect_request_clear(&world->built);
	json_object_put(world->body);
	json_object_put(world->request.messages);
	json_object_put(world->request.tools);
	runtime_clear(&world->runtime);
	buffer_free(&world->error);
	free(world);
	return 0;
}

static void
set(char **member, const char *value)
{
	free(*member);
	*member = strdup(value);
}

static int
build(struct world *world, const char *messages)
{
	dialect_request_clear(&world->built);
	json_object_put(world->body);
	world->body = NULL;
	json_object_put(world->request.messages);
	world->request.messages = parsed_json(messages);
	if (anthropic_request_build(&world->request, &world->built, &world->error) == -1)
		return -1;
	world->body = parsed_json(world->built.body);
	return 0;
}

/* The value at a path of members and array indices. */
static struct json_object *
at(struct json_object *value, const char *path)
{
	struct json_object *found = NULL;

	if (json_pointer_get(value, path, &found) != 0)
		return NULL;
	return found;
}

static void
expect(struct world *world, const char *path, const char *json)
{
	struct buffer text = BUFFER_EMPTY;

	json_append_sorted(&text, at(world->body, path));
	assert_string_equal(buffer_text(&text), json);
	buffer_free(&text);
}

static const char *
header(struct world *world, const char *name)
{
	size_t i, length = strlen(name);

	for (i = 0; world->built.headers[i] != NULL; i++)
		if (strncasecmp(world->built.headers[i], name, length) == 0 &&
		    world->built.headers[i][length] == ':')
			return world->built.headers[i] + length + 2;
	return NULL;
}

static void
test_addresses(void **state)
{
	static const char *const rows[][2] = {
	    {"https://api.anthropic.com", "https://api.anthropic.com/v1/messages"},
	    {"https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"},
	    {"https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"},
	    {"https://api.minimax.io/anthropic",
		"https://api.minimax.io/anthropic/v1/messages"},
	    {"https://x.example/anthropic/v1", "https://x.example/anthropic/v1/messages"},
	    {"https://x.example/v1/messages", "https://x.example/v1/messages"},
	    {"https://x.example/v1?a=b", "https://x.example/v1/messages?a=b"},
	    {"http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/messages"},
	};
	struct world *world = *state;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		set(&world->runtime.base_url, rows[i][0]);
		assert_int_equal(build(world, "[" USER("a") "]"), 0);
		assert_string_equal(world->built.url, rows[i][1]);
	}
}

static void
test_headers(void **state)
{
	struct world *world = *state;

	assert_int_equal(build(world, "[" USER("a") "]"), 0);
	assert_string_equal(header(world, "x-api-key"), "sk-ant-api03-x");
	assert_null(header(world, "Authorization"));
	assert_string_equal(header(world, "anthropic-version"), "2023-06-01");
	assert_string_equal(header(world, "anthropic-beta"),
	    "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14");
	set(&world->runtime.api_key, "sk-ant-oat01-t");
	assert_int_equal(build(world, "[" USER("a") "]"), 0);
	assert_null(header(world, "x-api-key"));
	assert_string_equal(header(world, "Authorization"), "Bearer sk-ant-oat01-t");
	assert_non_null(strstr(header(world, "anthropic-beta"), "oauth-2025-04-20"));
	set(&world->runtime.api_key, "mini");
	set(&world->runtime.base_url, "https://api.minimax.io/anthropic");
	assert_int_equal(build(world, "[" USER("a") "]"), 0);
	assert_string_equal(header(world, "Authorization"), "Bearer mini");
	assert_string_equal(header(world, "anthropic-beta"), "interleaved-thinking-2025-05-14");
	/* The user's own headers win. */
	world->runtime.headers =
	    parsed_json("{\"Anthropic-Beta\":\"mine\",\"anthropic-version\":\"2099-01-01\","
			"\"X-API-Key\":\"own\"}");
	set(&world->runtime.base_url, "https://x.example");
	assert_int_equal(build(world, "[" USER("a") "]"), 0);
	assert_string_equal(header(world, "anthropic-beta"), "mine");
	assert_string_equal(header(world, "anthropic-version"), "2099-01-01");
	assert_string_equal(header(world, "x-api-key"), "own");
	set(&world->runtime.api_key, "sk\n123");
	json_object_object_del(world->runtime.headers, "X-API-Key");
	assert_int_equal(build(world, "[" USER("a") "]"), -1);
	assert_non_null(strstr(buffer_text(&world->error), "line break"));
	assert_null(strstr(buffer_text(&world->error), "123"));
}

static void
test_body(void **state)
{
	struct world *world = *state;

	world->request.tools = parsed_json(
	    "[{\"type\":\"function\",\"function\":{\"name\":\"a\",\"description\":\"d\","
	    "\"parameters\":{\"type\":\"object\",\"properties\":{}}}},"
	    "{\"type\":\"function\",\"function\":{\"name\":\"b\"}}]");
	world->runtime.extra_body = parsed_json("{\"top_k\":1}");
	assert_int_equal(
	    build(world, "[{\"role\":\"system\",\"content\":\"be\"}," USER("é") "]"), 0);
	assert_string_equal(world->built.body,
	    "{\"max_tokens\":64000,\"messages\":[{\"content\":[{\"cache_control\":"
	    "{\"type\":\"ephemeral\"},\"text\":\"é\",\"type\":\"text\"}],\"role\":\"user\"}],"
	    "\"model\":\"claude-sonnet-4-5\",\"stream\":true,\"system\":[{\"cache_control\":"
	    "{\"type\":\"ephemeral\"},\"text\":\"be\",\"type\":\"text\"}],\"tools\":["
	    "{\"description\":\"d\",\"input_schema\":{\"properties\":{},\"type\":\"object\"},"
	    "\"name\":\"a\"},{\"cache_control\":{\"type\":\"ephemeral\"},\"description\":\"\","
	    "\"input_schema\":{\"type\":\"object\"},\"name\":\"b\"}],\"top_k\":1}");
}

/* Calls and results, merged messages, odd ids, blank texts. */
static void
test_conversation(void **state)
{
	struct world *world = *state;

	assert_int_equal(
	    build(world,
		"[" USER("go") ",{\"role\":\"assistant\",\"content\":\"t\",\"tool_calls\":"
			       "[" CALL("c1", "a", "{\\\"x\\\":1}") "," CALL(
				   "c.2", "b", "") "]}," RESULT("c1", "r1") "," RESULT("c.2",
				   "") "," USER("more") ","
							"{\"role\":\"assistant\",\"content\":"
							"\" \"},"
							"{\"role\":\"assistant\",\"content\":"
							"\"x\"}," USER("end") "]"),
	    0);
	expect(world, "/messages/0", "{\"content\":[" TEXT("go") "],\"role\":\"user\"}");
	expect(world, "/messages/1",
	    "{\"content\":[" TEXT("t") ",{\"id\":\"c1\",\"input\":{\"x\":1},\"name\":\"a\","
				       "\"type\":\"tool_use\"},{\"id\":\"c_2_bb290e72\","
				       "\"input\":{},\"name\":\"b\","
				       "\"type\":\"tool_use\"}],\"role\":\"assistant\"}");
	expect(world, "/messages/2/content/0",
	    "{\"content\":[" TEXT("r1") "],\"tool_use_id\":\"c1\",\"type\":\"tool_result\"}");
	expect(world, "/messages/2/content/1",
	    "{\"content\":[" TEXT("(empty)") "],\"tool_use_id\":\"c_2_bb290e72\","
					     "\"type\":\"tool_result\"}");
	expect(world, "/messages/2/content/2",
	    "{\"cache_control\":{\"type\":\"ephemeral\"},\"text\":\"more\",\"type\":"
	    "\"text\"}");
	expect(world, "/messages/3", "{\"content\":[" TEXT("x") "],\"role\":\"assistant\"}");
	assert_null(at(world->body, "/messages/5"));
	/* A user comes first and last. */
	assert_int_equal(build(world, "[{\"role\":\"assistant\",\"content\":\"x\"}]"), 0);
	expect(world, "/messages/0/content/0/text", "\"(empty)\"");
	assert_non_null(at(world->body, "/messages/2"));
}

static void
test_images(void **state)
{
	struct world *world = *state;

	assert_int_equal(
	    build(world, "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
			 "\"a\"},{\"type\":\"image_url\",\"image_url\":{\"url\":"
			 "\"data:image/jpg;base64,QUJD\"}},{\"type\":\"image_url\","
			 "\"image_url\":{\"url\":\"data:image/bmp;base64,QUJD\"}},"
			 "{\"type\":\"image_url\",\"image_url\":{\"url\":"
			 "\"https://x.example/p.png\"}}]}]"),
	    0);
	expect(world, "/messages/0/content/1",
	    "{\"source\":{\"data\":\"QUJD\",\"media_type\":\"image/jpeg\",\"type\":"
	    "\"base64\"},\"type\":\"image\"}");
	expect(world, "/messages/0/content/2",
	    TEXT("[An image stood here; the model does not take its format.]"));
	expect(world, "/messages/0/content/3/source",
	    "{\"type\":\"url\",\"url\":\"https://x.example/p.png\"}");
}

static void
expect_thinking(struct world *world, const char *model, const char *effort,
    const char *thinking, int64_t max_tokens)
{
	set(&world->runtime.model, model);
	set(&world->runtime.reasoning_effort, effort);
	assert_int_equal(build(world, "[" USER("a") "]"), 0);
	expect(world, "/thinking", thinking);
	assert_int_equal(
	    json_object_get_int64(json_member(world->body, "max_tokens")), max_tokens);
}

static void
test_thinking(void **state)
{
	static const char adaptive[] = "{\"display\":\"summarized\",\"type\":\"adaptive\"}";
	struct world *world = *state;

	world->runtime.context_length = 1000000;
	expect_thinking(world, "claude-sonnet-4-5", "", "null", 64000);
	expect_thinking(world, "claude-sonnet-4-5", "none", "null", 64000);
	expect_thinking(world, "claude-sonnet-4-5", "high",
	    "{\"budget_tokens\":16000,\"type\":\"enabled\"}", 64000);
	/* Never more than the model can answer with. */
	expect_thinking(world, "claude-opus-4-1", "max",
	    "{\"budget_tokens\":27904,\"type\":\"enabled\"}", 32000);
	expect_thinking(world, "claude-3-5-haiku", "high", "null", 8192);
	expect_thinking(world, "anthropic/claude-opus-4.6", "xhigh", adaptive, 128000);
	expect(world, "/output_config", "{\"effort\":\"max\"}");
	expect(world, "/model", "\"claude-opus-4-6\"");
	expect_thinking(world, "claude-opus-4-7", "xhigh", adaptive, 128000);
	expect(world, "/output_config", "{\"effort\":\"xhigh\"}");
	expect_thinking(world, "claude-later-9", "minimal", adaptive, 128000);
	expect(world, "/output_config", "{\"effort\":\"low\"}");
	expect_thinking(world, "claude-opus-4-7", "none", "{\"type\":\"disabled\"}", 128000);
	expect_thinking(world, "MiniMax-M2.5", "low",
	    "{\"budget_tokens\":4000,\"type\":\"enabled\"}", 131072);
	expect(world, "/model", "\"MiniMax-M2.5\"");
	/* A limit of the user's own leaves room for the answer. */
	world->runtime.max_tokens = 1000;
	expect_thinking(world, "claude-sonnet-4-5", "low",
	    "{\"budget_tokens\":4000,\"type\":\"enabled\"}", 8096);
	expect_thinking(world, "claude-sonnet-4-5", "", "null", 1000);
	world->runtime.max_tokens = 0;
	world->runtime.context_length = 8192;
	expect_thinking(world, "local", "", "null", 8191);
}

#define THOUGHT(text, signature)                                                               \
	"{\"type\":\"thinking\",\"thinking\":\"" text "\",\"signature\":\"" signature "\"}"
#define SENT_THOUGHT(text, signature)                                                          \
	"{\"signature\":\"" signature "\",\"thinking\":\"" text "\",\"type\":\"thinking\"}"

static void
expect_kept(struct world *world, const char *model, const char *details, const char *blocks)
{
	struct buffer text = BUFFER_EMPTY;

	set(&world->runtime.model, model);
	buffer_printf(&text,
	    "[" USER("go") ",{\"role\":\"assistant\",\"content\":\"one\\n\\ntwo\","
			   "\"reasoning_details\":%s,\"tool_calls\":[" CALL(
			       "c", "a", "{}") "]}," RESULT("c", "r") "]",
	    details);
	assert_int_equal(build(world, buffer_text(&text)), 0);
	expect(world, "/messages/1/content", blocks);
	buffer_free(&text);
}

static void
test_kept_thinking(void **state)
{
	static const char use[] = "{\"id\":\"c\",\"input\":{},\"name\":\"a\",\"type\":"
				  "\"tool_use\"}",
			  odd[] = "[" THOUGHT("a\\u0001é",
			      "S==") ",{\"type\":\"thinking\","
				     "\"thinking\":\"unsigned\"},{\"type\":\"reasoning.text\"},"
				     "{\"type\":\"redacted_thinking\",\"data\":\"R\",\"x\":1}]",
			  foreign[] = "[" THOUGHT("a", "S") ",{\"type\":\"anthropic_order\","
							    "\"model\":\"MiniMax-M2\"}]";
	char plain[256], text[1024];
	struct world *world = *state;

	snprintf(plain, sizeof plain, "[" TEXT("one\\n\\ntwo") ",%s]", use);
	snprintf(text, sizeof text,
	    "[" SENT_THOUGHT("a\\u0001é", "S==") ",{\"data\":\"R\",\"type\":"
						 "\"redacted_thinking\"}," TEXT(
						     "one\\n\\ntwo") ",%s]",
	    use);
	expect_kept(world, "claude-sonnet-4-5", odd, text);
	/* Whose thinking it is decides. */
	expect_kept(world, "MiniMax-M2", odd, plain);
	expect_kept(world, "claude-sonnet-4-5", foreign, plain);
	snprintf(
	    text, sizeof text, "[" SENT_THOUGHT("a", "S") "," TEXT("one\\n\\ntwo") ",%s]", use);
	expect_kept(world, "minimax-m2", foreign, text);
	/* In its order, when that is told and fits. */
	snprintf(text, sizeof text,
	    "[" SENT_THOUGHT("a", "S") "," TEXT("one") ",{\"data\":\"R\",\"type\":"
						       "\"redacted_thinking\"}," TEXT(
							   "two") ",%s]",
	    use);
#define ORDER(length)                                                                          \
	"[" THOUGHT("a",                                                                       \
	    "S") ",{\"type\":\"redacted_thinking\",\"data\":\"R\"},"                           \
		 "{\"type\":\"anthropic_order\",\"model\":\"claude-x\",\"length\":" length     \
		 ",\"order\":[{\"type\":\"thinking\"},{\"type\":\"text\",\"offset\":0,"        \
		 "\"length\":3},"                                                              \
		 "{\"type\":\"thinking\"},{\"type\":\"text\",\"offset\":5,\"length\":3},"      \
		 "{\"type\":\"tool_use\"}]}]"
	expect_kept(world, "claude-sonnet-4-5", ORDER("8"), text);
	snprintf(text, sizeof text,
	    "[" SENT_THOUGHT("a", "S") ",{\"data\":\"R\",\"type\":\"redacted_thinking\"}," TEXT(
		"one\\n\\ntwo") ",%s]",
	    use);
	expect_kept(world, "claude-sonnet-4-5", ORDER("9"), text);
	/* A budget is not asked for when the calls' own answer has no thinking. */
	set(&world->runtime.reasoning_effort, "low");
	expect_kept(world, "claude-sonnet-4-5", "[]", plain);
	assert_false(json_has(world->body, "thinking"));
	expect_kept(world, "claude-sonnet-4-5", ORDER("9"), text);
	assert_true(json_has(world->body, "thinking"));
}

static size_t
count(const char *text, const char *part)
{
	size_t found = 0;

	for (; (text = strstr(text, part)) != NULL; text++)
		found++;
	return found;
}

/* Each request begins like the one before it, apart from the marks, and has its last mark. */
static void
test_cache(void **state)
{
	static const char first[] = "[{\"role\":\"system\",\"content\":\"s\"}," USER("a"),
			  second[] = ",{\"role\":\"assistant\",\"content\":\"b\"}," USER("c");
	static const char mark[] = "\"cache_control\":{\"type\":\"ephemeral\"},";
	struct world *world = *state;
	struct json_object *before;
	char text[512];

	world->request.tools =
	    parsed_json("[{\"type\":\"function\",\"function\":{\"name\":\"a\"}}]");
	snprintf(text, sizeof text, "%s%s%s]", first, second, second);
	assert_int_equal(build(world, text), 0);
	assert_int_equal(count(world->built.body, mark), 4);
	before = json_object_get(world->body);
	snprintf(text, sizeof text, "%s%s%s%s]", first, second, second, second);
	assert_int_equal(build(world, text), 0);
	assert_int_equal(count(world->built.body, mark), 4);
	assert_true(json_object_equal(
	    json_member(before, "system"), json_member(world->body, "system")));
	assert_true(
	    json_object_equal(json_member(before, "tools"), json_member(world->body, "tools")));
	assert_true(
	    json_object_equal(at(before, "/messages/4"), at(world->body, "/messages/4")));
	assert_true(json_has(at(world->body, "/messages/6/content/0"), "cache_control"));
	json_object_put(before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	    TEST(test_addresses),
	    TEST(test_headers),
	    TEST(test_body),
	    TEST(test_conversation),
	    TEST(test_images),
	    TEST(test_thinking),
	    TEST(test_kept_thinking),
	    TEST(test_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
