/*
 * Finding and replacing passages: what changes, byte by byte, and what is refused.
 */
#include <config.h>

#include "worker/tools/edit_hints.h"
#include "worker/tools/edit_match.h"
#include "worker/tools/unified_diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct edit_result
apply(const char *text, const char *old, const char *new, bool all)
{
	struct edit_text whole = {text, strlen(text)};
	struct edit_request request = {
	    {old, strlen(old)}, {new, strlen(new)}, all, false, false, 0};
	struct edit_result result;

	edit_match_apply(&whole, &request, &result);
	return result;
}

/* The edit must give `expected`. */
static void
gives(const char *text, const char *old, const char *new, const char *expected)
{
	struct edit_result result = apply(text, old, new, false);

	if (result.outcome != EDIT_DONE)
		print_error("refused: %s\n", buffer_text(&result.error));
	assert_int_equal(result.outcome, EDIT_DONE);
	assert_string_equal(buffer_text(&result.text), expected);
	assert_int_equal(result.text.length, strlen(expected));
	edit_result_clear(&result);
}

/* The edit must fail so, and its error contain `says`. */
static void
fails(const char *text, const char *old, const char *new, enum edit_outcome outcome,
    const char *says)
{
	struct edit_result result = apply(text, old, new, false);

	assert_int_equal(result.outcome, outcome);
	if (strstr(buffer_text(&result.error), says) == NULL)
		fail_msg("error is: %s", buffer_text(&result.error));
	edit_result_clear(&result);
}

static void
gives_all(
    const char *text, const char *old, const char *new, const char *expected, size_t count)
{
	struct edit_result result = apply(text, old, new, true);

	assert_int_equal(result.outcome, EDIT_DONE);
	assert_int_equal(result.count, count);
	assert_string_equal(buffer_text(&result.text), expected);
	edit_result_clear(&result);
}

static void
test_line_ends(void **state)
{
	(void)state;
	gives("a = 1\r\nb = 2\r\nc = 3\r\n", "a = 1\nb = 2", "a = 1\nb = 22",
	    "a = 1\r\nb = 22\r\nc = 3\r\n");
	gives("a = 1\r\nb = 2\r\nc = 3\r\n", "b = 2", "b = 2\nx = 9",
	    "a = 1\r\nb = 2\r\nx = 9\r\nc = 3\r\n");
	gives("a = 1\r\nb = 2\r\nc = 3\r\n", "a = 1\nb = 2\n", "a = 1\nq\nb = 2\n",
	    "a = 1\r\nq\r\nb = 2\r\nc = 3\r\n");
	gives("a = 1\r\nb = 2\r\n", "a = 1\r\nb", "a = 7\r\nb", "a = 7\r\nb = 2\r\n");
	/* One stray CR LF: it stays, and so do the others. */
	gives("a\nb\r\nc\nd\n", "b\nc", "b\nC", "a\nb\r\nC\nd\n");
	gives("a\nb\r\nc\nd\n", "d", "d\ne", "a\nb\r\nc\nd\ne\n");
	/* A lone CR is a character like others. */
	gives("a\rb\rc", "b", "B", "a\rB\rc");
	gives("one\ntwo\n", "one\r\ntwo", "one\r\n2", "one\n2\n");
}

static void
test_final_newline(void **state)
{
	(void)state;
	gives("line1\nline2\nline3", "line1", "LINE1", "LINE1\nline2\nline3");
	gives("line1\nline2\nline3", "line3", "LINE3", "line1\nline2\nLINE3");
	gives("alpha\n", "alpha", "beta", "beta\n");
	gives("alpha\n", "alpha\n", "beta", "beta");
	fails("", "alpha", "beta", EDIT_NOT_FOUND, "not found");
	gives("\n", "\n", "x\n", "x\n");
}

static void
test_indentation(void **state)
{
	const char *file = "def f():\n    if x:\n        y = 2\n        print(y)\n";

	(void)state;
	gives(file, "if x:\n        y = 2\n        print(y)",
	    "if x:\n        y = 999\n        print(y)",
	    "def f():\n    if x:\n        y = 999\n        print(y)\n");
	gives("def f():\r\n    if x:\r\n        y = 2\r\n        print(y)\r\n",
	    "if x:\n        y = 2\n        print(y)",
	    "if x:\n        y = 999\n        print(y)",
	    "def f():\r\n    if x:\r\n        y = 999\r\n        print(y)\r\n");
	/* Everything is four columns short: shifted as one. */
	gives(file, "if x:\n    y = 2\n    print(y)\n",
	    "if x:\n    y = 3\n    if y:\n        go()\n",
	    "def f():\n    if x:\n        y = 3\n        if y:\n            go()\n");
	/* Too deep by two. */
	gives("a:\n  b\n  c\n", "    b\n    c\n", "    b\n    C\n", "a:\n  b\n  C\n");
	gives("a:\n\tb\n\tc\n", "    b\n    c\n", "    b\n    C\n", "a:\n\tb\n\tC\n");
	gives("x:\n\tif a:\n\t\tb\n", "    if a:\n        b\n",
	    "    if a:\n        b\n        while c:\n            d\n",
	    "x:\n\tif a:\n\t\tb\n\t\twhile c:\n\t\t\td\n");
	gives("x:\n    if a:\n        b\n", "\tif a:\n\t\tb\n", "\tif a:\n\t\tb\n\t\tc\n",
	    "x:\n    if a:\n        b\n        c\n");
	gives("all:\n\tcc -o x x.c\n\nclean:\n\trm x\n", "all:\n        cc -o x x.c\n",
	    "all:\n        cc -O2 -o x x.c\n", "all:\n\tcc -O2 -o x x.c\n\nclean:\n\trm x\n");
	/* First line without indentation, the others in blanks. */
	gives("\tif x:\n\t\ty = 2\n", "if x:\n        y = 2", "if x:\n        y = 3",
	    "\tif x:\n\t\ty = 3\n");
	/* No common amount. */
	fails("  a1\n     b1\n  c1\n", " a1\n b1\n c1\n", " a1\n b2\n c1\n", EDIT_REFUSED,
	    "2|     b1");
	/* A line of the new text would mix tabs and blanks. */
	fails("\tfoo();\n\tbar();\n", "foo();\nbar();\n", "foo();\n  baz();\nbar();\n",
	    EDIT_REFUSED, "1|\tfoo();");
	fails("\tfoo();\n", "foo();\nbar", "x", EDIT_NOT_FOUND, "1|\tfoo();");
}

static void
test_trailing_blanks(void **state)
{
	(void)state;
	gives("a = 1   \nb = 2\t\nc\n", "a = 1\nb = 2\n", "a = 1\nb = 3\n",
	    "a = 1   \nb = 3\t\nc\n");
	gives("a = 1\nb = 2\n", "a = 1  \nb = 2  \n", "a = 1  \nb = 3  \n", "a = 1\nb = 3\n");
}

#define LQ "\xe2\x80\x9c"
#define RQ "\xe2\x80\x9d"
#define APOSTROPHE "\xe2\x80\x99"
#define EM "\xe2\x80\x94"
#define NNBSP "\xe2\x80\xaf"
#define NBSP "\xc2\xa0"
#define DOTS "\xe2\x80\xa6"
#define MINUS "\xe2\x88\x92"

static void
test_typographic(void **state)
{
	const char *file = "x\n" LQ "Hello" RQ " " EM " it" APOSTROPHE "s 5" NNBSP "000 " DOTS
			   " n" NBSP "\xc2\xb0\ny\n";

	(void)state;
	gives(file, "\"Hello\" - it's 5 000 ... n \xc2\xb0",
	    "\"Hello\" - it's 6 000 ... n \xc2\xb0",
	    "x\n" LQ "Hello" RQ " " EM " it" APOSTROPHE "s 6" NNBSP "000 " DOTS " n" NBSP
	    "\xc2\xb0\ny\n");
	gives(file, "it's 5 000 ... n", "it's not 5 000 ... m",
	    "x\n" LQ "Hello" RQ " " EM " it" APOSTROPHE "s not 5" NNBSP "000 " DOTS " m" NBSP
	    "\xc2\xb0\ny\n");
	/* The model means to change the quotes: its own bytes are taken. */
	gives("say \"a\"\n", "say \"a\"", "say " LQ "a" RQ, "say " LQ "a" RQ "\n");
	/* Composed and decomposed. */
	gives("cafe\xcc\x81 = 1\n", "caf\xc3\xa9 = 1", "caf\xc3\xa9 = 2", "cafe\xcc\x81 = 2\n");
	gives("caf\xc3\xa9 = 1\n", "cafe\xcc\x81 = 1", "cafe\xcc\x81 = 2", "caf\xc3\xa9 = 2\n");
	gives("t = " MINUS "5\xef\xbc\x8c 3\n", "t = -5, 3", "t = -5, 4",
	    "t = " MINUS "5\xef\xbc\x8c 4\n");
	/* Which quotes are kept cannot be told. */
	fails("say " LQ "a" RQ " and " LQ "b" RQ "\n", "say \"a\" and \"b\"",
	    "say \"x\" and \"a\" and \"b\"", EDIT_REFUSED, "1|say " LQ);
	fails("caf" LQ "\n", "caf\"", "caf'", EDIT_DONE, "");
	/* An accent is not cut off its letter. */
	fails("x = cafe\xcc\x81\n", "x = caf\xc3\xa9s", "y", EDIT_NOT_FOUND, "");
}

static void
test_wrong_place(void **state)
{
	const char *twice = "int a(void)\n{\n\treturn one(1);\n}\n"
			    "int b(void)\n{\n\treturn two(1);\n}\n";

	(void)state;
	fails(twice, "\treturn three(1);\n", "\treturn 3;\n", EDIT_NOT_FOUND,
	    "3|\treturn one(1);");
	fails("x = 1\ny\nx = 1\n", "x = 1", "x = 2", EDIT_AMBIGUOUS, "L3: x = 1");
	fails("aaa", "aa", "b", EDIT_AMBIGUOUS, "overlapping");
	gives_all("aaa", "aa", "b", "ba", 1);
	gives_all("x = 1\ny\nx = 1\n", "x = 1", "x = 2", "x = 2\ny\nx = 2\n", 2);
	gives_all("a\r\nb\r\na\r\nb\r\n", "a\nb\n", "a\nc\n", "a\r\nc\r\na\r\nc\r\n", 2);
	fails("line1\nline2\n", "line1\\nline2", "x", EDIT_NOT_FOUND, "real line break");
	gives("puts(\"a\\nb\");\n", "\"a\\nb\"", "\"a\\nc\"", "puts(\"a\\nc\");\n");
	fails("alpha\nbeta\n", "1|alpha\n2|beta", "1|x", EDIT_NOT_FOUND, "line numbers");
	fails("it's \"so\"\n", "it\\'s \\\"so\\\"", "x", EDIT_NOT_FOUND, "backslashes before");
	gives("it\\'s\n", "it\\'s", "it is", "it is\n");
}

static void
test_already(void **state)
{
	(void)state;
	fails("value = 42;\n", "value = 41;", "value = 42;", EDIT_ALREADY, "");
	fails("ab\n", "cd", "ab", EDIT_NOT_FOUND, "not found");
	/* The new text is only a part of the old one. */
	fails("first(1);\nsecond(3);\n", "first(1);\nsecond(2);\n", "first(1);\n",
	    EDIT_NOT_FOUND, "not found");
}

static void
test_numbered(void **state)
{
	struct edit_text numbered = {"1|a\n2|b\n3|c\n", 12}, table = {"7|a\n9|b\n1|c\n", 12};

	(void)state;
	assert_true(edit_hints_numbered(&numbered, 3));
	assert_false(edit_hints_numbered(&table, 3));
}

static void
test_one_long_line(void **state)
{
	size_t length = 10000000;
	char *text = malloc(length + 1);
	struct edit_result result;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', length);
	text[length] = '\0';
	text[length - 1] = 'z';
	result = apply(text, "az", "aZ", false);
	assert_int_equal(result.outcome, EDIT_DONE);
	assert_int_equal(result.text.length, length);
	assert_int_equal(result.text.data[length - 1], 'Z');
	edit_result_clear(&result);
	result = apply(text, "b\tc d", "x", false);
	assert_int_equal(result.outcome, EDIT_NOT_FOUND);
	edit_result_clear(&result);
	memset(text, ' ', length);
	result = apply(text, "b\nc", "x", false);
	assert_int_equal(result.outcome, EDIT_NOT_FOUND);
	edit_result_clear(&result);
	free(text);
}

static void
diff_is(const char *old, const char *new, const char *expected)
{
	struct unified_side a = {old, old != NULL ? strlen(old) : 0};
	struct unified_side b = {new, new != NULL ? strlen(new) : 0};
	struct buffer out = BUFFER_EMPTY;

	unified_diff_append(&out, "f", &a, &b);
	assert_string_equal(buffer_text(&out), expected);
	buffer_free(&out);
}

static void
test_unified_diff(void **state)
{
	(void)state;
	diff_is("a\nb\n", "a\nb\n", "");
	diff_is("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n",
	    "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n");
	diff_is(NULL, "a\nb",
	    "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"
	    "\\ No newline at end of file\n");
	diff_is("a\n", NULL, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
	diff_is("a\nb", "a\nb\n",
	    "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
	diff_is("a\n1\n2\n3\n4\n5\n6\n7\nz\n", "A\n1\n2\n3\n4\n5\n6\n7\nZ\n",
	    "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
	    "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-z\n+Z\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_line_ends),
	    cmocka_unit_test(test_final_newline),
	    cmocka_unit_test(test_indentation),
	    cmocka_unit_test(test_trailing_blanks),
	    cmocka_unit_test(test_typographic),
	    cmocka_unit_test(test_wrong_place),
	    cmocka_unit_test(test_already),
	    cmocka_unit_test(test_numbered),
	    cmocka_unit_test(test_one_long_line),
	    cmocka_unit_test(test_unified_diff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
