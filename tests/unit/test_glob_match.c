/*
 * Patterns of file names: what they match, and what is no pattern.
 */
#include <config.h>

#include "common/buffer.h"
#include "worker/tools/glob_match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool
glob(const char *pattern, const char *path)
{
	struct buffer error = BUFFER_EMPTY;
	struct glob *compiled = glob_new(pattern, &error);
	bool matches;

	if (compiled == NULL)
		fail_msg("%s: %s", pattern, buffer_text(&error));
	matches = glob_matches(compiled, path);
	glob_free(compiled);
	return matches;
}

static void
test_globs(void **state)
{
	(void)state;
	assert_true(glob("*.c", "a/b/x.c"));
	assert_false(glob("*.c", "x.cc"));
	assert_true(glob("**/*.c", "x.c"));
	assert_true(glob("**/*.c", "a/b/x.c"));
	assert_true(glob("src/*.c", "src/x.c"));
	assert_false(glob("src/*.c", "src/a/x.c"));
	assert_false(glob("src/*.c", "a/src/x.c"));
	assert_true(glob("src/**", "src/a/x.c"));
	assert_false(glob("src/**", "src"));
	assert_true(glob("a/**/b", "a/b"));
	assert_true(glob("a/**/b", "a/x/y/b"));
	assert_true(glob("*.{ts,tsx}", "x.tsx"));
	assert_true(glob("{a,b{c,d}}.x", "bd.x"));
	assert_false(glob("*.{ts,tsx}", "x.t"));
	assert_true(glob("[a-c]?[!x].\\*", "bz1.*"));
	assert_false(glob("[a-c]?[!x]", "bzx"));
	assert_true(glob("[]x]", "]"));
	assert_true(glob("?", "\xc3\xa9"));
	assert_true(glob("/a.c", "a.c"));
	assert_false(glob("/a.c", "b/a.c"));
	assert_true(glob("./src/*.c", "src/x.c"));
}

static void
test_bad_globs(void **state)
{
	static const char *const patterns[] = {"", "[", "a[b", "x\\", "{a,b"};
	struct buffer error = BUFFER_EMPTY;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		buffer_clear(&error);
		assert_null(glob_new(patterns[i], &error));
		assert_true(error.length > 0);
	}
	assert_null(glob_new("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", &error));
	/* A pattern made to take for ever with naive backtracking. */
	assert_false(glob("*a*a*a*a*a*a*a*a*a*a*a*a*b",
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
	buffer_free(&error);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_globs),
	    cmocka_unit_test(test_bad_globs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
