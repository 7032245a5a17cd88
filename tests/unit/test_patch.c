/*
 * The tool patch: what it replaces and where, what it refuses, and patches over several files,
 * of which all are changed or none.
 */
#include <config.h>

#include "tests/unit/edit_fixture.h"

static void
test_replace(void **state)
{
	(void)state;
	put("a.txt", "one\ntwo\nthree\n");
	assert_int_equal(chmod(at("a.txt"), 0755), 0);
	replace("a.txt", "two", "2");
	assert_int_equal(session.run->permission.verdict, TOOL_ASK);
	assert_string_equal(session.run->card.title, "Edit a.txt");
	assert_int_equal(session.run->card.locations[0].line, 2);
	assert_string_equal(session.run->card.contents.items[0].old_text, "one\ntwo\nthree\n");
	assert_string_equal(session.run->card.contents.items[0].new_text, "one\n2\nthree\n");
	assert_string_equal(session.run->permission.paths[0], at("a.txt"));
	assert_non_null(strstr(session.run->permission.grant_label, session.cwd));
	holds("a.txt", "one\ntwo\nthree\n");
	succeeds();
	holds("a.txt", "one\n2\nthree\n");
	assert_string_equal(json_member_text(session.result, "diff", ""),
	    "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
	assert_true(session.run->shown.items[0].is_diff);
	{
		struct stat status;

		assert_int_equal(stat(at("a.txt"), &status), 0);
		assert_int_equal(status.st_mode & 07777, 0755);
	}
}

static void
test_replace_faults(void **state)
{
	(void)state;
	put("a.txt", "one\ntwo\none\n");
	replace("a.txt", "one", "1");
	fails("L3: one");
	replace("a.txt", " \n", "1");
	fails("blanks");
	replace("a.txt", "two", "two");
	fails("the same");
	replace("a.txt", "two", "1|a\n2|b");
	fails("line numbers");
	replace("absent.txt", "two", "2");
	fails("File not found");
	replace(".", "two", "2");
	fails("folder");
	prepare(&tool_patch, "path", "a.txt", "new_string", "x", NULL);
	fails("\"old_string\" is missing");
	prepare(&tool_patch, "mode", "sideways", NULL);
	fails("\"mode\"");
	put("done.txt", "value = 42;\n");
	replace("done.txt", "value = 41;", "value = 42;");
	succeeds();
	assert_true(json_member_boolean(session.result, "no_change", false));
	holds("done.txt", "value = 42;\n");
}

static void
test_final_newline(void **state)
{
	(void)state;
	put("open.txt", "line1\nline2\nline3");
	patch("*** Update File: open.txt\n@@\n-line1\n+LINE1\n line2\n");
	succeeds();
	holds("open.txt", "LINE1\nline2\nline3");
	patch("*** Update File: open.txt\n@@ line2 @@\n-line3\n+LINE3\n*** End of File\n");
	succeeds();
	holds("open.txt", "LINE1\nline2\nLINE3");
	write_file("new.txt", "no end");
	succeeds();
	holds("new.txt", "no end");
	put("empty.txt", "");
	patch("*** Update File: empty.txt\n+first\n");
	succeeds();
	holds("empty.txt", "first\n");
	put("line.txt", "\n");
	patch("*** Update File: line.txt\n+first\n");
	succeeds();
	holds("line.txt", "\nfirst\n");
}

static void
test_patch_all_or_nothing(void **state)
{
	(void)state;
	put("a.txt", "a1\na2\n");
	put("b.txt", "b\n");
	put("c.txt", "c\n");
	patch(
	    "*** Begin Patch\n*** Add File: new.txt\n+n\n*** Update File: a.txt\n-a1\n+A1\n"
	    "*** Delete File: b.txt\n*** Update File: c.txt\n@@\n-absent\n+x\n*** End Patch\n");
	fails("no files were modified");
	assert_non_null(strstr(
	    json_member_text(session.result, "error", ""), "c.txt, hunk 1 (\"-absent\")"));
	assert_false(exists("new.txt"));
	holds("a.txt", "a1\na2\n");
	holds("b.txt", "b\n");
	patch("*** Update File: a.txt\n@@\n-a1\n+A1\n@@\n-a9\n+A9\n");
	fails("a.txt, hunk 2 (\"-a9\")");
	holds("a.txt", "a1\na2\n");
	patch("*** Move File: a.txt -> b.txt\n");
	fails("does not overwrite");
	patch("*** Add File: a.txt\n+x\n");
	fails("exists already");
	patch("*** Delete File: nothing\n");
	fails("no such file");
	patch("*** Add File: ../x\n+x\n");
	fails("\"..\"");
	patch("*** Add File: x\n+x\n*** Move to: y\n");
	fails("*** Move File:");
	patch("just text\n");
	fails("before the first operation");
	patch("*** Begin Patch\n*** End Patch\n");
	fails("no operation");
	patch("*** Update File: a.txt\n a1\n");
	fails("changes nothing");
}

static void
test_patch_operations(void **state)
{
	struct stat status;

	(void)state;
	put("a.txt", "one\ntwo\nthree\n");
	put("b.txt", "b\n");
	put("c.sh", "c\n");
	assert_int_equal(chmod(at("c.sh"), 0750), 0);
	patch("*** Begin Patch\n*** Add File: d/new.txt\n+n1\n+\n+n3\n*** Update File: a.txt\n"
	      "-one\n+1\n@@\n-three\n+3\n*** Update File: a.txt\n-two\n+2\n*** Delete File: "
	      "b.txt\n"
	      "*** Move File: c.sh -> d/c.sh\n*** End Patch\n");
	assert_int_equal(session.run->permission.path_count, 5);
	assert_int_equal(session.run->card.contents.count, 5);
	succeeds();
	holds("a.txt", "1\n2\n3\n");
	holds("d/new.txt", "n1\n\nn3\n");
	holds("d/c.sh", "c\n");
	assert_false(exists("b.txt"));
	assert_false(exists("c.sh"));
	assert_int_equal(stat(at("d/c.sh"), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0750);
	assert_int_equal(
	    json_object_array_length(json_member_array(session.result, "files_created")), 2);
	assert_int_equal(
	    json_object_array_length(json_member_array(session.result, "files_deleted")), 2);
	assert_int_equal(
	    json_object_array_length(json_member_array(session.result, "files_modified")), 1);
}

static void
test_patch_places(void **state)
{
	(void)state;
	put("f.py", "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 1\n    return x\n");
	patch("*** Update File: f.py\n@@ def b(): @@\n-    x = 1\n+    x = 2\n");
	succeeds();
	holds(
	    "f.py", "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 2\n    return x\n");
	patch("*** Update File: f.py\n-    return x\n+    return y\n");
	fails("2 times");
	patch("*** Update File: f.py\n@@ def b():\n+    # new\n");
	succeeds();
	holds("f.py", "def a():\n    x = 1\n    return x\n\ndef b():\n    # new\n    x = 2\n   "
		      " return x\n");
	/* Whole lines: "x = 1" is not found in a longer line. */
	put("g.txt", "xx = 11\n");
	patch("*** Update File: g.txt\n-x = 1\n+y\n");
	fails("hunk 1");
	/* Deletion only, and the last line. */
	patch("*** Update File: g.txt\n-xx = 11\n");
	succeeds();
	holds("g.txt", "");
}

/* The second file cannot be written: the first one gets its content back. */
static void
test_patch_rollback(void **state)
{
	(void)state;
	put("a.txt", "a\n");
	put("b.txt", "b\n");
	patch("*** Update File: a.txt\n-a\n+A\n*** Add File: n/new.txt\n+n\n"
	      "*** Add File: n2/x\n+x\n");
	put("n2", "in the way"); /* a file where a folder should be made */
	fails("Every file is as it was before");
	holds("a.txt", "a\n");
	assert_false(exists("n"));
}

/* What the random edits had found. */
static void
test_blank_lines_and_line_ends(void **state)
{
	(void)state;
	/* An empty line in the patch is the line of blanks in the file, all of it. */
	put("a.txt", "x\n\t\t\n\tit\xe2\x80\x99s\n");
	replace("a.txt", "\t\t\n\tit's\n", "\t\tnew();\n\tit's\n");
	succeeds();
	holds("a.txt", "x\n\t\tnew();\n\tit\xe2\x80\x99s\n");
	/* A match never begins inside of a line end. */
	put("b.txt", "one\r\ntwo\r\n");
	replace("b.txt", "\ntwo", "\nnew\ntwo");
	succeeds();
	holds("b.txt", "one\r\nnew\r\ntwo\r\n");
	replace("b.txt", "\ntwo", "+two");
	succeeds();
	holds("b.txt", "one\r\nnew+two\r\n");
	/* Overlapping places are several. */
	put("c.txt", "same\n\nsame\n\nsame\n");
	patch("*** Begin Patch\n*** Update File: c.txt\n@@\n-same\n \n same\n*** End Patch\n");
	fails("times");
	holds("c.txt", "same\n\nsame\n\nsame\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    EDIT_CASE(test_replace),
	    EDIT_CASE(test_replace_faults),
	    EDIT_CASE(test_final_newline),
	    EDIT_CASE(test_patch_all_or_nothing),
	    EDIT_CASE(test_patch_operations),
	    EDIT_CASE(test_patch_places),
	    EDIT_CASE(test_patch_rollback),
	    EDIT_CASE(test_blank_lines_and_line_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
