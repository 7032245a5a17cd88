/*
 * What the tools that edit ask about, and where they must not go: keys, and files behind
 * links.
 */
#include <config.h>

#include "tests/unit/edit_fixture.h"

static void
test_permission(void **state)
{
	char grant[128];

	(void)state;
	put("a.txt", "one\n");
	session.context.mode = SESSION_MODE_PLAN;
	replace("a.txt", "one", "1");
	assert_int_equal(session.run->permission.verdict, TOOL_REFUSED);
	fails("plan mode");
	session.context.mode = SESSION_MODE_ACCEPT_EDITS;
	replace("a.txt", "one", "1");
	assert_int_equal(session.run->permission.verdict, TOOL_ALLOWED);
	write_file("/var/lib/elsewhere.txt", "x");
	assert_int_equal(session.run->permission.verdict, TOOL_ASK);
	assert_string_equal(session.run->permission.grant, "edit:/var/lib");
	session.context.mode = SESSION_MODE_DONT_ASK;
	write_file("/var/lib/elsewhere.txt", "x");
	assert_int_equal(session.run->permission.verdict, TOOL_ALLOWED);
	write_file(".env", "x");
	assert_int_equal(session.run->permission.verdict, TOOL_ASK);
	assert_null(session.run->permission.grant);
	assert_non_null(session.run->permission.reason);
	assert_int_equal(mkdir(at(".git"), 0700), 0);
	patch("*** Update File: a.txt\n-one\n+1\n*** Add File: .git/config\n+x\n");
	assert_int_equal(session.run->permission.verdict, TOOL_ASK);
	assert_int_equal(session.run->permission.path_count, 2);
	assert_null(session.run->permission.grant);
	session.context.mode = SESSION_MODE_DEFAULT;
	replace("a.txt", "one", "1");
	assert_int_equal(session.run->permission.verdict, TOOL_ASK);
	(void)snprintf(grant, sizeof grant, "edit:%s", session.cwd);
	assert_string_equal(session.run->permission.grant, grant);
	grants_add(session.context.grants, grant);
	replace("a.txt", "one", "1");
	assert_int_equal(session.run->permission.verdict, TOOL_ALLOWED);
	write_file(".env", "x");
	assert_int_equal(session.run->permission.verdict, TOOL_ASK);
	grants_refuse(session.context.grants, session.run->permission.question);
	write_file(".env", "x");
	assert_int_equal(session.run->permission.verdict, TOOL_REFUSED);
	patch("*** Update File: a.txt\n-one\n+1\n*** Add File: .env\n+x\n");
	assert_int_equal(session.run->permission.verdict, TOOL_REFUSED);
	write_file("/etc/passwd", "x");
	fails("may not be written");
}

static void
test_links(void **state)
{
	char target[128];

	(void)state;
	put("real.txt", "one\n");
	assert_int_equal(symlink("real.txt", at("link.txt")), 0);
	replace("link.txt", "one", "1");
	assert_string_equal(session.run->permission.paths[0], at("real.txt"));
	succeeds();
	holds("real.txt", "1\n");
	{
		struct stat status;

		assert_int_equal(lstat(at("link.txt"), &status), 0);
		assert_true(S_ISLNK(status.st_mode));
	}
	/* A harmless name that leads to keys. */
	session.context.mode = SESSION_MODE_DONT_ASK;
	(void)snprintf(target, sizeof target, "%s/.ssh", session.folder);
	assert_int_equal(mkdir(target, 0700), 0);
	(void)snprintf(target, sizeof target, "%s/.ssh/config", session.folder);
	assert_int_equal(symlink(target, at("notes.txt")), 0);
	write_file("notes.txt", "x");
	if (!session.finished)
		assert_int_not_equal(session.run->permission.verdict, TOOL_ALLOWED);
	/* A link put in after the question leads nowhere. */
	assert_int_equal(mkdir(at("sub"), 0700), 0);
	write_file("sub/f", "x");
	assert_int_equal(rmdir(at("sub")), 0);
	assert_int_equal(symlink(session.folder, at("sub")), 0);
	fails("link");
	(void)snprintf(target, sizeof target, "%s/f", session.folder);
	assert_int_equal(access(target, F_OK), -1);
	patch("*** Delete File: link.txt\n");
	fails("symbolic link");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    EDIT_CASE(test_permission),
	    EDIT_CASE(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
