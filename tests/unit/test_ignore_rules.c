/*
 * Ignore files: which paths of a project they leave out.
 */
#include <config.h>

#include "tests/unit/tool_fixture.h"
#include "worker/tools/ignore_rules.h"

static bool
ignored(struct ignore_rules *rules, const struct tool_fixture *fixture, const char *name)
{
	char *path = tool_fixture_path(fixture, name);
	bool answer = ignore_rules_match(rules, path);

	free(path);
	return answer;
}

static void
test_ignore_files(void **state)
{
	struct tool_fixture *fixture = *state;
	struct ignore_rules *rules;

	PUT(fixture, ".git/HEAD", "");
	PUT(fixture, ".git/info/exclude", "excluded\n");
	PUT(fixture, ".gitignore",
	    "# comment\n*.log\n!keep.log\n/top\nbuild/\nsub/deep/x\n\ntrail  \n\\#odd\n");
	PUT(fixture, "sub/.gitignore", "!again.log\nlocal\r\n");
	PUT(fixture, ".ignore", "plain\n");
	rules = ignore_rules_new(fixture->cwd);
	assert_true(ignored(rules, fixture, "a.log"));
	assert_false(ignored(rules, fixture, "keep.log"));
	assert_true(ignored(rules, fixture, "top"));
	assert_false(ignored(rules, fixture, "build"));
	assert_true(ignored(rules, fixture, "build/deep/file"));
	assert_true(ignored(rules, fixture, "sub/b.log"));
	assert_false(ignored(rules, fixture, "sub/again.log"));
	assert_false(ignored(rules, fixture, "sub/top"));
	assert_true(ignored(rules, fixture, "sub/local"));
	assert_true(ignored(rules, fixture, "sub/deep/x"));
	assert_false(ignored(rules, fixture, "local"));
	assert_true(ignored(rules, fixture, "plain"));
	assert_true(ignored(rules, fixture, "excluded"));
	assert_true(ignored(rules, fixture, "trail"));
	assert_true(ignored(rules, fixture, "#odd"));
	assert_false(ignored(rules, fixture, "normal"));
	ignore_rules_free(rules);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TOOL_CASE(test_ignore_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
