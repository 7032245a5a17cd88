/*
 * Records of the log: no secret gets through, however many there are, also where one is part of
 * another or the record is cut.
 */
#include <config.h>

#include "common/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MANY 300

static char record[LOG_RECORD_MAX + 1];

static void
sink(enum log_level level, const char *text, size_t length, void *arg)
{
	(void)level;
	(void)arg;
	assert_true(length <= LOG_RECORD_MAX);
	memcpy(record, text, length);
	record[length] = '\0';
}

static int
set_up(void **state)
{
	char secret[32];
	int i;

	(void)state;
	log_open("test", LOG_LEVEL_WARNING, sink, NULL);
	secret_register(NULL);
	secret_register("short");
	secret_register("inner-canary");
	secret_register("outer-inner-canary-more");
	for (i = 0; i < MANY; i++) {
		snprintf(secret, sizeof secret, "secret-number-%d-of-many", i);
		secret_register(secret);
		secret_register(secret);
	}
	return 0;
}

static void
test_many(void **state)
{
	char text[64];
	int i;

	(void)state;
	for (i = 0; i < MANY; i++) {
		snprintf(text, sizeof text, "<secret-number-%d-of-many>", i);
		secret_mask(text);
		assert_string_equal(text, "<***>");
	}
	for (i = 0; secret_at((size_t)i) != NULL; i++)
		assert_true(
		    i == 0 || strlen(secret_at((size_t)i - 1)) >= strlen(secret_at((size_t)i)));
	assert_int_equal(i, MANY + 2);
}

static void
test_one_in_another(void **state)
{
	char text[] = "a outer-inner-canary-more b inner-canary c short";

	(void)state;
	secret_mask(text);
	assert_string_equal(text, "a *** b *** c short");
}

/* The secret stands at every place around the cut. */
static void
test_cut(void **state)
{
	char text[LOG_RECORD_MAX + 64];
	size_t length;

	(void)state;
	for (length = LOG_RECORD_MAX - 200; length < LOG_RECORD_MAX; length++) {
		memset(text, 'x', length);
		strcpy(text + length, "outer-inner-canary-more");
		log_error("test", "%s", text);
		assert_non_null(strstr(record, "xxx"));
		assert_null(strstr(record, "outer"));
		assert_null(strstr(record, "xo"));
		assert_int_equal(record[strlen(record) - 1], '\n');
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_one_in_another),
	    cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
