/*
 * The output of ripgrep, grep and find taken apart, however it is cut into pieces.
 */
#include <config.h>

#include "common/alloc.h"
#include "common/buffer.h"
#include "worker/tools/search_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct seen {
	struct buffer text;
};

static void
note_record(const struct search_record *record, void *arg)
{
	struct seen *seen = arg;

	buffer_printf(&seen->text, "<%s %d%s %s>", record->path, (int)record->number,
	    record->context ? "c" : "", record->text);
}

/* Feeds the bytes in pieces of every size up to 9 and compares what comes out. */
static void
output_gives(enum search_form form, const char *bytes, size_t length, const char *expected)
{
	size_t piece, at, size;

	for (piece = 1; piece < 10; piece++) {
		struct seen seen = {BUFFER_EMPTY};
		struct search_output output = {
		    .form = form, .record = note_record, .arg = &seen};

		for (at = 0; at < length; at += size) {
			size = length - at < piece ? length - at : piece;
			search_output_feed(&output, bytes + at, size);
		}
		assert_string_equal(buffer_text(&seen.text), expected);
		search_output_clear(&output);
		buffer_free(&seen.text);
	}
}

#define GIVES(form, bytes, expected) output_gives(form, bytes, sizeof(bytes) - 1, expected)

static void
test_output(void **state)
{
	(void)state;
	GIVES(SEARCH_PATHS, "/a\0/b\nc\0", "</a 0 ></b\nc 0 >");
	GIVES(SEARCH_COUNTS,
	    "/a\0"
	    "12\n/b\0"
	    "0\n",
	    "</a 12 ></b 0 >");
	GIVES(SEARCH_LINES,
	    "/a\0"
	    "3:2:xfoo\r\n/a\0"
	    "4-next: 1\n",
	    "</a 3 xfoo></a 4c next: 1>");
	GIVES(SEARCH_LINES,
	    "/a: binary file matches (found \"\\0\" byte around offset 7)\n/b\0"
	    "1:1:x\n",
	    "</b 1 x>");
	GIVES(SEARCH_MARKED,
	    "/a\0"
	    "3:x\033[1mfoo\033[m \033[1mfoo\033[m\n/a\0"
	    "4-y\n",
	    "</a 3 xfoo foo></a 4c y>");
	GIVES(SEARCH_LINES,
	    "rg: trouble\n/a\0"
	    "1:1:\xff\n",
	    "</a 1 \xef\xbf\xbd>");
}

static void
test_output_long_line(void **state)
{
	struct seen seen = {BUFFER_EMPTY};
	struct search_output output = {
	    .form = SEARCH_LINES, .record = note_record, .arg = &seen};
	char *filler = xcalloc(1, 100000);
	int i;

	(void)state;
	memset(filler, 'a', 100000);
	search_output_feed(&output,
	    "/f\0"
	    "1:3000001:",
	    13);
	for (i = 0; i < 30; i++)
		search_output_feed(&output, filler, 100000);
	search_output_feed(&output, "HERE", 4);
	for (i = 0; i < 30; i++)
		search_output_feed(&output, filler, 100000);
	search_output_feed(&output, "\n", 1);
	assert_true(seen.text.length < 520);
	assert_non_null(strstr(seen.text.data, "</f 1 ...aaaa"));
	assert_non_null(strstr(seen.text.data, "aHEREa"));
	assert_non_null(strstr(seen.text.data, "a...>"));
	assert_true(output.text.capacity < 100000);
	search_output_clear(&output);
	buffer_free(&seen.text);
	free(filler);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_output),
	    cmocka_unit_test(test_output_long_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
