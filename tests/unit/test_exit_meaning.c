/*
 * What the exit status of known programs means.
 */
#include <config.h>

#include "worker/tools/exit_meaning.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
test_meanings(void **state)
{
	bool normal;

	(void)state;
	assert_string_equal(exit_meaning_find("cd x && ls | grep y", 1, &normal), "no match");
	assert_true(normal);
	exit_meaning_find("make test && grep y f", 1, &normal);
	assert_false(normal);
	exit_meaning_find("grep y f", 2, &normal);
	assert_false(normal);
	exit_meaning_find("diff a b", 1, &normal);
	assert_true(normal);
	exit_meaning_find("git diff --exit-code", 1, &normal);
	assert_true(normal);
	exit_meaning_find("git push", 1, &normal);
	assert_false(normal);
	assert_null(exit_meaning_find("echo grep", 1, &normal));
	assert_false(normal);
	assert_null(exit_meaning_find("grep x y", 0, &normal));
	assert_true(normal);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_meanings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
