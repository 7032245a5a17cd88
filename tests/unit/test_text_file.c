/*
 * Whole files as text: marks, line ends, what is no text and what cannot be read.
 */
#include <config.h>

#include "tests/unit/tool_fixture.h"
#include "worker/tools/text_file.h"

static void
read_text(const struct tool_fixture *fixture, const char *name, enum text_failure expected,
    struct text_file *file)
{
	struct buffer error = BUFFER_EMPTY;
	char *path = tool_fixture_path(fixture, name);

	assert_int_equal(text_file_read(path, 1000, file, &error), expected);
	assert_true((expected == TEXT_READ) == (error.length == 0));
	if (expected != TEXT_READ)
		assert_non_null(strstr(buffer_text(&error), name));
	buffer_free(&error);
	free(path);
}

static void
test_text_file(void **state)
{
	struct tool_fixture *fixture = *state;
	struct text_file file;
	char *long_text = xcalloc(1, 2000);

	PUT(fixture, "bom", "\xef\xbb\xbfx\r\ny");
	PUT(fixture, "bad", "x\xff ok all right\n");
	PUT(fixture, "empty", "");
	memset(long_text, 'x', 2000);
	tool_fixture_put(fixture, "long", long_text, 2000);
	tool_fixture_link(fixture, "bom", "link");
	read_text(fixture, "bom", TEXT_READ, &file);
	assert_string_equal(file.text, "x\r\ny");
	text_file_clear(&file);
	read_text(fixture, "bad", TEXT_READ, &file);
	assert_string_equal(file.text, "x\xff ok all right\n");
	text_file_clear(&file);
	read_text(fixture, "empty", TEXT_READ, &file);
	assert_int_equal(file.length, 0);
	text_file_clear(&file);
	read_text(fixture, "long", TEXT_TOO_BIG, &file);
	read_text(fixture, "link", TEXT_UNREADABLE, &file);
	read_text(fixture, "absent", TEXT_ABSENT, &file);
	read_text(fixture, ".", TEXT_NOT_REGULAR, &file);
	free(long_text);
}

static void
test_endings(void **state)
{
	(void)state;
	assert_int_equal(text_ending_detect("a", 1), TEXT_ENDING_NONE);
	assert_int_equal(text_ending_detect("a\nb\n", 4), TEXT_ENDING_LF);
	assert_int_equal(text_ending_detect("a\r\nb", 4), TEXT_ENDING_CRLF);
	assert_int_equal(text_ending_detect("a\rb\r", 4), TEXT_ENDING_CR);
	assert_int_equal(text_ending_detect("a\r\nb\n", 5), TEXT_ENDING_MIXED);
	assert_int_equal(text_ending_detect("a\rb\n", 4), TEXT_ENDING_MIXED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TOOL_CASE(test_text_file),
	    cmocka_unit_test(test_endings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
