/*
 * The life of a run, whatever a tool does in it: it ends once, and its card can be shown.
 */
#include <config.h>

#include "tests/unit/tool_fixture.h"

/* A tool that ends twice, and whose start must not be reached when prepare has ended it. */
static void
bad_prepare(struct tool_run *run)
{
	tool_card_title(run, "%s", "two\nlines\t and  blanks\n");
	if (json_has(run->arguments, "end"))
		tool_finish_error(run, "ended in prepare");
	if (json_has(run->arguments, "refuse")) {
		run->permission.verdict = TOOL_REFUSED;
		run->permission.reason = xstrdup("because");
	}
}

static void
bad_start(struct tool_run *run)
{
	tool_finish(run, json_object_new_object(), false);
	tool_finish(run, json_object_new_object(), true);
	tool_finish_error(run, "again");
}

static const struct tool bad_tool = {.name = "bad", .prepare = bad_prepare, .start = bad_start};

static void
run_bad(struct tool_fixture *fixture, const char *arguments)
{
	tool_fixture_start(fixture, &bad_tool, arguments);
	tool_run_start(fixture->run);
	tool_run_cancel(fixture->run);
	assert_true(fixture->finished);
}

static void
error_is(const struct tool_fixture *fixture, const char *expected)
{
	assert_true(fixture->failed);
	assert_string_equal(json_member_text(fixture->result, "error", "(none)"), expected);
}

static void
test_run_ends_once(void **state)
{
	struct tool_fixture *fixture = *state;

	run_bad(fixture, "{}");
	assert_false(fixture->failed);
	assert_string_equal(fixture->run->card.title, "two lines and blanks");
	run_bad(fixture, "{\"end\":1}");
	error_is(fixture, "ended in prepare");
	run_bad(fixture, "{\"refuse\":1}");
	error_is(fixture, "because");
}

static void
test_titles(void **state)
{
	struct tool_fixture *fixture = *state;
	char name[400];
	size_t length;

	memset(name, 'x', sizeof name);
	memcpy(name + 195, "\xc3\xa9\xc3\xa9\xc3\xa9", 6);
	name[sizeof name - 1] = '\0';
	run_bad(fixture, "{}");
	tool_card_title(fixture->run, "%s", name);
	length = strlen(fixture->run->card.title);
	assert_true(length <= 200);
	assert_string_equal(fixture->run->card.title + length - 3, "\xe2\x80\xa6");
	tool_card_title(fixture->run, "bad \xff byte");
	assert_string_equal(fixture->run->card.title, "bad \xef\xbf\xbd byte");
}

static void
test_names(void **state)
{
	enum session_mode mode;

	(void)state;
	assert_string_equal(tool_kind_name(TOOL_KIND_EXECUTE), "execute");
	assert_string_equal(session_mode_name(SESSION_MODE_DONT_ASK), "dont_ask");
	assert_true(session_mode_parse("plan", &mode));
	assert_int_equal(mode, SESSION_MODE_PLAN);
	assert_false(session_mode_parse("Plan", &mode));
	assert_false(session_mode_parse(NULL, &mode));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TOOL_CASE(test_run_ends_once),
	    TOOL_CASE(test_titles),
	    cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
