/*
 * Tool calls put together from pieces, however a server numbers and cuts them.
 */
#include <config.h>

#include "tests/unit/chat_fixture.h"

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
    /* The whole once more at the end: alone, with the id, with everything. */
    {{"{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\"}}",
	 "{\"index\":0,\"function\":{\"arguments\":\"\\\":1}\"}}",
	 "{\"index\":0,\"function\":{\"arguments\":\"{\\\"x\\\":1}\"}}",
	 "{\"index\":0,\"id\":\"a\",\"function\":{\"arguments\":\"{\\\"x\\\":1}\"}}",
	 "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":"
	 "\"{\\\"x\\\":1}\"}}",
	 "{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}}"},
	{{"a", "f", "{\"x\":1}"}}},
    /* … and what only looks like that: the same call twice without ids. */
    {{"{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}",
	 "{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"},
	{{"", "f", "{}"}, {"", "f", "{}"}}},
    /* The indices begin at one, and skip. */
    {{"{\"index\":1,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}",
	 "{\"index\":7,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{\"}}",
	 "{\"index\":1,\"function\":{\"arguments\":\"{}\"}}",
	 "{\"index\":7,\"function\":{\"arguments\":\"}\"}}"},
	{{"a", "f", "{}"}, {"b", "g", "{}"}}},
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
