/*
 * How a search ends that finds too much, is cancelled or has no program to run.
 */
#include <config.h>

#include "tests/unit/search_fixture.h"

static void
check_long_line(struct tool_fixture *fixture)
{
	const char *content;
	struct json_object *match;

	search(fixture, "{\"pattern\":\"NEEDLE\"}");
	match = json_object_array_get_idx(json_member_array(fixture->result, "matches"), 0);
	content = json_member_text(match, "content", "");
	assert_non_null(strstr(content, "NEEDLE"));
	assert_int_equal(strncmp(content, "...", 3), 0);
	assert_true(strlen(content) <= 506);
}

static void
test_long_line(void **state)
{
	struct search_fixture *fixture = *state;
	const size_t size = 4000000;
	char *text = xcalloc(1, size);

	memset(text, 'x', size);
	memcpy(text + 3000000, "NEEDLE", 6);
	text[size - 1] = '\n';
	tool_fixture_put(&fixture->tool, "minified.js", text, size);
	free(text);
	with_both(fixture, check_long_line);
}

static void
check_many(struct tool_fixture *fixture)
{
	finds(fixture, "{\"pattern\":\"n\",\"limit\":3}", "1000");
	result_is(fixture, "total_count_is_lower_bound", "true");
	result_is(fixture, "matches",
	    "[{\"path\":\"many\",\"line\":1,\"content\":\"n\"},"
	    "{\"path\":\"many\",\"line\":2,\"content\":\"n\"},"
	    "{\"path\":\"many\",\"line\":3,\"content\":\"n\"}]");
	search(fixture, "{\"pattern\":\"n\",\"output_mode\":\"count\"}");
	result_is(fixture, "counts", "{\"many\":3000}");
}

static void
test_many(void **state)
{
	struct search_fixture *fixture = *state;
	char text[6000];
	size_t i;

	for (i = 0; i < sizeof text; i++)
		text[i] = i % 2 == 0 ? 'n' : '\n';
	tool_fixture_put(&fixture->tool, "many", text, sizeof text);
	with_both(fixture, check_many);
}

static void
check_cancel(struct tool_fixture *fixture)
{
	tool_fixture_start(fixture, &tool_search_files, "{\"pattern\":\"x\"}");
	tool_run_cancel(fixture->run);
	assert_true(fixture->finished);
	assert_true(fixture->failed);
}

static void
test_cancel(void **state)
{
	struct search_fixture *fixture = *state;

	PUT(&fixture->tool, "f", "x\n");
	with_both(fixture, check_cancel);
}

static void
test_no_programs(void **state)
{
	struct search_fixture *fixture = *state;

	if (fixture->guard == NULL)
		LEAVE_OUT("the guard is not built");
	PUT(&fixture->tool, "f", "x\n");
	setenv("PATH", "/nonexistent", 1);
	refuses(&fixture->tool, "{\"pattern\":\"x\"}", "cannot start find");
	settle(fixture);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    SEARCH_CASE(test_long_line),
	    SEARCH_CASE(test_many),
	    SEARCH_CASE(test_cancel),
	    SEARCH_CASE(test_no_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
