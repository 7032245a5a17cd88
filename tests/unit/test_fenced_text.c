/*
 * Text in a fence of Markdown: whatever it holds, it stays inside.
 */
#include <config.h>

#include "common/buffer.h"
#include "worker/tools/fenced_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
test_fences(void **state)
{
	struct buffer out = BUFFER_EMPTY;

	(void)state;
	fenced_text_append(&out, "c", "a```b", 5, 100);
	assert_string_equal(buffer_text(&out), "````c\na```b\n````");
	buffer_clear(&out);
	fenced_text_append(&out, "", "abcdef", 6, 4);
	assert_int_equal(strncmp(buffer_text(&out), "```\nabcd\n```\n", 13), 0);
	assert_non_null(strstr(buffer_text(&out), "4 of 6"));
	buffer_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
