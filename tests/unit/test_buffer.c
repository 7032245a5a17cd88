/*
 * The buffer: growing, JSON escaping, and the failure latch.
 */
#include <config.h>

#include "common/buffer.h"
#include "common/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
test_append(void **state)
{
	struct buffer buffer = BUFFER_EMPTY;
	size_t i;

	(void)state;
	assert_string_equal(buffer_text(&buffer), "");
	for (i = 0; i < 10000; i++) {
		assert_int_equal(buffer_append_byte(&buffer, (char)('a' + i % 26)), 0);
		assert_int_equal(buffer.length, i + 1);
		assert_int_equal(buffer.data[i + 1], '\0');
	}
	assert_int_equal(buffer.data[9999], 'a' + 9999 % 26);
	buffer_clear(&buffer);
	assert_string_equal(buffer_text(&buffer), "");
	assert_int_equal(buffer_printf(&buffer, "%d %s", 12, "x"), 0);
	assert_int_equal(buffer_append_text(&buffer, "!"), 0);
	assert_string_equal(buffer_text(&buffer), "12 x!");
	assert_int_equal(buffer_append(&buffer, "", 0), 0);
	assert_int_equal(buffer.length, 5);
	buffer_free(&buffer);
	assert_null(buffer.data);
}

static void
test_long_printf(void **state)
{
	struct buffer buffer = BUFFER_EMPTY;

	(void)state;
	buffer_printf(&buffer, "%5000d|%s", 1, "end");
	assert_int_equal(buffer.length, 5004);
	assert_string_equal(buffer_text(&buffer) + 4999, "1|end");
	buffer_free(&buffer);
}

static void
test_consume(void **state)
{
	struct buffer buffer = BUFFER_EMPTY;

	(void)state;
	buffer_consume(&buffer, 5);
	buffer_append_text(&buffer, "abcdef");
	buffer_consume(&buffer, 0);
	buffer_consume(&buffer, 2);
	assert_string_equal(buffer_text(&buffer), "cdef");
	buffer_consume(&buffer, 99);
	assert_int_equal(buffer.length, 0);
	assert_string_equal(buffer_text(&buffer), "");
	buffer_free(&buffer);
}

static void
test_take(void **state)
{
	struct buffer buffer = BUFFER_EMPTY;
	char *text;

	(void)state;
	text = buffer_take(&buffer);
	assert_string_equal(text, "");
	free(text);
	buffer_append_text(&buffer, "abc");
	text = buffer_take(&buffer);
	assert_string_equal(text, "abc");
	assert_null(buffer.data);
	assert_int_equal(buffer.length, 0);
	free(text);
}

/* What cannot be had latches: later appends do nothing, what was there stays, clear resets. */
static void
test_failure(void **state)
{
	struct buffer buffer = BUFFER_EMPTY;
	char *text;

	(void)state;
	buffer_append_text(&buffer, "abc");
	assert_int_equal(buffer_reserve(&buffer, SIZE_MAX / 2), -1);
	assert_true(buffer.failed);
	assert_int_equal(buffer_append_text(&buffer, "def"), -1);
	assert_int_equal(buffer_append_byte(&buffer, 'd'), -1);
	assert_int_equal(buffer_printf(&buffer, "%d", 1), -1);
	assert_int_equal(buffer_append_json_text(&buffer, "x"), -1);
	assert_string_equal(buffer_text(&buffer), "abc");
	buffer_clear(&buffer);
	assert_false(buffer.failed);
	assert_int_equal(buffer_append_text(&buffer, "def"), 0);
	assert_string_equal(buffer_text(&buffer), "def");
	assert_int_equal(buffer_reserve(&buffer, SIZE_MAX), -1);
	text = buffer_take(&buffer);
	assert_null(text);
	assert_null(buffer.data);
	assert_false(buffer.failed);
}

static void
test_json(void **state)
{
	static const struct {
		const char *text;
		size_t length;
		const char *json;
	} rows[] = {
	    {"", 0, "\"\""},
	    {"abc", 3, "\"abc\""},
	    {"a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
	    {"\n\r\t", 3, "\"\\n\\r\\t\""},
	    {"\b\f\x1f", 3, "\"\\u0008\\u000c\\u001f\""},
	    {"a\0b", 3, "\"a\\u0000b\""},
	    {"\x7f", 1, "\"\x7f\""},
	    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
	    {"a\xff"
	     "b",
		3,
		"\"a\xef\xbf\xbd"
		"b\""},
	    {"\xe2\x82", 2, "\"\xef\xbf\xbd\""},
	    {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	    {"\xc3\"", 2, "\"\xef\xbf\xbd\\\"\""},
	};
	struct buffer buffer = BUFFER_EMPTY;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		buffer_clear(&buffer);
		assert_int_equal(buffer_append_json(&buffer, rows[i].text, rows[i].length), 0);
		assert_string_equal(buffer_text(&buffer), rows[i].json);
	}
	buffer_free(&buffer);
}

/* Any bytes at all become one valid JSON string on one line. */
static void
test_json_any_bytes(void **state)
{
	struct buffer buffer = BUFFER_EMPTY;
	char bytes[64];
	unsigned seed = 1, round;
	size_t i, length;

	(void)state;
	for (round = 0; round < 20000; round++) {
		seed = seed * 1103515245u + 12345u;
		length = seed >> 16 & 63;
		for (i = 0; i < length; i++) {
			seed = seed * 1103515245u + 12345u;
			bytes[i] = (char)(seed >> 16);
		}
		buffer_clear(&buffer);
		assert_int_equal(buffer_append_json(&buffer, bytes, length), 0);
		assert_null(json_scan_check(buffer.data, buffer.length, 1));
		assert_null(strchr(buffer.data, '\n'));
	}
	buffer_free(&buffer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_append),
	    cmocka_unit_test(test_long_printf),
	    cmocka_unit_test(test_consume),
	    cmocka_unit_test(test_take),
	    cmocka_unit_test(test_failure),
	    cmocka_unit_test(test_json),
	    cmocka_unit_test(test_json_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
