/*
 * Answers put together from streams: what servers leave out, how they end, and errors that
 * come instead of an end.
 */
#include <config.h>

#include "tests/unit/chat_fixture.h"

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
	assert_int_equal(run.state, ANSWER_COMPLETE);
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
	assert_int_equal(run.state, ANSWER_NOTHING);
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
	assert_int_equal(run.state, ANSWER_NOTHING);
	finish(&run);

	begin(&run);
	assert_false(event(&run, "[DONE]"));
	end(&run, NULL);
	assert_int_equal(run.state, ANSWER_NOTHING);
	finish(&run);

	begin(&run);
	delta(&run, call);
	end(&run, NULL);
	assert_int_equal(run.state, ANSWER_PART);
	finish(&run);

	/* [DONE] alone does not tell that a call is whole. */
	begin(&run);
	delta(&run, call);
	event(&run, " [DONE] ");
	end(&run, NULL);
	assert_int_equal(run.state, ANSWER_COMPLETE);
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
		assert_int_equal(run.state, ANSWER_FAILED);
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
	assert_int_equal(run.state, ANSWER_COMPLETE);
	finish(&run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_optional_members),
	    cmocka_unit_test(test_whole_message),
	    cmocka_unit_test(test_finish_reasons),
	    cmocka_unit_test(test_cut_off),
	    cmocka_unit_test(test_errors_within),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
