/*
 * Text and thoughts from streams: characters that are cut, events that are alike, and the
 * members and tags in which thoughts come.
 */
#include <config.h>

#include "tests/unit/chat_fixture.h"

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
	assert_int_equal(run.state, ANSWER_FAILED);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_half_characters),
	    cmocka_unit_test(test_like_events),
	    cmocka_unit_test(test_reasoning),
	    cmocka_unit_test(test_think_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
