/*
 * UTF-8: every sequence of up to two bytes by brute force, the borders of RFC 3629, cutting
 * and repair.
 */
#include <config.h>

#include "common/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
test_round_trip(void **state)
{
	uint32_t code, back;
	char text[4];
	size_t size;

	(void)state;
	for (code = 0; code < 0x110400; code += code < 0x3000 ? 1 : 7) {
		size = utf8_encode(code, text);
		if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff) {
			assert_int_equal(size, 0);
			continue;
		}
		assert_int_equal(size, code < 0x80	? 1
				       : code < 0x800	? 2
				       : code < 0x10000 ? 3
							: 4);
		assert_int_equal(utf8_sequence(text, size), size);
		assert_int_equal(utf8_decode(text, size, &back), size);
		assert_int_equal(back, code);
		assert_true(utf8_valid(text, size));
		if (size > 1) {
			assert_int_equal(utf8_sequence(text, size - 1), 0);
			assert_true(utf8_incomplete(text, size - 1));
			assert_int_equal(utf8_cut_tail(text, size - 1), size - 1);
		}
		assert_false(utf8_incomplete(text, size));
		assert_int_equal(utf8_cut_tail(text, size), 0);
	}
	assert_int_equal(utf8_encode(0xffffffff, text), 0);
}

static void
test_two_bytes(void **state)
{
	unsigned first, second;
	char text[2];
	size_t expected;

	(void)state;
	for (first = 0; first < 256; first++)
		for (second = 0; second < 256; second++) {
			text[0] = (char)first;
			text[1] = (char)second;
			expected =
			    first < 0x80 ? 1
			    : first >= 0xc2 && first <= 0xdf && second >= 0x80 && second <= 0xbf
				? 2
				: 0;
			assert_int_equal(utf8_sequence(text, 2), expected);
			assert_true(utf8_invalid_length(text, 2) >= 1);
			assert_true(utf8_invalid_length(text, 2) <= 2);
		}
}

static void
test_invalid(void **state)
{
	static const char *const texts[] = {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3",
	    "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
	    "\xf5\x80\x80\x80", "\xfe", "\xff", "a\xc3(", "\xe2\x82\xac\xe2\x82"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof texts / sizeof texts[0]; i++)
		assert_false(utf8_valid(texts[i], strlen(texts[i])));
	assert_true(utf8_valid("", 0));
	assert_true(utf8_valid("a\0b", 3));
	assert_int_equal(utf8_sequence("", 0), 0);
}

static void
test_clean(void **state)
{
	/* The replacements are those of Unicode 3.9, table 3-8 (maximal subparts). */
	static const struct {
		const char *dirty, *clean;
	} rows[] = {
	    {"abc", "abc"},
	    {"\xe2\x82\xac", "\xe2\x82\xac"},
	    {"\x80", UTF8_REPLACEMENT},
	    {"\x80\x80", UTF8_REPLACEMENT UTF8_REPLACEMENT},
	    {"\xc0\xaf", UTF8_REPLACEMENT UTF8_REPLACEMENT},
	    {"a\xf1\x80\x80\xe1\x80\xc2"
	     "b\x80"
	     "c\x80\xbf"
	     "d",
		"a" UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT "b" UTF8_REPLACEMENT
		"c" UTF8_REPLACEMENT UTF8_REPLACEMENT "d"},
	    {"\xe2\x82", UTF8_REPLACEMENT},
	    {"\xf0\x9f\x98", UTF8_REPLACEMENT},
	    {"\xed\xa0\x80", UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT},
	    {"\xff"
	     "a",
		UTF8_REPLACEMENT "a"},
	};
	size_t i, length;
	char *clean;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		clean = utf8_clean(rows[i].dirty, strlen(rows[i].dirty), &length);
		assert_string_equal(clean, rows[i].clean);
		assert_int_equal(length, strlen(rows[i].clean));
		assert_true(utf8_valid(clean, length));
		free(clean);
	}
	clean = utf8_clean("a\0b", 3, &length);
	assert_int_equal(length, 5);
	assert_memory_equal(clean, "a" UTF8_REPLACEMENT "b", 6);
	free(clean);
}

/* Cutting anywhere never splits a code point and never loses more than three bytes. */
static void
test_floor(void **state)
{
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
	size_t length = sizeof text - 1, limit, cut;

	(void)state;
	for (limit = 0; limit <= length + 2; limit++) {
		cut = utf8_floor(text, length, limit);
		assert_true(cut <= limit && cut <= length);
		assert_true(limit - cut < 4 || limit > length);
		assert_true(utf8_valid(text, cut));
		assert_true(utf8_valid(text + cut, length - cut));
	}
}

static void
test_counting(void **state)
{
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\xff";
	size_t length = sizeof text - 1;

	(void)state;
	assert_int_equal(utf8_count(text, length), 6);
	assert_int_equal(utf8_count("", 0), 0);
	assert_int_equal(utf8_offset(text, length, 0), 0);
	assert_int_equal(utf8_offset(text, length, 2), 3);
	assert_int_equal(utf8_offset(text, length, 4), 10);
	assert_int_equal(utf8_offset(text, length, 99), length);
}

/* The ends of pieces of a stream: joined with the rest they give the whole again. */
static void
test_cut_tail(void **state)
{
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
	size_t length = sizeof text - 1, at, tail;

	(void)state;
	for (at = 0; at <= length; at++) {
		tail = utf8_cut_tail(text, at);
		assert_true(tail <= 3);
		assert_true(utf8_valid(text, at - tail));
	}
	assert_int_equal(utf8_cut_tail("\xff", 1), 0);
	assert_int_equal(utf8_cut_tail("\xe0\x80", 2), 0);
	assert_int_equal(utf8_cut_tail("\x80\x80\x80\x80", 4), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_two_bytes),
	    cmocka_unit_test(test_invalid),
	    cmocka_unit_test(test_clean),
	    cmocka_unit_test(test_floor),
	    cmocka_unit_test(test_counting),
	    cmocka_unit_test(test_cut_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
