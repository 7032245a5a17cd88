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

/* What is known of the text that the model has seen in the editor. */
static void
test_text(void **state)
{
	struct file_stamps *stamps = file_stamps_new(), *other = file_stamps_new();
	const struct file_text saved = {UINT64_MAX, UINT64_MAX, true}, unsaved = {7, 0, false};
	struct stat status = {.st_size = 5};
	struct json_object *description;

	(void)state;
	assert_int_equal(file_stamps_query_text(stamps, "/a", 7), FILE_NEVER_SEEN);
	file_stamps_record_text(stamps, "/a", &status, true, &saved);
	assert_int_equal(file_stamps_query(stamps, "/a", &status), FILE_SEEN);
	assert_int_equal(file_stamps_query_text(stamps, "/a", UINT64_MAX), FILE_SEEN);
	assert_int_equal(file_stamps_query_text(stamps, "/a", 7), FILE_CHANGED);
	/* A part of it leaves it whole, a part of another text does not. */
	file_stamps_record_text(stamps, "/a", &status, false, &saved);
	assert_int_equal(file_stamps_query_text(stamps, "/a", UINT64_MAX), FILE_SEEN);
	file_stamps_record_text(stamps, "/a", &status, false, &unsaved);
	assert_int_equal(file_stamps_query_text(stamps, "/a", 7), FILE_SEEN_PARTLY);
	/* What was never on the disk says nothing about the disk. */
	assert_int_equal(file_stamps_query(stamps, "/a", &status), FILE_CHANGED);
	assert_true(file_stamps_clean(stamps, "/a") == UINT64_MAX);
	description = file_stamps_describe(stamps);
	file_stamps_restore(other, description);
	assert_int_equal(file_stamps_query_text(other, "/a", 7), FILE_SEEN_PARTLY);
	assert_int_equal(file_stamps_query(other, "/a", &status), FILE_CHANGED);
	assert_true(file_stamps_clean(other, "/a") == UINT64_MAX);
	file_stamps_record(stamps, "/a", &status, false);
	assert_int_equal(file_stamps_query(stamps, "/a", &status), FILE_SEEN_PARTLY);
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
	    cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
