/*
 * The unsaved tail of a turn: chunks in order, dropped when saved, never above the limit.
 */
#include <config.h>

#include "common/wire.h"
#include "supervisor/tail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The chunks as a text, joined with "|". */
static void
expect(const struct tail *tail, const char *expected)
{
	struct buffer text = BUFFER_EMPTY;
	struct wire_cursor cursor;
	const char *chunk;
	size_t length, count = 0;

	if (tail->chunks.length > 0) {
		wire_start(&cursor, tail->chunks.data, tail->chunks.length);
		while (cursor.left > 0) {
			chunk = wire_get_text(&cursor, &length);
			assert_non_null(chunk);
			if (count++ > 0)
				buffer_append_byte(&text, '|');
			buffer_append(&text, chunk, length);
		}
	}
	assert_int_equal(tail->next - tail->first, count);
	assert_string_equal(buffer_text(&text), expected);
	buffer_free(&text);
}

static void
add(struct tail *tail, const char *text)
{
	assert_int_equal(tail_add(tail, text, strlen(text)), 0);
}

static void
test_saved(void **state)
{
	struct tail tail = {0};

	(void)state;
	expect(&tail, "");
	add(&tail, "a");
	add(&tail, "bb");
	add(&tail, "");
	add(&tail, "ccc");
	expect(&tail, "a|bb||ccc");
	tail_saved(&tail, 0);
	expect(&tail, "a|bb||ccc");
	tail_saved(&tail, 2);
	expect(&tail, "|ccc");
	tail_saved(&tail, 1); /* older news change nothing */
	expect(&tail, "|ccc");
	add(&tail, "d");
	tail_saved(&tail, 3);
	expect(&tail, "ccc|d");
	tail_saved(&tail, 5);
	expect(&tail, "");
	assert_int_equal(tail.next, 5);
	add(&tail, "e");
	expect(&tail, "e");
	tail_saved(&tail, UINT64_MAX); /* more than there were */
	expect(&tail, "");
	add(&tail, "f");
	expect(&tail, "f");
	tail_clear(&tail);
	expect(&tail, "");
	assert_int_equal(tail.next, 0);
}

/* Whatever is added, the limit holds, the newest stays and the numbers agree. */
static void
test_limit(void **state)
{
	static const size_t sizes[] = {100, 10000, 65536, 1, 1000000};
	struct tail tail = {0};
	struct wire_cursor cursor;
	char *text = calloc(1, 1000000);
	size_t i, length, size, count;

	(void)state;
	assert_non_null(text);
	for (i = 0; i < 3000; i++) {
		size = sizes[i % 5];
		assert_int_equal(tail_add(&tail, text, size), 0);
		assert_true(tail.chunks.length <= TAIL_MAX);
		assert_true(tail.chunks.length >= size + 4);
		assert_int_equal(tail.next, i + 1);
	}
	count = 0;
	wire_start(&cursor, tail.chunks.data, tail.chunks.length);
	while (cursor.left > 0) {
		assert_non_null(wire_get_text(&cursor, &length));
		count++;
	}
	assert_int_equal(length, sizes[2999 % 5]);
	assert_int_equal(tail.next - tail.first, count);
	tail_clear(&tail);
	free(text);
}

static void
test_too_big(void **state)
{
	struct tail tail = {0};
	char *text = calloc(1, TAIL_MAX + 1);

	(void)state;
	assert_non_null(text);
	add(&tail, "a");
	assert_int_equal(tail_add(&tail, text, TAIL_MAX + 1), 0);
	expect(&tail, "");
	assert_int_equal(tail.next, 2);
	add(&tail, "b");
	expect(&tail, "b");
	assert_int_equal(tail_add(&tail, text, TAIL_MAX - 4), 0);
	assert_int_equal(tail.chunks.length, TAIL_MAX);
	assert_int_equal(tail.next - tail.first, 1);
	tail_clear(&tail);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_saved),
	    cmocka_unit_test(test_limit),
	    cmocka_unit_test(test_too_big),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
