/*
 * Answers put together from the events of a Responses server: cut anywhere, out of order,
 * repeated, incomplete, failed.
 */
#include <config.h>

#include "tests/unit/responses_fixture.h"

#include "common/json.h"

#define ADDED(index, item)                                                                     \
	"{\"type\":\"response.output_item.added\",\"output_index\":" #index ",\"item\":" item  \
	"}"
#define DONE(index, item)                                                                      \
	"{\"type\":\"response.output_item.done\",\"output_index\":" #index ",\"item\":" item "}"
#define TEXT(index, text)                                                                      \
	"{\"type\":\"response.output_text.delta\",\"output_index\":" #index                    \
	",\"item_id\":\"m" #index "\",\"content_index\":0,\"delta\":\"" text "\"}"
#define NUMBERED(number, text)                                                                 \
	"{\"type\":\"response.output_text.delta\",\"sequence_number\":" #number                \
	",\"item_id\":\"m0\",\"output_index\":0,\"content_index\":0,\"delta\":\"" text "\"}"
#define MESSAGE(index, text)                                                                   \
	"{\"type\":\"message\",\"id\":\"m" #index                                              \
	"\",\"role\":\"assistant\",\"status\":\"completed\","                                  \
	"\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\",\"annotations\":[]}]}"
#define CALL(index, arguments)                                                                 \
	"{\"type\":\"function_call\",\"id\":\"f" #index "\",\"call_id\":\"c" #index            \
	"\",\"name\":\"n" #index "\",\"arguments\":\"" arguments "\"}"
#define ARGUMENTS(index, text)                                                                 \
	"{\"type\":\"response.function_call_arguments.delta\",\"output_index\":" #index        \
	",\"item_id\":\"f" #index "\",\"delta\":\"" text "\"}"
#define COMPLETED(output)                                                                      \
	"{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\","             \
	"\"error\":null,\"output\":[" output "]}}"

/* A whole answer as OpenAI sends it. */
static const char stream[] =
    "event: response.created\n"
    "data: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\","
    "\"status\":\"in_progress\",\"error\":null,\"output\":[],\"usage\":null}}\n\n"
    "event: response.in_progress\n"
    "data: {\"type\":\"response.in_progress\",\"sequence_number\":1,\"response\":{\"id\":"
    "\"r\",\"status\":\"in_progress\"}}\n\n"
    "event: response.output_item.added\n"
    "data: {\"type\":\"response.output_item.added\",\"sequence_number\":2,\"output_index\":0,"
    "\"item\":{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[]}}\n\n"
    "data: {\"type\":\"response.reasoning_summary_part.added\",\"sequence_number\":3,"
    "\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"part\":{\"type\":"
    "\"summary_text\",\"text\":\"\"}}\n\n"
    "data: {\"type\":\"response.reasoning_summary_text.delta\",\"sequence_number\":4,"
    "\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"delta\":\"**Lo\"}\n\n"
    "data: {\"type\":\"response.reasoning_summary_text.delta\",\"sequence_number\":5,"
    "\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"delta\":\"ok**\"}\n\n"
    "data: {\"type\":\"response.reasoning_summary_text.done\",\"sequence_number\":6,"
    "\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"text\":\"**Look**\"}\n\n"
    "data: {\"type\":\"response.reasoning_summary_text.delta\",\"sequence_number\":7,"
    "\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":1,\"delta\":\"**Do**\"}\n\n"
    "data: {\"type\":\"response.output_item.done\",\"sequence_number\":8,\"output_index\":0,"
    "\"item\":{\"id\":\"rs_1\",\"type\":\"reasoning\",\"encrypted_content\":\"gAAA=\","
    "\"summary\":[{\"type\":\"summary_text\",\"text\":\"**Look**\"},{\"type\":"
    "\"summary_text\",\"text\":\"**Do**\"}]}}\n\n"
    "data: {\"type\":\"response.output_item.added\",\"sequence_number\":9,\"output_index\":1,"
    "\"item\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],"
    "\"phase\":\"commentary\"}}\n\n"
    "data: {\"type\":\"response.content_part.added\",\"sequence_number\":10,\"item_id\":"
    "\"m1\",\"output_index\":1,\"content_index\":0,\"part\":{\"type\":\"output_text\","
    "\"text\":\"\"}}\n\n"
    "data: {\"type\":\"response.output_text.delta\",\"sequence_number\":11,\"item_id\":\"m1\","
    "\"output_index\":1,\"content_index\":0,\"delta\":\"na\xc3\xafve \",\"logprobs\":[],"
    "\"obfuscation\":\"xyz\"}\n\n"
    "data: {\"type\":\"response.output_text.delta\",\"sequence_number\":12,\"item_id\":\"m1\","
    "\"output_index\":1,\"content_index\":0,\"delta\":\"\xf0\x9f\x8c\x8d\"}\n\n"
    "data: {\"type\":\"response.output_text.done\",\"sequence_number\":13,\"item_id\":\"m1\","
    "\"output_index\":1,\"content_index\":0,\"text\":\"na\xc3\xafve \xf0\x9f\x8c\x8d\"}\n\n"
    "data: {\"type\":\"response.content_part.done\",\"sequence_number\":14,\"item_id\":\"m1\","
    "\"output_index\":1,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":"
    "\"na\xc3\xafve \xf0\x9f\x8c\x8d\"}}\n\n"
    "data: {\"type\":\"response.output_item.done\",\"sequence_number\":15,\"output_index\":1,"
    "\"item\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"phase\":"
    "\"commentary\",\"content\":[{\"type\":\"output_text\",\"text\":"
    "\"na\xc3\xafve \xf0\x9f\x8c\x8d\"}]}}\n\n"
    "data: {\"type\":\"response.output_item.added\",\"sequence_number\":16,\"output_index\":2,"
    "\"item\":{\"id\":\"f2\",\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"n2\","
    "\"arguments\":\"\"}}\n\n"
    "data: {\"type\":\"response.function_call_arguments.delta\",\"sequence_number\":17,"
    "\"item_id\":\"f2\",\"output_index\":2,\"delta\":\"{\\\"a\\\"\"}\n\n"
    "data: {\"type\":\"response.function_call_arguments.delta\",\"sequence_number\":18,"
    "\"item_id\":\"f2\",\"output_index\":2,\"delta\":\":1}\"}\n\n"
    "data: {\"type\":\"response.function_call_arguments.done\",\"sequence_number\":19,"
    "\"item_id\":\"f2\",\"output_index\":2,\"arguments\":\"{\\\"a\\\":1}\"}\n\n"
    "data: {\"type\":\"response.output_item.done\",\"sequence_number\":20,\"output_index\":2,"
    "\"item\":{\"id\":\"f2\",\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"n2\","
    "\"arguments\":\"{\\\"a\\\":1}\"}}\n\n"
    "event: response.completed\n"
    "data: {\"type\":\"response.completed\",\"sequence_number\":21,\"response\":{\"id\":\"r\","
    "\"status\":\"completed\",\"error\":null,\"output\":[{\"id\":\"rs_1\",\"type\":"
    "\"reasoning\",\"encrypted_content\":\"gAAA=\",\"summary\":[{\"type\":\"summary_text\","
    "\"text\":\"**Look**\"},{\"type\":\"summary_text\",\"text\":\"**Do**\"}]},{\"id\":\"m1\","
    "\"type\":\"message\",\"role\":\"assistant\",\"phase\":\"commentary\",\"content\":[{"
    "\"type\":\"output_text\",\"text\":\"na\xc3\xafve \xf0\x9f\x8c\x8d\"}]},{\"id\":\"f2\","
    "\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"n2\",\"arguments\":"
    "\"{\\\"a\\\":1}\"}],\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{"
    "\"cached_tokens\":64},\"output_tokens\":30,\"output_tokens_details\":{"
    "\"reasoning_tokens\":12},\"total_tokens\":130}}}\n\n";

static void
check_stream(struct run *run)
{
	struct json_object *item;

	assert_int_equal(run->state, ANSWER_COMPLETE);
	assert_int_equal(run->answer.finish, FINISH_TOOL_CALLS);
	assert_string_equal(buffer_text(&run->thought), "**Look**\n\n**Do**");
	assert_string_equal(buffer_text(&run->text), "naïve 🌍");
	assert_int_equal(run->answer.call_count, 1);
	check_call(run, 0, "c2", "n2", "{\"a\":1}");
	assert_int_equal(run->answer.usage.input_tokens, 100);
	assert_int_equal(run->answer.usage.cache_read_tokens, 64);
	assert_int_equal(run->answer.usage.output_tokens, 30);
	assert_int_equal(run->answer.usage.reasoning_tokens, 12);
	assert_int_equal(run->answer.usage.total_tokens, 130);
	item = json_object_array_get_idx(
	    json_member_array(run->answer.extra, "codex_reasoning_items"), 0);
	assert_string_equal(json_member_text(item, "encrypted_content", ""), "gAAA=");
	assert_string_equal(
	    json_member_text(item, "_issuer_kind", ""), "other:https://test/v1");
	item = json_object_array_get_idx(
	    json_member_array(run->answer.extra, "codex_message_items"), 0);
	assert_string_equal(json_member_text(item, "phase", ""), "commentary");
	assert_string_equal(
	    json_member_text(run->answer.extra, "reasoning", ""), "**Look**\n\n**Do**");
}

/* In two pieces, cut at every byte; and one byte at a time. */
static void
test_cut_anywhere(void **state)
{
	struct run run;
	size_t at, i;

	(void)state;
	for (at = 0; at <= sizeof stream; at++) {
		begin(&run);
		if (at == sizeof stream) {
			for (i = 0; i < sizeof stream - 1; i++) {
				sse_feed(&run.sse, stream + i, 1);
				responses_assembler_flush(run.assembler);
			}
		} else {
			sse_feed(&run.sse, stream, at);
			responses_assembler_flush(run.assembler);
			sse_feed(&run.sse, stream + at, sizeof stream - 1 - at);
		}
		assert_true(run.sse.stopped);
		end(&run);
		check_stream(&run);
		finish(&run);
	}
}

/* Without its last event an answer is never whole, wherever it ends. */
static void
test_broken_off(void **state)
{
	size_t last = (size_t)(strstr(stream, "event: response.completed") - stream), at;
	struct run run;

	(void)state;
	for (at = 0; at < last; at++) {
		begin(&run);
		sse_feed(&run.sse, stream, at);
		run.state = responses_assembler_end(run.assembler, &run.answer);
		assert_true(run.state == ANSWER_PART || run.state == ANSWER_NOTHING);
		assert_int_equal(run.answer.finish, FINISH_ERROR);
		assert_true(strncmp("naïve 🌍", buffer_text(&run.text), run.text.length) == 0);
		finish(&run);
	}
}

/* What servers leave out or do twice; the answer is the same. */
static const struct {
	const char *events[12];
	const char *text, *thought;
	const char *arguments; /* of the calls, with a comma between */
} streams[] = {
    /* Pieces only; wholes only; the end only. */
    {{TEXT(0, "ab"), TEXT(0, "c"), COMPLETED("")}, "abc", "", ""},
    {{"{\"type\":\"response.output_text.done\",\"output_index\":0,\"text\":\"abc\"}",
	 COMPLETED("")},
	"abc", "", ""},
    {{DONE(0, MESSAGE(0, "abc")), COMPLETED("")}, "abc", "", ""},
    {{COMPLETED(MESSAGE(0, "abc"))}, "abc", "", ""},
    {{COMPLETED(MESSAGE(0, "abc") "," CALL(1, "{}") "," CALL(2, "[]"))}, "abc", "", "{},[]"},
    /* A piece is missing at the end, or the whole is there several times. */
    {{TEXT(0, "ab"), DONE(0, MESSAGE(0, "abc")), COMPLETED("")}, "abc", "", ""},
    {{TEXT(0, "ab"), COMPLETED(MESSAGE(0, "abc"))}, "abc", "", ""},
    {{TEXT(0, "ab"),
	 "{\"type\":\"response.output_text.done\",\"output_index\":0,"
	 "\"text\":\"abc\"}",
	 DONE(0, MESSAGE(0, "abc")), DONE(0, MESSAGE(0, "abc")), COMPLETED(MESSAGE(0, "abc"))},
	"abc", "", ""},
    /* Pieces after the whole. */
    {{DONE(0, MESSAGE(0, "abc")), TEXT(0, "ab"), TEXT(0, "c"), COMPLETED("")}, "abc", "", ""},
    /* The whole is another text: what was shown stands. */
    {{TEXT(0, "ab"), TEXT(0, "X"), DONE(0, MESSAGE(0, "abc")), COMPLETED("")}, "abX", "", ""},
    {{TEXT(0, "abcd"), DONE(0, MESSAGE(0, "abc")), COMPLETED("")}, "abcd", "", ""},
    /* Numbers tell of repeated, late and missing pieces. */
    {{NUMBERED(1, "a"), NUMBERED(2, "b"), NUMBERED(2, "b"), NUMBERED(3, "c"), COMPLETED("")},
	"abc", "", ""},
    {{NUMBERED(1, "a"), NUMBERED(2, "b"), NUMBERED(1, "a"), NUMBERED(2, "b"), NUMBERED(3, "c"),
	 COMPLETED("")},
	"abc", "", ""},
    {{NUMBERED(1, "a"), NUMBERED(2, "b"), NUMBERED(4, "d"), NUMBERED(3, "c"),
	 DONE(0, MESSAGE(0, "abcd")), COMPLETED("")},
	"abcd", "", ""},
    {{NUMBERED(1, "a"), NUMBERED(2, "b"), NUMBERED(4, "d"), NUMBERED(5, "e"),
	 COMPLETED(MESSAGE(0, "abcde"))},
	"abcde", "", ""},
    {{NUMBERED(1, "a"), NUMBERED(2, "b"), NUMBERED(4, "d"), COMPLETED("")}, "abd", "", ""},
    /* Numbers that mean nothing. */
    {{NUMBERED(0, "a"), NUMBERED(0, "b"), NUMBERED(0, "c"), COMPLETED("")}, "abc", "", ""},
    /* Each item is counted from the start. */
    {{NUMBERED(5, "a"), NUMBERED(6, "b"),
	 "{\"type\":\"response.output_item.added\",\"sequence_number\":0,\"output_index\":1,"
	 "\"item\":{\"type\":\"message\",\"id\":\"m1\"}}",
	 "{\"type\":\"response.output_text.delta\",\"sequence_number\":1,\"item_id\":\"m1\","
	 "\"output_index\":1,\"delta\":\"c\"}",
	 COMPLETED("")},
	"ab\n\nc", "", ""},
    /* Two messages; two texts in one. */
    {{TEXT(0, "one"), DONE(0, MESSAGE(0, "one")), TEXT(1, "two"), DONE(1, MESSAGE(1, "two")),
	 COMPLETED(MESSAGE(0, "one") "," MESSAGE(1, "two"))},
	"one\n\ntwo", "", ""},
    {{TEXT(0, "a"),
	 "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":1,"
	 "\"delta\":\"b\"}",
	 COMPLETED("")},
	"ab", "", ""},
    /* No places, no ids, other ids. */
    {{"{\"type\":\"response.output_text.delta\",\"delta\":\"a\"}",
	 "{\"type\":\"response.output_text.delta\",\"delta\":\"b\"}",
	 COMPLETED(MESSAGE(7, "abc"))},
	"abc", "", ""},
    {{TEXT(0, "a"),
	 "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"item_id\":\"other\","
	 "\"delta\":\"b\"}",
	 COMPLETED(MESSAGE(9, "abc"))},
	"abc", "", ""},
    /* Calls: pieces, wholes, both, empty wholes, an object. */
    {{ADDED(0, CALL(0, "")), ARGUMENTS(0, "{\\\"a\\\""), ARGUMENTS(0, ":1}"), COMPLETED("")},
	"", "", "{\"a\":1}"},
    {{ADDED(0, CALL(0, "")), ARGUMENTS(0, "{\\\"a"), DONE(0, CALL(0, "{\\\"a\\\":1}")),
	 ARGUMENTS(0, "lost"), COMPLETED(CALL(0, "{\\\"a\\\":1}"))},
	"", "", "{\"a\":1}"},
    {{ADDED(0, CALL(0, "")), ARGUMENTS(0, "{}"),
	 "{\"type\":\"response.function_call_arguments.done\",\"output_index\":0,"
	 "\"arguments\":\"\"}",
	 COMPLETED("")},
	"", "", "{}"},
    {{ADDED(0, CALL(0, "")),
	 "{\"type\":\"response.function_call_arguments.done\",\"output_index\":0,"
	 "\"arguments\":\"\"}",
	 DONE(0, CALL(0, "{}")), COMPLETED("")},
	"", "", "{}"},
    {{DONE(0, "{\"type\":\"function_call\",\"call_id\":\"c0\",\"name\":\"n0\","
	      "\"arguments\":{\"a\":1}}"),
	 COMPLETED("")},
	"", "", "{\"a\":1}"},
    /* Several at a time, mixed, in the order of their places. */
    {{ADDED(1, CALL(1, "")), ADDED(0, CALL(0, "")), ARGUMENTS(1, "[1"), ARGUMENTS(0, "[0"),
	 ARGUMENTS(1, "]"), ARGUMENTS(0, "]"), DONE(1, CALL(1, "[1]")), DONE(0, CALL(0, "[0]")),
	 COMPLETED(CALL(0, "[0]") "," CALL(1, "[1]"))},
	"", "", "[0],[1]"},
    /* Pieces before the call is announced; announced twice. */
    {{ARGUMENTS(0, "[0"), ADDED(0, CALL(0, "")), ADDED(0, CALL(0, "")), ARGUMENTS(0, "]"),
	 COMPLETED("")},
	"", "", "[0]"},
    /* All at one place, but with ids. */
    {{ADDED(0, CALL(0, "")), DONE(0, CALL(0, "[0]")), ADDED(0, CALL(1, "")),
	 DONE(0, CALL(1, "[1]")), COMPLETED("")},
	"", "", "[0],[1]"},
    /* Thoughts in full; in both forms. */
    {{"{\"type\":\"response.reasoning_text.delta\",\"output_index\":0,\"delta\":\"hm\"}",
	 TEXT(1, "a"), COMPLETED("")},
	"a", "hm", ""},
    {{"{\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":0,"
      "\"summary_index\":0,\"delta\":\"su\"}",
	 "{\"type\":\"response.reasoning_text.delta\",\"output_index\":0,\"delta\":\"full\"}",
	 DONE(0, "{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":"
		 "\"sum\"}],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"full\"}]}"),
	 COMPLETED("")},
	"", "sum", ""},
    {{DONE(0, "{\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":"
	      "\"reasoning_text\",\"text\":\"full\"}]}"),
	 TEXT(1, "a"), COMPLETED("")},
	"a", "full", ""},
    /* No more than [DONE] at the end; an end without a whole answer; the name of the stream. */
    {{TEXT(0, "abc"), DONE(0, MESSAGE(0, "abc")), "[DONE]"}, "abc", "", ""},
    {{TEXT(0, "abc"), "{\"type\":\"response.done\"}"}, "abc", "", ""},
    /* Events and items of other kinds, members of other types. */
    {{"{\"type\":\"response.web_search_call.completed\",\"output_index\":0,\"item_id\":\"w\"}",
	 ADDED(0, "{\"type\":\"web_search_call\",\"id\":\"w\"}"),
	 "{\"type\":\"response.output_text.annotation.added\",\"item_id\":\"m0\","
	 "\"annotation\":{}}",
	 "{\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":5}",
	 "{\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":null}",
	 "{\"type\":\"response.output_item.done\",\"item\":null}",
	 "{\"type\":\"response.created\",\"response\":{\"status\":\"completed\"}}", "ping",
	 "null", TEXT(1, "a"), COMPLETED("null,5,{\"type\":7}")},
	"a", "", ""},
};

static void
test_streams(void **state)
{
	struct buffer arguments = BUFFER_EMPTY;
	struct run run;
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof streams / sizeof streams[0]; i++) {
		begin(&run);
		for (k = 0; k < 12 && streams[i].events[k] != NULL; k++)
			event(&run, streams[i].events[k]);
		end(&run);
		buffer_clear(&arguments);
		for (k = 0; k < run.answer.call_count; k++)
			buffer_printf(&arguments, "%s%s", k > 0 ? "," : "",
			    run.answer.calls[k].arguments);
		if (run.state != ANSWER_COMPLETE ||
		    strcmp(buffer_text(&run.text), streams[i].text) != 0 ||
		    strcmp(buffer_text(&run.thought), streams[i].thought) != 0 ||
		    strcmp(buffer_text(&arguments), streams[i].arguments) != 0)
			fail_msg("stream %zu: state %d, text \"%s\", thought \"%s\", "
				 "arguments \"%s\"",
			    i, run.state, buffer_text(&run.text), buffer_text(&run.thought),
			    buffer_text(&arguments));
		finish(&run);
	}
	buffer_free(&arguments);
}

static void
test_ends(void **state)
{
	static const struct {
		const char *event;
		enum answer_state state;
		enum finish_reason finish;
		enum model_error error;
		const char *words;
	} cases[] = {
	    {"{\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\","
	     "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}",
		ANSWER_COMPLETE, FINISH_LENGTH, MODEL_ERROR_NONE, NULL},
	    {"{\"type\":\"response.completed\",\"response\":{\"status\":\"incomplete\"}}",
		ANSWER_COMPLETE, FINISH_LENGTH, MODEL_ERROR_NONE, NULL},
	    {"{\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{"
	     "\"reason\":\"content_filter\"}}}",
		ANSWER_COMPLETE, FINISH_REFUSAL, MODEL_ERROR_NONE, NULL},
	    {"{\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{"
	     "\"reason\":\"full moon\"}}}",
		ANSWER_COMPLETE, FINISH_LENGTH, MODEL_ERROR_NONE, "full moon"},
	    {"{\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{"
	     "\"code\":\"server_error\",\"message\":\"Oh no\"}}}",
		ANSWER_FAILED, FINISH_ERROR, MODEL_ERROR_SERVER, "Oh no"},
	    {"{\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":"
	     "\"rate_limit_exceeded\",\"message\":\"slow\"}}}",
		ANSWER_FAILED, FINISH_ERROR, MODEL_ERROR_RATE_LIMIT, "slow"},
	    {"{\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":"
	     "\"context_length_exceeded\",\"message\":\"long\"}}}",
		ANSWER_FAILED, FINISH_ERROR, MODEL_ERROR_TOO_LONG, "long"},
	    {"{\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":"
	     "\"invalid_prompt\",\"message\":\"no\"}}}",
		ANSWER_FAILED, FINISH_ERROR, MODEL_ERROR_REQUEST, "no"},
	    {"{\"type\":\"response.failed\",\"response\":{}}", ANSWER_FAILED, FINISH_ERROR,
		MODEL_ERROR_SERVER, "did not explain"},
	    {"{\"type\":\"response.cancelled\",\"response\":{}}", ANSWER_FAILED, FINISH_ERROR,
		MODEL_ERROR_INTERRUPTED, "cancelled"},
	    {"{\"type\":\"error\",\"code\":\"server_is_overloaded\",\"message\":\"Busy\","
	     "\"param\":null}",
		ANSWER_FAILED, FINISH_ERROR, MODEL_ERROR_OVERLOADED, "Busy"},
	    {"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"code\":"
	     "\"insufficient_quota\",\"message\":\"pay\"}}",
		ANSWER_FAILED, FINISH_ERROR, MODEL_ERROR_BILLING, "pay"},
	    {"{\"error\":{\"message\":\"plain\",\"code\":502}}", ANSWER_FAILED, FINISH_ERROR,
		MODEL_ERROR_SERVER, "plain"},
	    {"{\"type\":\"response.output_text.delta\",\"delta\":", ANSWER_FAILED, FINISH_ERROR,
		MODEL_ERROR_ANSWER, "not JSON"},
	    {"[DONE]", ANSWER_PART, FINISH_ERROR, MODEL_ERROR_NONE, NULL},
	};
	struct run run;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		begin(&run);
		assert_true(event(&run, TEXT(0, "Par")));
		assert_true(event(&run, ADDED(1, CALL(1, ""))));
		assert_true(event(&run, ARGUMENTS(1, "{}")));
		assert_false(event(&run, cases[i].event));
		assert_false(event(&run, TEXT(0, "more")));
		end(&run);
		assert_int_equal(run.state, cases[i].state);
		assert_int_equal(run.answer.finish, cases[i].finish);
		assert_int_equal(run.answer.error, cases[i].error);
		assert_string_equal(buffer_text(&run.text), "Par");
		if (cases[i].words == NULL)
			assert_null(run.answer.message);
		else
			assert_non_null(strstr(run.answer.message, cases[i].words));
		finish(&run);
	}
	/* An error that is named by the stream alone. */
	begin(&run);
	assert_false(responses_assembler_event(run.assembler, "error", "oops", 4));
	end(&run);
	assert_int_equal(run.answer.error, MODEL_ERROR_SERVER);
	assert_non_null(strstr(run.answer.message, "oops"));
	finish(&run);
}

/* A piece of the arguments is missing: what is left may parse, and must not run. */
static void
test_gap_in_a_call(void **state)
{
	static const char *const pieces[] = {"{\\\"command\\\":\\\"rm x", " y", "\\\"}"};
	static const int numbers[] = {1, 2, 4};
	struct buffer text = BUFFER_EMPTY;
	struct run run;
	size_t round, i;

	(void)state;
	for (round = 0; round < 2; round++) {
		begin(&run);
		for (i = 0; i < 3; i++) {
			buffer_clear(&text);
			buffer_printf(&text,
			    "{\"type\":\"response.function_call_arguments.delta\","
			    "\"sequence_number\":%d,\"output_index\":0,\"delta\":\"%s\"}",
			    numbers[i], pieces[i]);
			event(&run, buffer_text(&text));
		}
		if (round == 1)
			event(&run, DONE(0, CALL(0, "{}")));
		event(&run, COMPLETED(""));
		end(&run);
		assert_int_equal(
		    run.answer.finish, round == 0 ? FINISH_ERROR : FINISH_TOOL_CALLS);
		if (round == 0)
			assert_non_null(strstr(run.answer.message, "a piece is missing"));
		else
			check_call(&run, 0, "c0", "n0", "{}");
		finish(&run);
	}
	buffer_free(&text);
}

static void
test_refusal(void **state)
{
	struct run run;

	(void)state;
	begin(&run);
	event(&run, "{\"type\":\"response.refusal.delta\",\"output_index\":0,"
		    "\"content_index\":0,\"delta\":\"I can\"}");
	event(&run, "{\"type\":\"response.refusal.done\",\"output_index\":0,"
		    "\"content_index\":0,\"refusal\":\"I cannot\"}");
	event(&run, COMPLETED("{\"type\":\"message\",\"content\":[{\"type\":\"refusal\","
			      "\"refusal\":\"I cannot\"}]}"));
	end(&run);
	assert_int_equal(run.answer.finish, FINISH_REFUSAL);
	assert_string_equal(buffer_text(&run.text), "I cannot");
	finish(&run);
}

static void
test_half_characters(void **state)
{
	struct run run;

	(void)state;
	begin(&run);
	event(&run, TEXT(0, "a \xf0\x9f"));
	assert_string_equal(buffer_text(&run.text), "a ");
	event(&run, TEXT(0, "\x8c\x8d b\\ud83c"));
	event(&run, TEXT(0, "\\udf0d"));
	event(&run, DONE(0, MESSAGE(0, "a 🌍 b🌍!")));
	event(&run, ADDED(1, CALL(1, "")));
	event(&run, ARGUMENTS(1, "na\xc3"));
	event(&run, ARGUMENTS(1, "\xafve"));
	event(&run, TEXT(2, "\xff\\ud83c"));
	event(&run, COMPLETED(""));
	end(&run);
	assert_string_equal(buffer_text(&run.text), "a 🌍 b🌍!\n\n\xef\xbf\xbd\xef\xbf\xbd");
	check_call(&run, 0, "c1", "n1", "naïve");
	finish(&run);
}

static void
test_body(void **state)
{
	static const char body[] =
	    "{\"object\":\"response\",\"status\":\"completed\",\"error\":null,\"output\":["
	    "{\"type\":\"reasoning\",\"id\":\"rs_tmp_1\",\"encrypted_content\":\"x\","
	    "\"summary\":[{\"type\":\"summary_text\",\"text\":\"hm\"}]},"
	    "{\"type\":\"message\",\"content\":\"all\"},"
	    "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":"
	    "\"{}\"}],\"usage\":{\"total_tokens\":7}}";
	static const struct {
		const char *body;
		enum answer_state state;
	} others[] = {
	    {"{\"output\":[]}", ANSWER_COMPLETE},
	    {"{\"status\":\"in_progress\",\"output\":[]}", ANSWER_PART},
	    {"{\"status\":\"failed\",\"error\":{\"message\":\"x\"}}", ANSWER_FAILED},
	    {"{\"error\":{\"message\":\"x\"}}", ANSWER_FAILED},
	    {"{\"choices\":[{\"message\":{\"content\":\"x\"}}]}", ANSWER_NOTHING},
	    {"[]", ANSWER_NOTHING},
	    {"null", ANSWER_NOTHING},
	};
	struct run run;
	size_t i;

	(void)state;
	begin(&run);
	assert_null(responses_assembler_body(run.assembler, body, sizeof body - 1));
	end(&run);
	assert_int_equal(run.answer.finish, FINISH_TOOL_CALLS);
	assert_string_equal(buffer_text(&run.text), "all");
	assert_string_equal(buffer_text(&run.thought), "hm");
	check_call(&run, 0, "a", "f", "{}");
	assert_int_equal(run.answer.usage.total_tokens, 7);
	/* Such thoughts are of no use to the next request. */
	assert_null(json_member(run.answer.extra, "codex_reasoning_items"));
	finish(&run);
	for (i = 0; i < sizeof others / sizeof others[0]; i++) {
		begin(&run);
		assert_null(responses_assembler_body(
		    run.assembler, others[i].body, strlen(others[i].body)));
		end(&run);
		assert_int_equal(run.state, others[i].state);
		finish(&run);
	}
	begin(&run);
	assert_non_null(responses_assembler_body(run.assembler, "{\"output\"", 9));
	finish(&run);
}

/* An item that holds more than the limit, in pieces and as a whole. */
static void
test_limits(void **state)
{
	size_t length = 1u << 20, i;
	struct buffer piece = BUFFER_EMPTY;
	char *text = malloc(length + 1);
	struct run run;
	bool more = true;

	(void)state;
	memset(text, 'x', length);
	text[length] = '\0';
	buffer_printf(&piece,
	    "{\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,"
	    "\"delta\":\"%s\"}",
	    text);
	begin(&run);
	for (i = 0; more && i < 40; i++)
		more = event(&run, buffer_text(&piece));
	assert_int_equal(i, 17);
	end(&run);
	assert_int_equal(run.answer.error, MODEL_ERROR_ANSWER);
	assert_non_null(strstr(run.answer.message, "16 MiB"));
	finish(&run);

	/* Behind a gap nothing is collected without end. */
	begin(&run);
	event(&run, NUMBERED(1, "a"));
	event(&run, NUMBERED(2, "b"));
	event(&run, NUMBERED(4, "d"));
	buffer_clear(&piece);
	buffer_printf(&piece,
	    "{\"type\":\"response.output_text.delta\",\"sequence_number\":5,\"item_id\":"
	    "\"m0\",\"output_index\":0,\"content_index\":0,\"delta\":\"%s\"}",
	    text);
	event(&run, buffer_text(&piece));
	assert_int_equal(run.text.length, length + 3);
	event(&run, COMPLETED(""));
	end(&run);
	assert_int_equal(run.text.length, length + 3);
	finish(&run);
	buffer_free(&piece);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cut_anywhere),
	    cmocka_unit_test(test_broken_off),
	    cmocka_unit_test(test_streams),
	    cmocka_unit_test(test_ends),
	    cmocka_unit_test(test_gap_in_a_call),
	    cmocka_unit_test(test_refusal),
	    cmocka_unit_test(test_half_characters),
	    cmocka_unit_test(test_body),
	    cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
