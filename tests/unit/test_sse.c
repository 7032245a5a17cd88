/*
 * The event-stream parser: the grammar, cuts at every byte, limits.
 */
#include <config.h>

#include "worker/providers/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Writes every event as "name|data;" into a buffer. */
static bool
record(const char *name, const char *data, size_t length, void *arg)
{
	struct buffer *seen = arg;

	buffer_printf(seen, "%s|", name);
	buffer_append(seen, data, length);
	buffer_append_text(seen, ";");
	return length != 4 || memcmp(data, "STOP", 4) != 0;
}

/* Feeds `text` in pieces of `piece` bytes, each from memory of its own, so that a view that
 * outlives its piece is found by the sanitizer. */
static void
feed_in_pieces(struct sse *sse, const char *text, size_t length, size_t piece)
{
	size_t at, size;
	char *copy;

	for (at = 0; at < length; at += size) {
		size = length - at < piece ? length - at : piece;
		copy = malloc(size);
		assert_non_null(copy);
		memcpy(copy, text + at, size);
		sse_feed(sse, copy, size);
		free(copy);
	}
}

static void
check(const char *text, const char *expected)
{
	size_t length = strlen(text), piece;
	struct buffer seen = BUFFER_EMPTY;
	struct sse sse;

	for (piece = 1; piece <= length; piece++) {
		sse_start(&sse, record, &seen);
		feed_in_pieces(&sse, text, length, piece);
		sse_end(&sse);
		assert_string_equal(buffer_text(&seen), expected);
		assert_null(sse.error);
		sse_free(&sse);
		buffer_clear(&seen);
	}
	buffer_free(&seen);
}

static void
test_line_ends(void **state)
{
	(void)state;
	check("data: a\n\ndata: b\n\n", "|a;|b;");
	check("data: a\r\n\r\ndata: b\r\n\r\n", "|a;|b;");
	check("data: a\r\rdata: b\r\r", "|a;|b;");
	check("data: a\r\n\ndata: b\n\r\n", "|a;|b;");
}

static void
test_fields(void **state)
{
	(void)state;
	check("data:a\n\n", "|a;");
	check("data:  a\n\n", "| a;");
	check("data\n\n", "|;");
	check("event: chunk\nid: 7\nretry: 5\ndata: x\n\n", "chunk|x;");
	check("data: x\nevent: late\n\ndata: y\n\n", "late|x;|y;");
	check("database: x\nunknown\n\n", "");
	check("event: error\n\n", "error|;");
	check("data: a\ndata: b\ndata:\n\n", "|a\nb\n;");
}

static void
test_comments_and_blank_lines(void **state)
{
	(void)state;
	check(": OPENROUTER PROCESSING\n\n:\n\n\n\ndata: x\n\n", "|x;");
	check("data: a\n: between\ndata: b\n\n", "|a\nb;");
}

static void
test_byte_order_mark(void **state)
{
	(void)state;
	check("\xef\xbb\xbf"
	      "data: x\n\n",
	    "|x;");
	check("data: \xef\xbb\xbfx\n\n", "|\xef\xbb\xbfx;");
}

static void
test_end_without_blank_line(void **state)
{
	(void)state;
	check("data: a\n\ndata: [DONE]", "|a;|[DONE];");
	check("data: [DONE]\n", "|[DONE];");
	check("", "");
}

static void
test_stop(void **state)
{
	(void)state;
	check("data: a\n\ndata: STOP\n\ndata: c\n\n", "|a;|STOP;");
}

static void
test_counts(void **state)
{
	struct buffer seen = BUFFER_EMPTY;
	struct sse sse;

	(void)state;
	sse_start(&sse, record, &seen);
	sse_feed(&sse, ": one\n: two\ndata: x\n", 20);
	assert_int_equal(sse.comments, 2);
	assert_int_equal(sse.events, 0);
	sse_feed(&sse, "\ndata", 5);
	assert_int_equal(sse.events, 1);
	sse_free(&sse);
	buffer_free(&seen);
}

static void
test_line_limit(void **state)
{
	struct buffer seen = BUFFER_EMPTY;
	size_t size = 1 << 20, i;
	char *block = malloc(size);
	struct sse sse;

	(void)state;
	assert_non_null(block);
	memset(block, 'x', size);
	sse_start(&sse, record, &seen);
	sse_feed(&sse, "data: ", 6);
	for (i = 0; i < 15; i++)
		sse_feed(&sse, block, size);
	assert_null(sse.error);
	sse_feed(&sse, block, size);
	assert_non_null(sse.error);
	assert_true(sse.stopped);
	sse_feed(&sse, "\n\n", 2);
	sse_end(&sse);
	assert_int_equal(seen.length, 0);
	sse_free(&sse);
	buffer_free(&seen);
	free(block);
}

static void
test_event_limit(void **state)
{
	struct buffer seen = BUFFER_EMPTY;
	size_t size = (1 << 20) + 6, i;
	char *block = malloc(size);
	struct sse sse;

	(void)state;
	assert_non_null(block);
	memset(block, 'x', size);
	memcpy(block, "data:", 5);
	block[size - 1] = '\n';
	sse_start(&sse, record, &seen);
	for (i = 0; i < 40; i++)
		sse_feed(&sse, block, size);
	assert_non_null(sse.error);
	assert_int_equal(seen.length, 0);
	sse_free(&sse);
	buffer_free(&seen);
	free(block);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_line_ends),
	    cmocka_unit_test(test_fields),
	    cmocka_unit_test(test_comments_and_blank_lines),
	    cmocka_unit_test(test_byte_order_mark),
	    cmocka_unit_test(test_end_without_blank_line),
	    cmocka_unit_test(test_stop),
	    cmocka_unit_test(test_counts),
	    cmocka_unit_test(test_line_limit),
	    cmocka_unit_test(test_event_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
