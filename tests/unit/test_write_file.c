/*
 * The tool write_file, and what it shares with patch: encodings and line ends are kept, and a
 * file that has changed is not overwritten.
 */
#include <config.h>

#include "tests/unit/edit_fixture.h"

static void
test_write(void **state)
{
	(void)state;
	write_file("d/e/f.txt", "");
	assert_string_equal(session.run->card.title, "Write d/e/f.txt");
	assert_null(session.run->card.contents.items[0].old_text);
	succeeds();
	holds("d/e/f.txt", "");
	assert_true(json_member_boolean(session.result, "dirs_created", false));
	write_file("numbers.txt", "1|a\n2|b\n3|c\n");
	fails("line numbers");
	assert_false(exists("numbers.txt"));
	prepare(&tool_write_file, "path", "x", NULL);
	fails("\"content\" is missing");
	write_file("bad.json", "{\"a\": 1");
	succeeds();
	assert_string_equal(
	    json_member_text(json_member_object(session.result, "lint"), "status", ""),
	    "error");
	write_file("bad.json", "{\"a\": 1");
	succeeds();
	assert_true(json_member_boolean(session.result, "no_change", false));
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
	seen("bom.txt");
	write_file("bom.txt", "all new\n");
	succeeds();
	holds("bom.txt", "\xef\xbb\xbf"
			 "all new\n");
	scratch_put(at("wide.txt"), "\xff\xfeh\0i\0", 6);
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
	seen("crlf.txt");
	write_file("crlf.txt", "p\nq\n");
	succeeds();
	holds("crlf.txt", "p\r\nq\r\n");
	put("mixed.txt", "a\nb\r\nc\n");
	seen("mixed.txt");
	write_file("mixed.txt", "p\nq");
	succeeds();
	holds("mixed.txt", "p\nq");
}

static void
test_stale(void **state)
{
	(void)state;
	put("x", "old\n");
	write_file("x", "new\n");
	fails("not read in this session");
	holds("x", "old\n");
	seen("x");
	put("x", "old\nmore\n");
	write_file("x", "new\n");
	fails("changed by something else");
	replace("x", "more", "MORE");
	succeeds();
	assert_non_null(json_member_string(session.result, "_warning"));
	holds("x", "old\nMORE\n");
	/* What was appended has still not been read. */
	write_file("x", "new\n");
	fails("changed by something else");
	seen("x");
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    EDIT_CASE(test_write),
	    EDIT_CASE(test_encodings),
	    EDIT_CASE(test_line_ends),
	    EDIT_CASE(test_stale),
	    EDIT_CASE(test_changed_while_asking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
