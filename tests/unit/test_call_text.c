/*
 * What models write about calls: read without guessing, stored so that strict providers take
 * it back.
 */
#include <config.h>

#include "worker/agent/call_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
test_arguments(void **state)
{
	static const struct {
		const char *text, *read; /* NULL: an error */
		const char *stored;
	} rows[] = {
	    {"", "{}", "{}"},
	    {" \n", "{}", "{}"},
	    {"null", "{}", "{}"},
	    {"\"\"", NULL, "{\"_unparsed\":\"\\\"\\\"\"}"},
	    {"{\"a\":1}", "{\"a\":1}", "{\"a\":1}"},
	    {" {\"a\" : 1} ", "{\"a\":1}", " {\"a\" : 1} "},
	    {"\"{\\\"a\\\":1}\"", "{\"a\":1}", "{\"a\":1}"},
	    {"\"\\\"{}\\\"\"", NULL, "{\"_unparsed\":\"\\\"\\\\\\\"{}\\\\\\\"\\\"\"}"},
	    {"[]", NULL, "{\"_unparsed\":\"[]\"}"},
	    {"5", NULL, "{\"_unparsed\":\"5\"}"},
	    {"{\"a\":1", NULL, "{\"_unparsed\":\"{\\\"a\\\":1\"}"},
	    {"{\"a\":1,}", NULL, "{\"_unparsed\":\"{\\\"a\\\":1,}\"}"},
	    {"{}{}", NULL, "{\"_unparsed\":\"{}{}\"}"},
	};
	char error[256], *stored;
	struct json_object *value;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		error[0] = '\0';
		value = call_text_arguments(rows[i].text, error, sizeof error);
		if (rows[i].read == NULL) {
			assert_null(value);
			assert_non_null(strstr(error, "nothing was done"));
		} else {
			assert_non_null(value);
			assert_string_equal(json_text(value, NULL), rows[i].read);
		}
		json_object_put(value);
		stored = call_text_storable(rows[i].text);
		assert_string_equal(stored, rows[i].stored);
		free(stored);
	}
}

static void
test_names(void **state)
{
	static const char *const rows[][2] = {
	    {"read_file", "read_file"},
	    {"mcp__x-1__y", "mcp__x-1__y"},
	    {"functions.read_file", "functions_read_file"},
	    {"a b\n", "a_b_"},
	    {"\xc3\xbc", "__"},
	    {"", "unnamed"},
	};
	char longest[300], *name;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		name = call_text_name(rows[i][0]);
		assert_string_equal(name, rows[i][1]);
		free(name);
	}
	memset(longest, 'n', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	name = call_text_name(longest);
	assert_int_equal(strlen(name), 64);
	free(name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_arguments),
	    cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
