/*
 * The tools write_file and patch on real files: bytes, permissions, staleness, and patches
 * over several files.
 */
#include <config.h>

#include "common/fd.h"
#include "common/json.h"
#include "worker/tools/file_stamps.h"
#include "worker/tools/grants.h"
#include "worker/tools/tool_rows.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char base[64];	/* everything is below it */
static char folder[96]; /* the session's folder */
static const char *roots[1] = {folder};
static struct tool_context context;

/* The last call. */
static struct tool_run *run;
static struct json_object *answer;
static bool answer_failed;

static int
set_up(void **state)
{
	(void)state;
	(void)umask(022);
	(void)snprintf(base, sizeof base, "/tmp/test-patch.XXXXXX");
	if (mkdtemp(base) == NULL)
		return -1;
	(void)snprintf(folder, sizeof folder, "%s/project", base);
	if (mkdir(folder, 0700) == -1)
		return -1;
	memset(&context, 0, sizeof context);
	context.session_id = "test";
	context.cwd = folder;
	context.roots = roots;
	context.root_count = 1;
	context.home = "/nonexistent/hermes";
	context.user_home = "/nonexistent";
	context.mode = SESSION_MODE_DEFAULT;
	context.stamps = file_stamps_new();
	context.grants = grants_new();
	return 0;
}

static void
remove_tree(const char *where)
{
	char inner[512];
	struct dirent *entry;
	DIR *directory = opendir(where);

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		(void)snprintf(inner, sizeof inner, "%s/%s", where, entry->d_name);
		if (unlink(inner) == -1)
			remove_tree(inner);
	}
	if (directory != NULL)
		closedir(directory);
	(void)rmdir(where);
}

static void
end_call(void)
{
	tool_run_free(run);
	json_object_put(answer);
	run = NULL;
	answer = NULL;
}

static int
tear_down(void **state)
{
	(void)state;
	end_call();
	file_stamps_free(context.stamps);
	grants_free(context.grants);
	remove_tree(base);
	return 0;
}

static const char *
at(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void
put_bytes(const char *name, const char *bytes, size_t length)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_int_not_equal(fd, -1);
	assert_int_equal(fd_write_all(fd, bytes, length), 0);
	close(fd);
}

static void
put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

static void
holds(const char *name, const char *expected)
{
	struct buffer text = BUFFER_EMPTY;
	int fd = open(at(name), O_RDONLY);

	if (fd == -1)
		fail_msg("%s is missing", name);
	assert_int_equal(fd_read_all(fd, &text, 1 << 20), 0);
	assert_string_equal(buffer_text(&text), expected);
	assert_int_equal(text.length, strlen(expected));
	buffer_free(&text);
	close(fd);
}

static bool
exists(const char *name)
{
	return access(at(name), F_OK) == 0;
}

/* What read_file notes. */
static void
seen(const char *name, bool whole)
{
	struct stat status;

	assert_int_equal(stat(at(name), &status), 0);
	file_stamps_record(context.stamps, at(name), &status, whole);
}

static void
finished(struct tool_run *ended, struct json_object *result, bool failed, void *arg)
{
	(void)ended;
	(void)arg;
	assert_null(answer);
	answer = json_object_get(result);
	answer_failed = failed;
}

/* Prepares a call; arguments as name, value pairs that end with NULL. */
static void
prepare(const struct tool *tool, ...)
{
	struct json_object *arguments = json_object_new_object();
	const char *name;
	va_list list;

	end_call();
	va_start(list, tool);
	while ((name = va_arg(list, const char *)) != NULL)
		json_set_text(arguments, name, va_arg(list, const char *));
	va_end(list);
	run = tool_run_new(tool, &context, "call", arguments, finished, NULL, NULL);
	json_object_put(arguments);
	tool_run_prepare(run);
}

static void
succeeds(void)
{
	if (answer == NULL)
		tool_run_start(run);
	assert_non_null(answer);
	if (answer_failed)
		fail_msg("%s", json_text(answer, NULL));
	assert_true(json_member_boolean(answer, "success", false));
}

static void
fails(const char *says)
{
	if (answer == NULL)
		tool_run_start(run);
	assert_non_null(answer);
	assert_true(answer_failed);
	if (strstr(json_member_text(answer, "error", ""), says) == NULL)
		fail_msg("%s", json_text(answer, NULL));
}

static void
replace(const char *name, const char *old, const char *new)
{
	prepare(&tool_patch, "path", name, "old_string", old, "new_string", new, NULL);
}

static void
patch(const char *text)
{
	prepare(&tool_patch, "mode", "patch", "patch", text, NULL);
}

static void
write_file(const char *name, const char *content)
{
	prepare(&tool_write_file, "path", name, "content", content, NULL);
}

static void
test_replace(void **state)
{
	(void)state;
	put("a.txt", "one\ntwo\nthree\n");
	assert_int_equal(chmod(at("a.txt"), 0755), 0);
	replace("a.txt", "two", "2");
	assert_int_equal(run->permission.verdict, TOOL_ASK);
	assert_string_equal(run->card.title, "Edit a.txt");
	assert_int_equal(run->card.locations[0].line, 2);
	assert_string_equal(run->card.contents.items[0].old_text, "one\ntwo\nthree\n");
	assert_string_equal(run->card.contents.items[0].new_text, "one\n2\nthree\n");
	assert_string_equal(run->permission.paths[0], at("a.txt"));
	assert_non_null(strstr(run->permission.grant_label, folder));
	holds("a.txt", "one\ntwo\nthree\n");
	succeeds();
	holds("a.txt", "one\n2\nthree\n");
	assert_string_equal(json_member_text(answer, "diff", ""),
	    "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
	assert_true(run->shown.items[0].is_diff);
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
	assert_true(json_member_boolean(answer, "no_change", false));
	holds("done.txt", "value = 42;\n");
}

static void
test_encodings(void **state)
{
	(void)state;
	put("bom.txt", "\xef\xbb\xbfhello\n\xe4\xb8\xad\xe6\x96\x87\n");
	replace("bom.txt", "hello\n", "bye\n");
	succeeds();
	holds("bom.txt", "\xef\xbb\xbf"
			 "bye\n\xe4\xb8\xad\xe6\x96\x87\n");
	seen("bom.txt", true);
	write_file("bom.txt", "all new\n");
	succeeds();
	holds("bom.txt", "\xef\xbb\xbf"
			 "all new\n");
	put_bytes("wide.txt", "\xff\xfeh\0i\0", 6);
	replace("wide.txt", "hi", "ho");
	fails("UTF-16");
	put("latin.txt", "caf\xe9\n");
	replace("latin.txt", "caf", "tea");
	fails("not UTF-8");
	holds("latin.txt", "caf\xe9\n");
	put("middle.txt", "a\xef\xbb\xbf"
			  "b\nc\n");
	replace("middle.txt", "c", "d");
	succeeds();
	holds("middle.txt", "a\xef\xbb\xbf"
			    "b\nd\n");
}

static void
test_line_ends(void **state)
{
	(void)state;
	put("crlf.txt", "a = 1\r\nb = 2\r\nc = 3\r\n");
	replace("crlf.txt", "a = 1\nb = 2", "a = 1\nb = 22");
	succeeds();
	holds("crlf.txt", "a = 1\r\nb = 22\r\nc = 3\r\n");
	patch("*** Begin Patch\n*** Update File: crlf.txt\n a = 1\n-b = 22\n+b = 2\n+x = 0\n"
	      "*** End Patch\n");
	succeeds();
	holds("crlf.txt", "a = 1\r\nb = 2\r\nx = 0\r\nc = 3\r\n");
	seen("crlf.txt", true);
	write_file("crlf.txt", "p\nq\n");
	succeeds();
	holds("crlf.txt", "p\r\nq\r\n");
	put("mixed.txt", "a\nb\r\nc\n");
	seen("mixed.txt", true);
	write_file("mixed.txt", "p\nq");
	succeeds();
	holds("mixed.txt", "p\nq");
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
test_stale(void **state)
{
	(void)state;
	put("x", "old\n");
	write_file("x", "new\n");
	fails("not read in this session");
	holds("x", "old\n");
	seen("x", true);
	put("x", "old\nmore\n");
	write_file("x", "new\n");
	fails("changed by something else");
	replace("x", "more", "MORE");
	succeeds();
	assert_non_null(json_member_string(answer, "_warning"));
	holds("x", "old\nMORE\n");
	/* What was appended has still not been read. */
	write_file("x", "new\n");
	fails("changed by something else");
	seen("x", true);
	write_file("x", "new\n");
	succeeds();
	write_file("x", "newer\n");
	succeeds();
	replace("x", "newer", "newest");
	succeeds();
	write_file("x", "last\n");
	succeeds();
	holds("x", "last\n");
	put("empty", "");
	write_file("empty", "x");
	succeeds();
}

static void
test_changed_while_asking(void **state)
{
	(void)state;
	put("x", "old\n");
	replace("x", "old", "new");
	put("x", "odd\n");
	fails("in the meantime");
	holds("x", "odd\n");
	write_file("fresh", "a");
	put("fresh", "b");
	fails("in the meantime");
	holds("fresh", "b");
}

static void
test_write(void **state)
{
	(void)state;
	write_file("d/e/f.txt", "");
	assert_string_equal(run->card.title, "Write d/e/f.txt");
	assert_null(run->card.contents.items[0].old_text);
	succeeds();
	holds("d/e/f.txt", "");
	assert_true(json_member_boolean(answer, "dirs_created", false));
	write_file("numbers.txt", "1|a\n2|b\n3|c\n");
	fails("line numbers");
	assert_false(exists("numbers.txt"));
	prepare(&tool_write_file, "path", "x", NULL);
	fails("\"content\" is missing");
	write_file("bad.json", "{\"a\": 1");
	succeeds();
	assert_string_equal(
	    json_member_text(json_member_object(answer, "lint"), "status", ""), "error");
	write_file("bad.json", "{\"a\": 1");
	succeeds();
	assert_true(json_member_boolean(answer, "no_change", false));
}

static void
test_permission(void **state)
{
	char grant[128];

	(void)state;
	put("a.txt", "one\n");
	context.mode = SESSION_MODE_PLAN;
	replace("a.txt", "one", "1");
	assert_int_equal(run->permission.verdict, TOOL_REFUSED);
	fails("plan mode");
	context.mode = SESSION_MODE_ACCEPT_EDITS;
	replace("a.txt", "one", "1");
	assert_int_equal(run->permission.verdict, TOOL_ALLOWED);
	write_file("/var/lib/elsewhere.txt", "x");
	assert_int_equal(run->permission.verdict, TOOL_ASK);
	assert_string_equal(run->permission.grant, "edit:/var/lib");
	context.mode = SESSION_MODE_DONT_ASK;
	write_file("/var/lib/elsewhere.txt", "x");
	assert_int_equal(run->permission.verdict, TOOL_ALLOWED);
	write_file(".env", "x");
	assert_int_equal(run->permission.verdict, TOOL_ASK);
	assert_null(run->permission.grant);
	assert_non_null(run->permission.reason);
	assert_int_equal(mkdir(at(".git"), 0700), 0);
	patch("*** Update File: a.txt\n-one\n+1\n*** Add File: .git/config\n+x\n");
	assert_int_equal(run->permission.verdict, TOOL_ASK);
	assert_int_equal(run->permission.path_count, 2);
	assert_null(run->permission.grant);
	context.mode = SESSION_MODE_DEFAULT;
	replace("a.txt", "one", "1");
	assert_int_equal(run->permission.verdict, TOOL_ASK);
	(void)snprintf(grant, sizeof grant, "edit:%s", folder);
	assert_string_equal(run->permission.grant, grant);
	grants_add(context.grants, grant);
	replace("a.txt", "one", "1");
	assert_int_equal(run->permission.verdict, TOOL_ALLOWED);
	write_file(".env", "x");
	assert_int_equal(run->permission.verdict, TOOL_ASK);
	grants_refuse(context.grants, run->permission.question);
	write_file(".env", "x");
	assert_int_equal(run->permission.verdict, TOOL_REFUSED);
	patch("*** Update File: a.txt\n-one\n+1\n*** Add File: .env\n+x\n");
	assert_int_equal(run->permission.verdict, TOOL_REFUSED);
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
	assert_string_equal(run->permission.paths[0], at("real.txt"));
	succeeds();
	holds("real.txt", "1\n");
	{
		struct stat status;

		assert_int_equal(lstat(at("link.txt"), &status), 0);
		assert_true(S_ISLNK(status.st_mode));
	}
	/* A harmless name that leads to keys. */
	context.mode = SESSION_MODE_DONT_ASK;
	(void)snprintf(target, sizeof target, "%s/.ssh", base);
	assert_int_equal(mkdir(target, 0700), 0);
	(void)snprintf(target, sizeof target, "%s/.ssh/config", base);
	assert_int_equal(symlink(target, at("notes.txt")), 0);
	write_file("notes.txt", "x");
	if (answer == NULL)
		assert_int_not_equal(run->permission.verdict, TOOL_ALLOWED);
	/* A link put in after the question leads nowhere. */
	assert_int_equal(mkdir(at("sub"), 0700), 0);
	write_file("sub/f", "x");
	assert_int_equal(rmdir(at("sub")), 0);
	assert_int_equal(symlink(base, at("sub")), 0);
	fails("link");
	(void)snprintf(target, sizeof target, "%s/f", base);
	assert_int_equal(access(target, F_OK), -1);
	patch("*** Delete File: link.txt\n");
	fails("symbolic link");
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
	assert_non_null(
	    strstr(json_member_text(answer, "error", ""), "c.txt, hunk 1 (\"-absent\")"));
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
	assert_int_equal(run->permission.path_count, 5);
	assert_int_equal(run->card.contents.count, 5);
	succeeds();
	holds("a.txt", "1\n2\n3\n");
	holds("d/new.txt", "n1\n\nn3\n");
	holds("d/c.sh", "c\n");
	assert_false(exists("b.txt"));
	assert_false(exists("c.sh"));
	assert_int_equal(stat(at("d/c.sh"), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0750);
	assert_int_equal(
	    json_object_array_length(json_member_array(answer, "files_created")), 2);
	assert_int_equal(
	    json_object_array_length(json_member_array(answer, "files_deleted")), 2);
	assert_int_equal(
	    json_object_array_length(json_member_array(answer, "files_modified")), 1);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_replace, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_replace_faults, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_encodings, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_line_ends, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_final_newline, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_stale, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_changed_while_asking, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_write, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_permission, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_patch_all_or_nothing, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_patch_operations, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_patch_places, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_patch_rollback, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
