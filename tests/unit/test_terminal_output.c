/*
 * What a command writes becomes text: control sequences, bytes that are no text, and no more
 * than the limit.
 */
#include <config.h>

#include "common/buffer.h"
#include "common/utf8.h"
#include "worker/tools/terminal_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *
feed(const char *text, size_t length, size_t step)
{
	struct terminal_output *captured = terminal_output_new();
	size_t at, n, size;
	char *result;

	for (at = 0; at < length; at += n) {
		n = length - at < step ? length - at : step;
		terminal_output_feed(captured, text + at, n);
	}
	result = terminal_output_text(captured, &size);
	assert_true(utf8_valid(result, size));
	assert_int_equal(strlen(result), size);
	assert_true(utf8_count(result, size) <= TERMINAL_OUTPUT_MAX);
	terminal_output_free(captured);
	return result;
}

static void
test_output_text(void **state)
{
	static const struct {
		const char *in;
		size_t length;
		const char *out;
	} cases[] = {
#define CASE(in, out) {in, sizeof in - 1, out}
	    CASE("\xff\xfe"
		 "A\0B\n",
		UTF8_REPLACEMENT UTF8_REPLACEMENT "AB\n"),
	    CASE("\033[2K\r10%\r100%\n", "100%\n"),
	    CASE("\033[?25l\033]8;;http://x\033\\link\033]8;;\033\\\n", "link\n"),
	    CASE("a\r\nb\r\r\nc", "a\nb\nc"),
	    CASE("50%\r", "50%"),
	    CASE("abc\rxy\n", "xy\n"),
	    CASE("\033[1;31mred\033[0m \xe4\xb8\xad", "red \xe4\xb8\xad"),
	    CASE("N\bNA\b\b", ""),
	    CASE("x\xe4\xb8", "x" UTF8_REPLACEMENT),
	    CASE("\033]0;title\007ok\033(Bk", "okk"),
	    CASE("\033[12\nnext", "\nnext"),
	    CASE("one\n1\r2\r3\ntwo\r", "one\n3\ntwo"),
#undef CASE
	};
	size_t i, step;
	char *text;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		for (step = 1; step < 20; step += 3) {
			text = feed(cases[i].in, cases[i].length, step);
			assert_string_equal(text, cases[i].out);
			free(text);
		}
}

static char *
repeat(const char *part, size_t count, size_t *length)
{
	struct buffer text = BUFFER_EMPTY;

	while (count-- > 0)
		buffer_append_text(&text, part);
	*length = text.length;
	return buffer_take(&text);
}

static void
test_output_limit(void **state)
{
	size_t length, i;
	char *in, *out;
	static const size_t sizes[] = {49999, 50000, 50001, 3000000};
	static const char *const parts[] = {"x", "\xe4\xb8\xad"};

	(void)state;
	for (i = 0; i < 8; i++) {
		in = repeat(parts[i % 2], sizes[i / 2], &length);
		out = feed(in, length, 65536);
		assert_int_equal(strstr(out, "OUTPUT TRUNCATED") != NULL, sizes[i / 2] > 50000);
		if (sizes[i / 2] <= 50000)
			assert_string_equal(in, out);
		free(in);
		free(out);
	}
	in = repeat("line\n", 100000, &length);
	memcpy(in + length - 5, "LAST\n", 5);
	out = feed(in, length, 1000);
	assert_non_null(strstr(out, "LAST"));
	assert_non_null(strstr(out, "omitted out of 500000 total"));
	free(in);
	free(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_output_text),
	    cmocka_unit_test(test_output_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
