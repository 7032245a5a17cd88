/*
 * The strict scan against RFC 8259. Every row is fed whole, byte by byte and in two pieces
 * cut at each place: the verdict, the reason and the offsets must not depend on the pieces.
 */
#include <config.h>

#include "common/json.h"
#include "common/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEPTH 8

struct row {
	const char *text;
	size_t length; /* 0 = strlen */
	bool valid;
};

#define GOOD(text)                                                                             \
	{                                                                                      \
		text, sizeof text - 1, true                                                    \
	}
#define BAD(text)                                                                              \
	{                                                                                      \
		text, sizeof text - 1, false                                                   \
	}

static const struct row rows[] = {
    /* Values of each kind. */
    GOOD("{}"),
    GOOD("[]"),
    GOOD("\"\""),
    GOOD("0"),
    GOOD("-0"),
    GOOD("true"),
    GOOD("false"),
    GOOD("null"),
    GOOD("{\"a\":1}"),
    GOOD("[1,2,3]"),
    GOOD("{\"a\":{\"b\":[null,true,\"x\"]},\"c\":[]}"),
    GOOD(" \t{ \"a\" : [ 1 , 2 ] } \t"),
    GOOD("\r\n[\r\n1\n]\r\n"),
    GOOD("{\"\":0}"),
    GOOD("{\"a\":1,\"a\":2}"), /* duplicates are told by watches, not refused */
    /* Nothing, or not the end. */
    BAD(""),
    BAD(" "),
    BAD("{"),
    BAD("["),
    BAD("[1"),
    BAD("[1,"),
    BAD("{\"a\""),
    BAD("{\"a\":"),
    BAD("{\"a\":1"),
    BAD("{\"a\":1,"),
    BAD("\""),
    BAD("\"a"),
    BAD("\"\\"),
    BAD("\"\\u12"),
    /* What stands behind the value. */
    BAD("{} {}"),
    BAD("{}x"),
    BAD("1 2"),
    BAD("[]]"),
    BAD("{}}"),
    BAD("null,"),
    BAD("\"a\"\"b\""),
    /* Brackets and commas. */
    BAD("]"),
    BAD("}"),
    BAD("[}"),
    BAD("{]"),
    BAD("[1}"),
    BAD("{\"a\":1]"),
    BAD("[1,]"),
    BAD("{\"a\":1,}"),
    BAD("[,1]"),
    BAD("[1,,2]"),
    BAD("{,}"),
    BAD("[1 2]"),
    BAD("{\"a\" 1}"),
    BAD("{\"a\"::1}"),
    BAD("{\"a\":1:2}"),
    BAD("[1:2]"),
    BAD("{\"a\"}"),
    BAD(","),
    BAD(":"),
    /* Keys. */
    BAD("{a:1}"),
    BAD("{1:1}"),
    BAD("{null:1}"),
    BAD("{'a':1}"),
    BAD("{\"a\":'b'}"),
    BAD("'a'"),
    /* Comments. */
    BAD("/* c */ {}"),
    BAD("{} // c"),
    BAD("[1 /* c */]"),
    BAD("# c\n{}"),
    /* Literals. */
    BAD("True"),
    BAD("TRUE"),
    BAD("NULL"),
    BAD("nul"),
    BAD("nulL"),
    BAD("nulll"),
    BAD("tru e"),
    BAD("NaN"),
    BAD("nan"),
    BAD("Infinity"),
    BAD("-Infinity"),
    BAD("[-inf]"),
    BAD("undefined"),
    /* Numbers. */
    GOOD("1e5"),
    GOOD("1E+5"),
    GOOD("1e-5"),
    GOOD("0e0"),
    GOOD("0.0"),
    GOOD("-1.5e300"),
    GOOD("1e999"),
    GOOD("-1e999"),
    GOOD("18446744073709551616"),
    GOOD("123456789012345678901234567890"),
    BAD("-"),
    BAD("+1"),
    BAD("01"),
    BAD("-01"),
    BAD("00"),
    BAD("1."),
    BAD(".5"),
    BAD("-.5"),
    BAD("1.e5"),
    BAD("1e"),
    BAD("1e+"),
    BAD("1e5.5"),
    BAD("1.2.3"),
    BAD("--1"),
    BAD("0x10"),
    BAD("1_000"),
    BAD("1f"),
    BAD("[1.]"),
    BAD("[-]"),
    /* Strings and escapes. */
    GOOD("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\""),
    GOOD("\"\\u0000\""),
    GOOD("\"\\ud800\""), /* a lone surrogate is text that RFC 8259 allows */
    GOOD("\"\\udc00\\ud800\""),
    GOOD("\"\\ud83d\\ude00\""),
    GOOD("\"\x7f\""),
    GOOD("\"\\uABCD\\uabcd\""),
    BAD("\"\\x41\""),
    BAD("\"\\a\""),
    BAD("\"\\'\""),
    BAD("\"\\0\""),
    BAD("\"\\u\""),
    BAD("\"\\u12G4\""),
    BAD("\"\\u-123\""),
    BAD("\"\\U0041\""),
    BAD("\"\\\0\""),
    BAD("\"a\nb\""),
    BAD("\"a\rb\""),
    BAD("\"a\tb\""),
    BAD("\"a\0b\""),
    BAD("\"a\x1f\""),
    BAD("\"\\\n\""),
    BAD("{\"a\nb\":1}"),
    /* Bytes between tokens. */
    BAD("\0"),
    BAD("{}\0"),
    BAD("[1\0]"),
    BAD("[1,\x0b 2]"),
    BAD("[1,\x0c 2]"),
    BAD("[\xc2\xa0"
	"1]"),
    BAD("\xef\xbb\xbf{}"),
    BAD("{}\xef\xbb\xbf"),
    BAD("\xff\xfe{\0}\0"),
    /* UTF-8 in strings (RFC 3629). */
    GOOD("\"\xc3\xa9\""),
    GOOD("\"\xe2\x82\xac\""),
    GOOD("\"\xf0\x9f\x98\x80\""),
    GOOD("\"\xc2\x80\""),
    GOOD("\"\xdf\xbf\""),
    GOOD("\"\xe0\xa0\x80\""),
    GOOD("\"\xed\x9f\xbf\""),
    GOOD("\"\xee\x80\x80\""),
    GOOD("\"\xef\xbf\xbf\""),
    GOOD("\"\xf0\x90\x80\x80\""),
    GOOD("\"\xf4\x8f\xbf\xbf\""),
    BAD("\"\x80\""),
    BAD("\"\xbf\""),
    BAD("\"\xc0\x80\""),
    BAD("\"\xc1\xbf\""),
    BAD("\"\xc3\""),
    BAD("\"\xc3(\""),
    BAD("\"\xc3\xc3\""),
    BAD("\"\xe0\x80\x80\""),
    BAD("\"\xe0\x9f\xbf\""),
    BAD("\"\xe2\x82\""),
    BAD("\"\xe2(\xac\""),
    BAD("\"\xe2\x82(\""),
    BAD("\"\xed\xa0\x80\""),
    BAD("\"\xed\xbf\xbf\""),
    BAD("\"\xf0\x80\x80\x80\""),
    BAD("\"\xf0\x8f\xbf\xbf\""),
    BAD("\"\xf0\x9f\x98\""),
    BAD("\"\xf4\x90\x80\x80\""),
    BAD("\"\xf5\x80\x80\x80\""),
    BAD("\"\xf8\x88\x80\x80\x80\""),
    BAD("\"\xfe\""),
    BAD("\"\xff\""),
    BAD("{\"\xff\":1}"),
    BAD("\"\xc3\\n\""),
    /* Depth: eight is allowed here, nine is not. */
    GOOD("[[[[[[[[]]]]]]]]"),
    BAD("[[[[[[[[[]]]]]]]]]"),
    GOOD("{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}}}}"),
    BAD("[[[[{\"a\":[[[[1]]]]}]]]]"),
    GOOD("[[[[]],[[]],{\"a\":[[[[]]]]}]]"),
};

#define ROWS (sizeof rows / sizeof rows[0])

/* Feeds in pieces of `size` bytes; returns the reason. */
static const char *
feed(const char *text, size_t length, size_t size, size_t *offset)
{
	struct json_scan scan;
	size_t at, piece;

	json_scan_start(&scan, DEPTH, false, NULL, 0);
	for (at = 0; at < length; at += piece) {
		piece = length - at < size ? length - at : size;
		if (json_scan_feed(&scan, text + at, piece) == -1)
			break;
	}
	json_scan_end(&scan);
	*offset = scan.offset;
	return scan.error;
}

static void
test_table(void **state)
{
	const char *reason, *again;
	size_t i, size, offset, other;

	(void)state;
	assert_true(ROWS >= 60);
	for (i = 0; i < ROWS; i++) {
		reason = json_scan_check(rows[i].text, rows[i].length, DEPTH);
		if ((reason == NULL) != rows[i].valid)
			fail_msg("row %zu: %s gave %s", i, rows[i].text,
			    reason != NULL ? reason : "no error");
		feed(rows[i].text, rows[i].length, (size_t)-1, &offset);
		for (size = 1; size < 6; size++) {
			again = feed(rows[i].text, rows[i].length, size, &other);
			if (again != reason || other != offset)
				fail_msg("row %zu: %s in pieces of %zu gave %s", i,
				    rows[i].text, size, again != NULL ? again : "no error");
		}
	}
}

/* A refused text stays refused, whatever follows. */
static void
test_refused_for_good(void **state)
{
	struct json_scan scan;

	(void)state;
	json_scan_start(&scan, DEPTH, false, NULL, 0);
	assert_int_equal(json_scan_feed(&scan, "[1,]", 4), -1);
	assert_int_equal(json_scan_feed(&scan, "[]", 2), -1);
	assert_int_equal(json_scan_end(&scan), -1);
	assert_non_null(scan.error);
}

/* Every prefix of a text that is an object or a string is not a text. */
static void
test_prefixes(void **state)
{
	static const char text[] =
	    "{\"a\":[1,-2.5e+3,\"\xe2\x82\xac\\u20ac\\n\"],\"b\":{\"c\":null,\"d\":true}}";
	size_t length;

	(void)state;
	for (length = 0; length < sizeof text - 1; length++)
		assert_non_null(json_scan_check(text, length, DEPTH));
	assert_null(json_scan_check(text, length, DEPTH));
}

/* Whatever is accepted is parsed by json-c, and its own output is accepted again. */
static void
test_agrees_with_parser(void **state)
{
	struct json_object *value;
	const char *reason, *text;
	size_t i, length;

	(void)state;
	for (i = 0; i < ROWS; i++) {
		value = json_parse(rows[i].text, rows[i].length, &reason);
		if (!rows[i].valid) {
			if (strstr(rows[i].text, "[[[[") == NULL)
				assert_non_null(reason);
			json_object_put(value);
			continue;
		}
		if (reason != NULL)
			fail_msg("row %zu: %s is not parsed: %s", i, rows[i].text, reason);
		text = json_text(value, &length);
		assert_null(json_scan_check(text, length, JSON_DEPTH_MAX));
		json_object_put(value);
	}
}

static void
test_single_line(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} lines[] = {
	    {"{ \"a\":\t1 }", true},
	    {"{\"a\":\"\\n\"}", true},
	    {"{\"a\":\n1}", false},
	    {"{\"a\":1}\n", false},
	    {"\n{}", false},
	    {"{\r}", false},
	    {"[1\n]", false},
	    {"1\n", false},
	};
	struct json_scan scan;
	size_t i;
	int status;

	(void)state;
	for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		json_scan_start(&scan, DEPTH, true, NULL, 0);
		status = json_scan_feed(&scan, lines[i].text, strlen(lines[i].text));
		if (status == 0)
			status = json_scan_end(&scan);
		assert_int_equal(status, lines[i].valid ? 0 : -1);
	}
}

static void
test_depth_is_capped(void **state)
{
	char text[JSON_SCAN_DEPTH * 2 + 4];

	(void)state;
	memset(text, '[', JSON_SCAN_DEPTH + 1);
	memset(text + JSON_SCAN_DEPTH + 1, ']', JSON_SCAN_DEPTH + 1);
	assert_null(json_scan_check(text + 1, (size_t)JSON_SCAN_DEPTH * 2, 100000));
	assert_non_null(json_scan_check(text, (size_t)JSON_SCAN_DEPTH * 2 + 2, 100000));
	assert_non_null(json_scan_check("[]", 2, 0));
	assert_null(json_scan_check("1", 1, 0));
}

/* Watches. */

enum { W_ID, W_PARAMS, W_SESSION, W_COUNT };

static void
scan_watched(const char *text, size_t size, struct json_watch watches[W_COUNT])
{
	static const struct json_watch fresh[W_COUNT] = {
	    [W_ID] = {.key = "id"},
	    [W_PARAMS] = {.key = "params"},
	    [W_SESSION] = {.parent = "params", .key = "sessionId"},
	};
	struct json_scan scan;
	size_t length = strlen(text), at, piece;

	memcpy(watches, fresh, sizeof fresh);
	json_scan_start(&scan, JSON_DEPTH_MAX, false, watches, W_COUNT);
	for (at = 0; at < length; at += piece) {
		piece = length - at < size ? length - at : size;
		assert_int_equal(json_scan_feed(&scan, text + at, piece), 0);
	}
	assert_int_equal(json_scan_end(&scan), 0);
	assert_null(scan.error);
}

static const struct {
	const char *text;
	const char *id, *params, *session; /* text of the value, NULL = absent */
	unsigned ids, sessions;
} watched[] = {
    {"{}", NULL, NULL, NULL, 0, 0},
    {"{\"id\":1}", "1", NULL, NULL, 1, 0},
    {"{\"id\":1 }", "1", NULL, NULL, 1, 0},
    {"{ \"id\" : -12.5e3 , \"x\":0}", "-12.5e3", NULL, NULL, 1, 0},
    {"{\"id\":\"a\\\"b\"}", "\"a\\\"b\"", NULL, NULL, 1, 0},
    {"{\"id\":null,\"id\":2}", "2", NULL, NULL, 2, 0},
    {"{\"i\\u0064\":3}", "3", NULL, NULL, 1, 0},
    {"{\"\\u0069\\u0064\":true}", "true", NULL, NULL, 1, 0},
    {"{\"id\\u0000\":3}", NULL, NULL, NULL, 0, 0},
    {"{\"id\\u00e9\":3}", NULL, NULL, NULL, 0, 0},
    {"{\"ID\":3,\"id \":3,\"i\":3,\"idd\":3}", NULL, NULL, NULL, 0, 0},
    {"{\"x\":{\"id\":3}}", NULL, NULL, NULL, 0, 0},
    {"[{\"id\":3}]", NULL, NULL, NULL, 0, 0},
    {"[[{\"id\":3,\"sessionId\":\"s\"}]]", NULL, NULL, NULL, 0, 0},
    {"{\"params\":{\"sessionId\":\"s\"},\"id\":9}", "9", "{\"sessionId\":\"s\"}", "\"s\"", 1,
	1},
    {"{\"params\":[{\"sessionId\":\"s\"}]}", NULL, "[{\"sessionId\":\"s\"}]", NULL, 0, 0},
    {"{\"params\":{\"x\":{\"sessionId\":\"s\"}}}", NULL, "{\"x\":{\"sessionId\":\"s\"}}", NULL,
	0, 0},
    {"{\"other\":{\"sessionId\":\"s\"}}", NULL, NULL, NULL, 0, 0},
    {"{\"sessionId\":\"s\"}", NULL, NULL, NULL, 0, 0},
    {"{\"params\":{\"id\":1}}", NULL, "{\"id\":1}", NULL, 0, 0},
    {"{\"params\":{\"a\":[{},[]],\"sessionId\":[1,{\"sessionId\":2}]}}", NULL,
	"{\"a\":[{},[]],\"sessionId\":[1,{\"sessionId\":2}]}", "[1,{\"sessionId\":2}]", 0, 1},
    {"{\"params\":{\"sessionId\":1,\"sessionId\":2}}", NULL,
	"{\"sessionId\":1,\"sessionId\":2}", "2", 0, 2},
    {"{\"\\u0070arams\":{\"\\u0073essionId\":4}}", NULL, "{\"\\u0073essionId\":4}", "4", 0, 1},
    {"{\"params\":1,\"sessionId\":2}", NULL, "1", NULL, 0, 0},
    {"{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":{\"sessionId\":1},"
     "\"id\":5}",
	"5", NULL, NULL, 1, 0},
};

static void
assert_part(const char *text, const struct json_watch *watch, const char *expected)
{
	if (expected == NULL) {
		assert_int_equal(watch->seen, 0);
		return;
	}
	assert_true(watch->seen > 0);
	assert_int_equal(watch->length, strlen(expected));
	assert_memory_equal(text + watch->offset, expected, watch->length);
	assert_int_equal(watch->first, expected[0]);
}

static void
test_watches(void **state)
{
	struct json_watch watches[W_COUNT];
	size_t i, size;

	(void)state;
	for (i = 0; i < sizeof watched / sizeof watched[0]; i++)
		for (size = 1; size < 100; size += size < 8 ? 1 : 90) {
			scan_watched(watched[i].text, size, watches);
			assert_part(watched[i].text, &watches[W_ID], watched[i].id);
			assert_part(watched[i].text, &watches[W_PARAMS], watched[i].params);
			assert_part(watched[i].text, &watches[W_SESSION], watched[i].session);
			assert_int_equal(watches[W_ID].seen, watched[i].ids);
			assert_int_equal(watches[W_SESSION].seen, watched[i].sessions);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_table),
	    cmocka_unit_test(test_refused_for_good),
	    cmocka_unit_test(test_prefixes),
	    cmocka_unit_test(test_agrees_with_parser),
	    cmocka_unit_test(test_single_line),
	    cmocka_unit_test(test_depth_is_capped),
	    cmocka_unit_test(test_watches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
