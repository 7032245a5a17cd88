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

static void
test_description(void **state)
{
	struct file_stamps *stamps = file_stamps_new(), *other = file_stamps_new();
	struct stat status = {.st_dev = (dev_t)-1, .st_ino = (ino_t)-2, .st_size = 5};
	struct json_object *description;

	(void)state;
	status.st_mtim.tv_sec = 7;
	status.st_mtim.tv_nsec = 999999999;
	file_stamps_record(stamps, "/whole", &status, true);
	file_stamps_record(stamps, "/part", &status, false);
	description = file_stamps_describe(stamps);
	json_object_array_add(description, json_new_text("no stamp"));
	file_stamps_restore(other, description);
	assert_int_equal(file_stamps_query(other, "/whole", &status), FILE_SEEN);
	assert_int_equal(file_stamps_query(other, "/part", &status), FILE_SEEN_PARTLY);
	assert_int_equal(file_stamps_query(other, "/none", &status), FILE_NEVER_SEEN);
	status.st_mtim.tv_nsec--;
	assert_int_equal(file_stamps_query(other, "/whole", &status), FILE_CHANGED);
	file_stamps_restore(other, NULL);
	json_object_put(description);
	file_stamps_free(other);
	file_stamps_free(stamps);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stamp_limit),
	    cmocka_unit_test(test_description),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
