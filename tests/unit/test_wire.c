/*
 * Payload encoding and frame headers: what is written is read again, and reading never goes
 * past the end.
 */
#include <config.h>

#include "common/frame.h"
#include "common/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
test_round_trip(void **state)
{
	struct buffer buffer = BUFFER_EMPTY;
	struct wire_cursor cursor;
	const char *text;
	size_t length;

	(void)state;
	wire_put_u8(&buffer, 0xfe);
	wire_put_u32(&buffer, 0xdeadbeef);
	wire_put_u64(&buffer, 0x0123456789abcdef);
	wire_put_text(&buffer, "a\0b", 3);
	wire_put_text(&buffer, "", 0);
	buffer_append_text(&buffer, "rest");
	wire_start(&cursor, buffer.data, buffer.length);
	assert_int_equal(wire_get_u8(&cursor), 0xfe);
	assert_int_equal(wire_get_u32(&cursor), 0xdeadbeef);
	assert_true(wire_get_u64(&cursor) == 0x0123456789abcdef);
	text = wire_get_text(&cursor, &length);
	assert_int_equal(length, 3);
	assert_memory_equal(text, "a\0b", 3);
	assert_non_null(wire_get_text(&cursor, &length));
	assert_int_equal(length, 0);
	assert_int_equal(wire_end(&cursor), -1); /* something is left */
	text = wire_get_rest(&cursor, &length);
	assert_int_equal(length, 4);
	assert_memory_equal(text, "rest", 4);
	assert_int_equal(wire_end(&cursor), 0);
	buffer_free(&buffer);
}

static void
test_byte_order(void **state)
{
	struct buffer buffer = BUFFER_EMPTY;

	(void)state;
	wire_put_u32(&buffer, 0x04030201);
	wire_put_u64(&buffer, 0x0c0b0a0908070605);
	assert_int_equal(buffer.length, 12);
	assert_memory_equal(buffer.data, "\1\2\3\4\5\6\7\x8\x9\xa\xb\xc", 12);
	buffer_free(&buffer);
}

/* At every length that is too short the read fails, latches, and gives zeros. */
static void
test_short(void **state)
{
	struct buffer buffer = BUFFER_EMPTY;
	struct wire_cursor cursor;
	size_t length, size;
	unsigned char *copy;

	(void)state;
	wire_put_u8(&buffer, 1);
	wire_put_u64(&buffer, 2);
	wire_put_text(&buffer, "abc", 3);
	for (length = 0; length < buffer.length; length++) {
		copy = malloc(length > 0 ? length : 1); /* the sanitizer guards its end */
		assert_non_null(copy);
		memcpy(copy, buffer.data, length);
		wire_start(&cursor, copy, length);
		wire_get_u8(&cursor);
		wire_get_u64(&cursor);
		assert_null(wire_get_text(&cursor, &size));
		assert_int_equal(size, 0);
		assert_int_equal(wire_get_u32(&cursor), 0);
		assert_null(wire_get_rest(&cursor, &size));
		assert_int_equal(size, 0);
		assert_int_equal(wire_end(&cursor), -1);
		free(copy);
	}
	buffer_free(&buffer);
}

/* A length field that lies. */
static void
test_lying_length(void **state)
{
	static const unsigned char lies[] = {0xff, 0xff, 0xff, 0xff, 'a'};
	struct wire_cursor cursor;
	size_t length;

	(void)state;
	wire_start(&cursor, lies, sizeof lies);
	assert_null(wire_get_text(&cursor, &length));
	assert_int_equal(wire_end(&cursor), -1);
}

static void
test_frame(void **state)
{
	struct frame_header header = {
	    0x01020304, 0x0506, 0x0708, 0x090a0b0c, 0x0d0e0f10, 0x11121314};
	struct frame_header back;
	unsigned char bytes[FRAME_HEADER_SIZE];

	(void)state;
	frame_encode(&header, bytes);
	assert_memory_equal(bytes, "\4\3\2\1\6\5\x8\7\xc\xb\xa\x9\x10\xf\xe\xd\x14\x13\x12\x11",
	    FRAME_HEADER_SIZE);
	frame_decode(bytes, &back);
	assert_memory_equal(&header, &back, sizeof header);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_byte_order),
	    cmocka_unit_test(test_short),
	    cmocka_unit_test(test_lying_length),
	    cmocka_unit_test(test_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
