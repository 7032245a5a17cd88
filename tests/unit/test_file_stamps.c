/*
 * What is remembered of files that the model has seen: no more than there is room for.
 */
#include <config.h>

#include "worker/tools/file_stamps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

static void
test_stamp_limit(void **state)
{
	struct file_stamps *stamps = file_stamps_new();
	struct stat status = {0};
	char name[32];
	int i;

	(void)state;
	for (i = 0; i <= FILE_STAMPS_MAX; i++) {
		snprintf(name, sizeof name, "/f%d", i);
		file_stamps_record(stamps, name, &status, true);
	}
	assert_int_equal(file_stamps_query(stamps, "/f0", &status), FILE_NEVER_SEEN);
	assert_int_equal(file_stamps_query(stamps, "/f1", &status), FILE_SEEN);
	assert_int_equal(file_stamps_query(stamps, name, &status), FILE_SEEN);
	file_stamps_free(stamps);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stamp_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
