/*
 * Texts of the editor beside those of the disk: what is no difference, and what is put back.
 */
#include <config.h>

#include "worker/tools/editor_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MARK "\xef\xbb\xbf"

static bool
same(const char *one, const char *other)
{
	bool result = editor_text_same(one, strlen(one), other, strlen(other));

	assert_int_equal(result,
	    editor_text_hash(one, strlen(one)) == editor_text_hash(other, strlen(other)));
	return result;
}

static void
test_same(void **state)
{
	(void)state;
	assert_true(same("", ""));
	assert_true(same("", "\n"));
	assert_true(same("", MARK));
	assert_true(same("a", "a\n"));
	assert_true(same("a", "a\r\n"));
	assert_true(same("a\nb\n", MARK "a\r\nb\r\n"));
	assert_true(same("a\nb\r\n", "a\r\nb\n"));
	assert_true(same("a\rb", "a\rb"));
}

static void
test_different(void **state)
{
	(void)state;
	assert_false(same("a", "b"));
	assert_false(same("a", "a\n\n"));
	assert_false(same("a\n", "a\n\n\n"));
	assert_false(same("a\nb", "a\n\nb"));
	assert_false(same("a\rb", "a\nb"));
	assert_false(same("a", "a "));
	assert_false(same("a", "aa"));
	assert_false(same("", "\n\n"));
	assert_false(same("a" MARK, "a"));
}

/* The editor's text of a file as the file would have it, and back. */
static void
check_style(const char *file, const char *text, const char *expected)
{
	struct editor_style style = editor_style_find(file, strlen(file), text, strlen(text));
	struct buffer added = BUFFER_EMPTY, removed = BUFFER_EMPTY;

	editor_style_add(style, text, strlen(text), &added);
	assert_string_equal(buffer_text(&added), expected);
	editor_style_remove(style, buffer_text(&added), added.length, &removed);
	assert_string_equal(buffer_text(&removed), text);
	buffer_free(&added);
	buffer_free(&removed);
}

static void
test_style(void **state)
{
	(void)state;
	check_style("a\n", "b\nc\n", "b\nc\n");
	check_style("a\r\n", "b\nc", "b\r\nc");
	check_style("a\r\n", "b\r\nc\r\n", "b\r\nc\r\n");
	check_style("a\r\nb\n", "b\nc\n", "b\nc\n"); /* mixed: there is no style to keep */
	check_style(MARK "a\r\n", "\n\nb\n", MARK "\r\n\r\nb\r\n");
	check_style(MARK "a\n", MARK "b\n", MARK "b\n");
	check_style(MARK, "", MARK);
	check_style("", "b\n", "b\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_same),
	    cmocka_unit_test(test_different),
	    cmocka_unit_test(test_style),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
