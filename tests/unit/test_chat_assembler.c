/*
 * Answers put together from streams: everything that servers leave out, cut or repeat.
 */
#include <config.h>

#include "worker/providers/chat_assembler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct run {
	struct chat_assembler *assembler;
	struct buffer text, thought;
	struct model_answer answer;
	enum chat_state state;
};

static void
take_text(const char *bytes, size_t length, void *arg)
{
	assert_true(length > 0);
	buffer_append(&((struct run *)arg)->text, bytes, length);
}

static void
take_thought(const char *bytes, size_t length, void *arg)
{
	assert_true(length > 0);
	buffer_append(&((struct run *)arg)->thought, bytes, length);
}

static void
begin(struct run *run)
{
	struct chat_sink sink = {take_text, take_thought, run};

	memset(run, 0, sizeof *run);
	run->assembler = chat_assembler_new("Test", &sink);
}

static bool
event(struct run *run, const char *json)
{
	bool more = chat_assembler_event(run->assembler, "", json, strlen(json));

	chat_assembler_flush(run->assembler);
	return more;
}

/* One event with this delta. */
static void
delta(struct run *run, const char *json)
{
	struct buffer text = BUFFER_EMPTY;

	buffer_printf(&text,
	    "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":%s,"
	    "\"finish_reason\":null}]}",
	    json);
	event(run, buffer_text(&text));
	buffer_free(&text);
}

static void
end(struct run *run, const char *finish)
{
	struct buffer text = BUFFER_EMPTY;

	if (finish != NULL) {
		buffer_printf(
		    &text, "{\"choices\":[{\"delta\":{},\"finish_reason\":\"%s\"}]}", finish);
		event(run, buffer_text(&text));
		event(run, "[DONE]");
	}
	buffer_free(&text);
	run->state = chat_assembler_end(run->assembler, &run->answer);
	assert_int_equal(run->answer.finish == FINISH_ERROR, run->state != CHAT_COMPLETE);
}

static void
finish(struct run *run)
{
	model_answer_clear(&run->answer);
	chat_assembler_free(run->assembler);
	buffer_free(&run->text);
	buffer_free(&run->thought);
}

static void
check_call(
    const struct run *run, size_t at, const char *id, const char *name, const char *arguments)
{
	assert_true(at < run->answer.call_count);
	assert_string_equal(run->answer.calls[at].id, id);
	assert_string_equal(run->answer.calls[at].name, name);
	assert_string_equal(run->answer.calls[at].arguments, arguments);
}

static void
check_extra(const struct run *run, const char *key, const char *value)
{
	struct json_object *member = json_member(run->answer.extra, key);

	if (value == NULL) {
		assert_null(member);
		return;
	}
	assert_non_null(member);
	assert_string_equal(json_object_is_type(member, json_type_string)
				? json_object_get_string(member)
				: json_text(member, NULL),
	    value);
}

static void
test_optional_members(void **state)
{
	struct run run;

	(void)state;
	begin(&run);
	event(&run, "{\"choices\":[]}");
	event(&run, "{\"choices\":null}");
	event(&run, "{}");
	event(&run, "null");
	event(&run, "[]");
	event(&run, "{\"choices\":[null,{\"delta\":null},{}]}");
	event(&run, "{\"choices\":[{\"delta\":{\"content\":null,\"role\":\"assistant\"},"
		    "\"finish_reason\":\"\"}],\"usage\":null}");
	delta(&run, "{\"tool_calls\":null}");
	delta(&run, "{\"tool_calls\":[]}");
	delta(&run, "{\"content\":[{\"type\":\"text\",\"text\":\"x\"},null,\"y\"]}");
	delta(&run, "{\"content\":5}");
	event(&run, "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"other\"}}]}");
	event(&run, "");
	event(&run, "ping");
	event(&run, "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}");
	event(&run, "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,"
		    "\"prompt_tokens_details\":{\"cached_tokens\":4},"
		    "\"completion_tokens_details\":{\"reasoning_tokens\":null}}}");
	assert_false(event(&run, "[DONE]"));
	end(&run, NULL);
	assert_int_equal(run.state, CHAT_COMPLETE);
	assert_int_equal(run.answer.finish, FINISH_STOP);
	assert_string_equal(buffer_text(&run.text), "xy");
	assert_int_equal(run.answer.usage.input_tokens, 9);
	assert_int_equal(run.answer.usage.output_tokens, 2);
	assert_int_equal(run.answer.usage.cache_read_tokens, 4);
	assert_int_equal(run.answer.usage.reasoning_tokens, -1);
	assert_int_equal(run.answer.usage.total_tokens, -1);
	assert_null(run.answer.extra);
	finish(&run);
}

static void
test_whole_message(void **state)
{
	static const char body[] =
	    "{\"choices\":[{\"message\":{\"content\":\"all\",\"tool_calls\":[{\"id\":\"a\","
	    "\"function\":{\"name\":\"f\",\"arguments\":{\"b\":1}}}]},"
	    "\"finish_reason\":\"tool_calls\"}],\"usage\":{\"total_tokens\":7}}";
	struct run run;

	(void)state;
	begin(&run);
	assert_null(chat_assembler_body(run.assembler, body, sizeof body - 1));
	end(&run, NULL);
	assert_int_equal(run.answer.finish, FINISH_TOOL_CALLS);
	assert_string_equal(buffer_text(&run.text), "all");
	check_call(&run, 0, "a", "f", "{\"b\":1}");
	assert_int_equal(run.answer.usage.total_tokens, 7);
	finish(&run);

	begin(&run);
	assert_non_null(chat_assembler_body(run.assembler, "{\"choices\"", 10));
	end(&run, NULL);
	assert_int_equal(run.state, CHAT_NOTHING);
	finish(&run);

	/* Pieces, and then the whole again. */
	begin(&run);
	delta(&run, "{\"content\":\"al\"}");
	delta(&run, "{\"content\":\"l\"}");
	event(&run, "{\"choices\":[{\"message\":{\"content\":\"all\"},"
		    "\"finish_reason\":\"stop\"}]}");
	end(&run, NULL);
	assert_string_equal(buffer_text(&run.text), "all");
	finish(&run);
}

/* Pieces of tool calls and the calls that they mean. */
static const struct {
	const char *pieces[6];
	struct {
		const char *id, *name, *arguments;
	} calls[3];
} call_cases[] = {
    {{"{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}}",
	 "{\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"y\\\":2}\"}}"},
	{{"a", "f", "{\"x\":1}"}, {"b", "g", "{\"y\":2}"}}},
    {{"{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\"}}",
	 "{\"index\":0,\"function\":{\"arguments\":\"\\\":1\"}}",
	 "{\"index\":0,\"function\":{\"arguments\":\"}\"}}"},
	{{"", "f", "{\"x\":1}"}}},
    {{"{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}",
	 "{\"index\":0,\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}"},
	{{"", "f", "{}"}, {"", "g", "{}"}}},
    {{"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}",
	 "{\"index\":0,\"id\":\"\",\"function\":{\"name\":\"\",\"arguments\":\"\"}}",
	 "{\"index\":0,\"id\":null,\"function\":{\"name\":null,\"arguments\":\"}\"}}"},
	{{"a", "f", "{}"}}},
    {{"{\"index\":0,\"function\":{\"arguments\":\"{\\\"x\\\"\"}}",
	 "{\"index\":0,\"function\":{\"arguments\":\":1}\"}}",
	 "{\"index\":0,\"id\":\"z\",\"function\":{\"name\":\"late\"}}"},
	{{"z", "late", "{\"x\":1}"}}},
    {{"{\"function\":{\"arguments\":\"{}\"}}",
	 "{\"id\":\"z\",\"function\":{\"name\":\"late\"}}"},
	{{"z", "late", "{}"}}},
    {{"{\"function\":{\"name\":\"f\",\"arguments\":\"\"}},"
      "{\"function\":{\"name\":\"g\",\"arguments\":{\"k\":[1]}}}"},
	{{"", "f", ""}, {"", "g", "{\"k\":[1]}"}}},
    {{"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"wri\"}}",
	 "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"te\"}}",
	 "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"write\",\"arguments\":\"{\"}}",
	 "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"write\",\"arguments\":\"}\"}}"},
	{{"a", "write", "{}"}}},
    /* The index is used again for another call. */
    {{"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}",
	 "{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}",
	 "{\"index\":0,\"id\":\"b\",\"function\":{\"arguments\":\"}\"}}"},
	{{"a", "f", "{}"}, {"b", "f", "{}"}}},
    /* The index moves on within one call. */
    {{"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}",
	 "{\"index\":1,\"id\":\"a\",\"function\":{\"arguments\":\"}\"}}"},
	{{"a", "f", "{}"}}},
    /* Ids that are not unique. */
    {{"{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}",
	 "{\"index\":1,\"id\":\"c\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}"},
	{{"c", "f", "{}"}, {"c", "g", "{}"}}},
    /* Two calls in turns. */
    {{"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"[\"}}",
	 "{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{\"}}",
	 "{\"index\":0,\"function\":{\"arguments\":\"1\"}}",
	 "{\"index\":1,\"function\":{\"arguments\":\"}\"}}",
	 "{\"index\":0,\"function\":{\"arguments\":\"]\"}}"},
	{{"a", "f", "[1]"}, {"b", "g", "{}"}}},
};

static void
test_calls(void **state)
{
	struct buffer text = BUFFER_EMPTY;
	struct run run;
	size_t i, k, count;

	(void)state;
	for (i = 0; i < sizeof call_cases / sizeof call_cases[0]; i++) {
		begin(&run);
		for (k = 0; k < 6 && call_cases[i].pieces[k] != NULL; k++) {
			buffer_clear(&text);
			buffer_printf(&text, "{\"tool_calls\":[%s]}", call_cases[i].pieces[k]);
			delta(&run, buffer_text(&text));
		}
		end(&run, "stop");
		assert_int_equal(run.answer.finish, FINISH_TOOL_CALLS);
		for (count = 0; count < 3 && call_cases[i].calls[count].name != NULL; count++) {
			check_call(&run, count, call_cases[i].calls[count].id,
			    call_cases[i].calls[count].name,
			    call_cases[i].calls[count].arguments);
		}
		assert_int_equal(run.answer.call_count, count);
		finish(&run);
	}
	buffer_free(&text);
}

static void
test_half_characters(void **state)
{
	struct run run;

	(void)state;
	begin(&run);
	delta(&run, "{\"content\":\"a \xf0\x9f\"}");
	assert_string_equal(buffer_text(&run.text), "a ");
	delta(&run, "{\"content\":\"\x8c\x8d b\"}");
	delta(&run, "{\"content\":\"\\ud83c\"}");
	delta(&run, "{\"content\":\"\\udf0d \\ud83c\\udf0d\"}");
	delta(&run, "{\"content\":\"\xff\"}");
	delta(&run, "{\"content\":\"\\udf0d\"}");
	delta(&run, "{\"content\":\"\\u0000\xc3\"}");
	delta(&run, "{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
		    "\"arguments\":\"na\xc3\"}}]}");
	delta(&run, "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\xafve "
		    "\\ud83c\"}}]}");
	delta(
	    &run, "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\udf0d\"}}]}");
	end(&run, "tool_calls");
	assert_string_equal(
	    buffer_text(&run.text), "a 🌍 b🌍 🌍\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	check_call(&run, 0, "a", "f", "naïve 🌍");
	finish(&run);
}

/* The short cut for events that are alike must see the same text as the parser. */
static void
test_like_events(void **state)
{
	struct run run;

	(void)state;
	begin(&run);
	delta(&run, "{\"content\":\"one\"}");
	delta(&run, "{\"content\":\" two\"}");
	delta(&run, "{\"content\":\" \\\"three\\\"\\n\\\\\"}");
	delta(&run, "{\"content\":\"\"}");
	delta(&run, "{\"content\":\"x\",\"refusal\":\"\"}");
	delta(&run, "{\"content\":\"\\u00e9 é\"}");
	delta(&run, "{\"content\":\"\\u0041\"}");
	delta(&run, "{\"content\":\"\\\"\"}");
	delta(&run, "{\"content\":\"\\\\\"}");
	end(&run, "stop");
	assert_string_equal(buffer_text(&run.text), "one two \"three\"\n\\xé éA\"\\");
	finish(&run);

	/* What looks like the end of the string stands inside of it. */
	begin(&run);
	event(&run, "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}");
	event(&run, "{\"choices\":[{\"delta\":{\"content\":\"b\"}}]}");
	event(&run, "{\"choices\":[{\"delta\":{\"content\":\"c\\\"}}]}");
	end(&run, NULL);
	assert_int_equal(run.state, CHAT_FAILED);
	assert_int_equal(run.answer.error, MODEL_ERROR_ANSWER);
	assert_string_equal(buffer_text(&run.text), "ab");
	finish(&run);

	/* Raw control bytes are no JSON, be the frame known or not. */
	begin(&run);
	event(&run, "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}");
	event(&run, "{\"choices\":[{\"delta\":{\"content\":\"\x01\"}}]}");
	end(&run, NULL);
	assert_int_equal(run.answer.error, MODEL_ERROR_ANSWER);
	finish(&run);
}

static void
test_reasoning(void **state)
{
	struct run run;

	(void)state;
	begin(&run);
	delta(&run, "{\"reasoning_content\":\"\"}");
	delta(&run, "{\"reasoning_content\":\"th\",\"content\":null}");
	delta(&run, "{\"reasoning_content\":\"i\",\"content\":null}");
	delta(&run, "{\"reasoning_content\":\"nk\",\"content\":null}");
	delta(&run, "{\"content\":\"x\"}");
	end(&run, "stop");
	assert_string_equal(buffer_text(&run.thought), "think");
	assert_string_equal(buffer_text(&run.text), "x");
	check_extra(&run, "reasoning", "think");
	check_extra(&run, "reasoning_content", "think");
	finish(&run);

	begin(&run);
	delta(&run, "{\"reasoning_content\":\"\",\"content\":\"x\"}");
	end(&run, "stop");
	check_extra(&run, "reasoning_content", "");
	check_extra(&run, "reasoning", NULL);
	finish(&run);

	begin(&run);
	delta(&run, "{\"reasoning\":\"a\",\"reasoning_details\":[{\"type\":\"reasoning.text\","
		    "\"text\":\"a\",\"index\":0}]}");
	delta(&run, "{\"reasoning\":\"b\",\"reasoning_details\":[{\"type\":\"reasoning.text\","
		    "\"text\":\"b\",\"index\":0}]}");
	delta(&run, "{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"signature\":\"s\","
		    "\"index\":0},{\"type\":\"reasoning.encrypted\",\"data\":\"q\"}]}");
	delta(&run, "{\"reasoning_details\":[{\"type\":\"reasoning.encrypted\","
		    "\"data\":\"r\"}]}");
	end(&run, "stop");
	assert_string_equal(buffer_text(&run.thought), "ab");
	check_extra(&run, "reasoning_details",
	    "[{\"type\":\"reasoning.text\",\"text\":\"ab\",\"index\":0,\"signature\":\"s\"},"
	    "{\"type\":\"reasoning.encrypted\",\"data\":\"q\"},"
	    "{\"type\":\"reasoning.encrypted\",\"data\":\"r\"}]");
	finish(&run);

	/* Details alone are shown. */
	begin(&run);
	delta(&run, "{\"reasoning_details\":[{\"type\":\"reasoning.summary\","
		    "\"summary\":\"sum\"}]}");
	end(&run, "stop");
	assert_string_equal(buffer_text(&run.thought), "sum");
	check_extra(&run, "reasoning", "sum");
	finish(&run);
}

/* Content and what of it is text and thought. */
static const struct {
	const char *content, *text, *thought;
} tag_cases[] = {
    {"<think>in</think>out", "out", "in"},
    {"<THINKING>\nin\n</thinking>\n\nout", "out", "in\n"},
    {"a\n<reasoning>in</reasoning>\nb", "a\nb", "in"},
    {"  <thought>in</thought><think>more</think> x", "   x", "inmore"},
    {"<REASONING_SCRATCHPAD>in</REASONING_SCRATCHPAD>out", "out", "in"},
    {"<think>a < b</thin</think>x", "x", "a < b</thin"},
    {"a<b && <thin>", "a<b && <thin>", ""},
    {"x<think>y</think>", "x<think>y</think>", ""},
    {"say <think>in</think> there", "say  there", "in"},
    {"`<think>`", "`<think>`", ""},
    {"<think>never closed", "", "never closed"},
    {"the <think> tag", "the <think> tag", " tag"},
    {"ends with <thi", "ends with <thi", ""},
    {"</think>", "</think>", ""},
};

static void
test_think_tags(void **state)
{
	struct buffer json = BUFFER_EMPTY;
	struct run run;
	size_t i, piece, at, length, size;

	(void)state;
	for (i = 0; i < sizeof tag_cases / sizeof tag_cases[0]; i++) {
		length = strlen(tag_cases[i].content);
		for (piece = 1; piece <= length; piece++) {
			begin(&run);
			for (at = 0; at < length; at += size) {
				size = length - at < piece ? length - at : piece;
				buffer_clear(&json);
				buffer_append_text(&json, "{\"content\":");
				buffer_append_json(&json, tag_cases[i].content + at, size);
				buffer_append_text(&json, "}");
				delta(&run, buffer_text(&json));
			}
			end(&run, "stop");
			assert_string_equal(buffer_text(&run.text), tag_cases[i].text);
			assert_string_equal(buffer_text(&run.thought), tag_cases[i].thought);
			finish(&run);
		}
	}
	buffer_free(&json);
}

static void
test_finish_reasons(void **state)
{
	static const struct {
		const char *word;
		enum finish_reason finish;
	} cases[] = {
	    {"stop", FINISH_STOP},
	    {"tool_calls", FINISH_STOP}, /* there are none */
	    {"length", FINISH_LENGTH},
	    {"max_tokens", FINISH_LENGTH},
	    {"content_filter", FINISH_REFUSAL},
	    {"refusal", FINISH_REFUSAL},
	    {"error", FINISH_ERROR},
	    {"something_new", FINISH_STOP},
	};
	struct run run;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		begin(&run);
		delta(&run, "{\"content\":\"x\"}");
		assert_false(chat_assembler_finishing(run.assembler));
		end(&run, cases[i].word);
		assert_int_equal(run.answer.finish, cases[i].finish);
		finish(&run);
	}
	begin(&run);
	delta(&run, "{\"refusal\":\"no\"}");
	end(&run, "stop");
	assert_int_equal(run.answer.finish, FINISH_REFUSAL);
	assert_string_equal(buffer_text(&run.text), "no");
	finish(&run);
}

static void
test_cut_off(void **state)
{
	static const char call[] = "{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":"
				   "{\"name\":\"f\",\"arguments\":\"{}\"}}]}";
	struct run run;

	(void)state;
	begin(&run);
	end(&run, NULL);
	assert_int_equal(run.state, CHAT_NOTHING);
	finish(&run);

	begin(&run);
	assert_false(event(&run, "[DONE]"));
	end(&run, NULL);
	assert_int_equal(run.state, CHAT_NOTHING);
	finish(&run);

	begin(&run);
	delta(&run, call);
	end(&run, NULL);
	assert_int_equal(run.state, CHAT_PART);
	finish(&run);

	/* [DONE] alone does not tell that a call is whole. */
	begin(&run);
	delta(&run, call);
	event(&run, " [DONE] ");
	end(&run, NULL);
	assert_int_equal(run.state, CHAT_COMPLETE);
	assert_int_equal(run.answer.finish, FINISH_TOOL_CALLS);
	finish(&run);

	begin(&run);
	delta(&run, call);
	end(&run, "length");
	assert_int_equal(run.answer.finish, FINISH_LENGTH);
	finish(&run);
}

static void
test_errors_within(void **state)
{
	static const char overloaded[] = "{\"type\":\"error\",\"error\":{\"type\":"
					 "\"overloaded_error\",\"message\":\"Busy\"}}";
	static const struct {
		const char *name, *data;
		enum model_error error;
		const char *words;
	} cases[] = {
	    {"", "{\"error\":{\"message\":\"Worker limit\",\"code\":502}}", MODEL_ERROR_SERVER,
		"Worker limit"},
	    {"error", overloaded, MODEL_ERROR_OVERLOADED, "Busy"},
	    {"", overloaded, MODEL_ERROR_OVERLOADED, "Busy"},
	    {"",
		"{\"choices\":[],\"error\":{\"code\":\"rate_limit_exceeded\","
		"\"message\":\"slow\",\"retry_after\":2.5}}",
		MODEL_ERROR_RATE_LIMIT, "slow"},
	    {"", "{\"error\":\"just text\"}", MODEL_ERROR_SERVER, "just text"},
	    {"error", "", MODEL_ERROR_SERVER, "did not explain"},
	    {"error", "plain words", MODEL_ERROR_SERVER, "plain words"},
	    {"",
		"{\"choices\":[{\"delta\":{},\"error\":{\"code\":429,\"message\":\"m\"},"
		"\"finish_reason\":\"error\"}]}",
		MODEL_ERROR_RATE_LIMIT, "m"},
	    {"", "{\"error\":{\"code\":400,\"message\":\"prompt is too long\"}}",
		MODEL_ERROR_TOO_LONG, "prompt is too long"},
	    {"", "{\"choices\":[{\"delta\":", MODEL_ERROR_ANSWER, "not JSON"},
	};
	struct run run;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		begin(&run);
		delta(&run, "{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":"
			    "{\"name\":\"f\",\"arguments\":\"{}\"}}]}");
		assert_false(chat_assembler_event(
		    run.assembler, cases[i].name, cases[i].data, strlen(cases[i].data)));
		end(&run, "stop");
		assert_int_equal(run.state, CHAT_FAILED);
		assert_int_equal(run.answer.error, cases[i].error);
		assert_non_null(strstr(run.answer.message, cases[i].words));
		if (strstr(cases[i].data, "retry_after") != NULL)
			assert_int_equal(run.answer.retry_after_ms, 2500);
		finish(&run);
	}
	begin(&run);
	event(&run, "{\"error\":null,\"choices\":[{\"delta\":{\"content\":\"x\"},"
		    "\"finish_reason\":\"stop\"}]}");
	event(&run, "{\"error\":{},\"choices\":[]}");
	end(&run, NULL);
	assert_int_equal(run.state, CHAT_COMPLETE);
	finish(&run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_optional_members),
	    cmocka_unit_test(test_whole_message),
	    cmocka_unit_test(test_calls),
	    cmocka_unit_test(test_half_characters),
	    cmocka_unit_test(test_like_events),
	    cmocka_unit_test(test_reasoning),
	    cmocka_unit_test(test_think_tags),
	    cmocka_unit_test(test_finish_reasons),
	    cmocka_unit_test(test_cut_off),
	    cmocka_unit_test(test_errors_within),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
