/*
 * Access to JSON values: every getter has a default, nothing lenient gets in.
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

static struct json_object *
parse(const char *text)
{
	const char *reason;
	struct json_object *value = json_parse(text, strlen(text), &reason);

	assert_null(reason);
	return value;
}

static void
test_parse(void **state)
{
	struct json_object *value;
	const char *reason = "untouched";

	(void)state;
	assert_null(json_parse("null", 4, &reason));
	assert_null(reason);
	assert_null(json_parse("", 0, &reason));
	assert_non_null(reason);
	assert_null(json_parse("{'a':1}", 7, &reason));
	assert_non_null(reason);
	assert_null(json_parse("[NaN]", 5, &reason));
	assert_non_null(reason);
	assert_null(json_parse("[1] x", 5, &reason));
	assert_non_null(reason);
	value = json_parse("12", 2, &reason);
	assert_null(reason);
	assert_int_equal(json_object_get_int64(value), 12);
	json_object_put(value);
	value = json_parse("12345", 2, &reason); /* only `length` bytes count */
	assert_int_equal(json_object_get_int64(value), 12);
	json_object_put(value);
}

static void
test_depth(void **state)
{
	char text[2 * JSON_DEPTH_MAX + 4];
	struct json_object *value;
	const char *reason;

	(void)state;
	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	value = json_parse(text, 2 * JSON_DEPTH_MAX, &reason);
	assert_null(reason);
	json_object_put(value);
	memset(text, '[', JSON_DEPTH_MAX + 1);
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	assert_null(json_parse(text, 2 * JSON_DEPTH_MAX + 2, &reason));
	assert_string_equal(reason, "nested too deeply");
}

static void
test_members(void **state)
{
	struct json_object *value = parse("{\"s\":\"x\",\"o\":{\"k\":1},\"a\":[1],\"n\":null,"
					  "\"nul\":\"a\\u0000b\",\"e\":\"\"}");

	(void)state;
	assert_string_equal(json_member_string(value, "s"), "x");
	assert_string_equal(json_member_string(value, "e"), "");
	assert_null(json_member_string(value, "o"));
	assert_null(json_member_string(value, "nul"));
	assert_null(json_member_string(value, "none"));
	assert_null(json_member_string(NULL, "s"));
	assert_null(json_member_string(json_member(value, "a"), "s"));
	assert_string_equal(json_member_text(value, "n", "else"), "else");
	assert_non_null(json_member_object(value, "o"));
	assert_null(json_member_object(value, "a"));
	assert_non_null(json_member_array(value, "a"));
	assert_null(json_member_array(value, "o"));
	assert_true(json_has(value, "s"));
	assert_false(json_has(value, "n"));
	assert_false(json_has(value, "none"));
	json_object_put(value);
}

static void
test_integers(void **state)
{
	static const struct {
		const char *json;
		bool valid;
		int64_t value;
	} rows[] = {
	    {"1", true, 1},
	    {"-5", true, -5},
	    {"9223372036854775807", true, INT64_MAX},
	    {"-9223372036854775808", true, INT64_MIN},
	    {"2.0", true, 2},
	    {"2.5", false, 0},
	    {"1e3", true, 1000},
	    {"1e300", false, 0},
	    {"1e999", false, 0},
	    {"\"7\"", true, 7},
	    {"\"7 \"", true, 7},
	    {"\"7x\"", false, 0},
	    {"\"\"", false, 0},
	    {"\"99999999999999999999\"", false, 0},
	    {"true", false, 0},
	    {"null", false, 0},
	    {"[]", false, 0},
	};
	char text[64];
	struct json_object *value;
	int64_t number;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		snprintf(text, sizeof text, "{\"v\":%s}", rows[i].json);
		value = parse(text);
		number = 4711;
		assert_int_equal(json_member_integer(value, "v", &number), rows[i].valid);
		assert_int_equal(number, rows[i].valid ? rows[i].value : 4711);
		json_object_put(value);
	}
}

static void
test_booleans_and_doubles(void **state)
{
	struct json_object *value = parse(
	    "{\"t\":true,\"f\":false,\"T\":\"True\",\"F\":\"FALSE\",\"x\":\"yes\",\"n\":1,"
	    "\"d\":1.5}");
	double number = 9;

	(void)state;
	assert_true(json_member_boolean(value, "t", false));
	assert_false(json_member_boolean(value, "f", true));
	assert_true(json_member_boolean(value, "T", false));
	assert_false(json_member_boolean(value, "F", true));
	assert_true(json_member_boolean(value, "x", true));
	assert_false(json_member_boolean(value, "n", false));
	assert_true(json_member_boolean(value, "none", true));
	assert_true(json_member_double(value, "d", &number));
	assert_true(number > 1.49 && number < 1.51);
	assert_true(json_member_double(value, "n", &number));
	assert_false(json_member_double(value, "x", &number));
	json_object_put(value);
}

static void
test_building(void **state)
{
	struct json_object *value = json_object_new_object();
	size_t length;

	(void)state;
	json_set_text(value, "a", "x/y\n\xff");
	json_set_text(value, "b", NULL);
	json_set_integer(value, "c", INT64_MIN);
	json_set_boolean(value, "d", true);
	json_set(value, "e", json_new_bytes("a\0b", 3));
	assert_string_equal(json_text(value, &length),
	    "{\"a\":\"x/y\\n\xef\xbf\xbd\",\"b\":null,\"c\":-9223372036854775808,\"d\":true,"
	    "\"e\":\"a\\u0000b\"}");
	assert_int_equal(length, strlen(json_text(value, NULL)));
	json_object_put(value);
	assert_string_equal(json_text(NULL, &length), "null");
}

/* The same value gives the same bytes, however its members were ordered. */
static void
test_sorted(void **state)
{
	struct json_object *a =
	    parse("{\"b\":[{\"z\":1,\"y\":\"\\u00e9\\n\"}],\"a\":null,\"c\":{}}");
	struct json_object *b =
	    parse("{\"c\":{},\"a\":null,\"b\":[{\"y\":\"\xc3\xa9\\n\",\"z\":1}]}");
	struct buffer one = BUFFER_EMPTY, two = BUFFER_EMPTY;

	(void)state;
	assert_int_equal(json_append_sorted(&one, a), 0);
	assert_int_equal(json_append_sorted(&two, b), 0);
	assert_string_equal(buffer_text(&one), buffer_text(&two));
	assert_string_equal(
	    buffer_text(&one), "{\"a\":null,\"b\":[{\"y\":\"\xc3\xa9\\n\",\"z\":1}],\"c\":{}}");
	buffer_free(&one);
	buffer_free(&two);
	json_object_put(a);
	json_object_put(b);
}

/* What json-c would bend on the way out stays JSON. */
static void
test_output_is_json(void **state)
{
	static const char *const texts[] = {"[1e999,-1e999]", "[18446744073709551616]",
	    "[-9223372036854775809]", "[1.0,1e2,0.1]", "[\"\\ud800\"]", "[\"\\u0000\"]",
	    "{\"a\\u0000b\":1}", "[\"\x7f\"]"};
	struct json_object *value, *copy;
	const char *text;
	size_t i, length;

	(void)state;
	for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		value = parse(texts[i]);
		text = json_text(value, &length);
		assert_null(json_scan_check(text, length, JSON_DEPTH_MAX));
		copy = json_copy(value);
		text = json_text(copy, &length);
		assert_null(json_scan_check(text, length, JSON_DEPTH_MAX));
		assert_string_equal(text, json_text(value, NULL));
		json_object_put(copy);
		json_object_put(value);
	}
	assert_null(json_copy(NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parse),
	    cmocka_unit_test(test_depth),
	    cmocka_unit_test(test_members),
	    cmocka_unit_test(test_integers),
	    cmocka_unit_test(test_booleans_and_doubles),
	    cmocka_unit_test(test_building),
	    cmocka_unit_test(test_sorted),
	    cmocka_unit_test(test_output_is_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
