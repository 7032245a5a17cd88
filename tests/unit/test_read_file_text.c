/*
 * The text that read_file makes of bytes: line ends, encodings, what is no text; long lines
 * and big files, which must not block.
 */
#include <config.h>

#include "tests/lib/portable.h"
#include "tests/unit/read_fixture.h"

static void
test_line_ends(void **state)
{
	struct tool_fixture *fixture = *state;

	PUT(fixture, "crlf", "a = 1\r\nb = 2\r\nc = 3\r\n");
	PUT(fixture, "cr", "a\rb\rc\r");
	PUT(fixture, "mixed", "a\nb\r\nc\n");
	reads(fixture, "{\"path\":\"crlf\"}", "1|a = 1\n2|b = 2\n3|c = 3");
	reads(fixture, "{\"path\":\"cr\"}", "1|a\n2|b\n3|c");
	reads(fixture, "{\"path\":\"mixed\"}", "1|a\n2|b\n3|c");
}

static void
test_encodings(void **state)
{
	struct tool_fixture *fixture = *state;

	PUT(fixture, "bom", "\xef\xbb\xbfhello\n\xe4\xb8\xad\xe6\x96\x87\n");
	PUT(fixture, "le", "\xff\xfeh\0i\0\n\0\x3d\xd8\x00\xde\n\0");
	PUT(fixture, "be", "\xfe\xff\0h\0i");
	PUT(fixture, "latin", "caf\xe9 au lait\nsecond line of it\n");
	PUT(fixture, "late", "x\n");
	reads(fixture, "{\"path\":\"bom\"}", "1|hello\n2|\xe4\xb8\xad\xe6\x96\x87");
	reads(fixture, "{\"path\":\"le\"}", "1|hi\n2|\xf0\x9f\x98\x80");
	assert_non_null(strstr(hint_of(fixture), "UTF-16"));
	reads(fixture, "{\"path\":\"be\"}", "1|hi");
	reads(
	    fixture, "{\"path\":\"latin\"}", "1|caf\xef\xbf\xbd au lait\n2|second line of it");
	assert_non_null(strstr(hint_of(fixture), "not UTF-8"));
	/* Bytes that begin like UTF-16 and are not: still valid text in the answer. */
	PUT(fixture, "odd",
	    "\xff\xfe"
	    "A\0B\n");
	read_with(fixture, "{\"path\":\"odd\"}");
	assert_non_null(strstr(content(fixture), "1|A"));
}

static void
test_binary(void **state)
{
	struct tool_fixture *fixture = *state;

	PUT(fixture, "image.txt", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
	PUT(fixture, "nul", "text\0more");
	PUT(fixture, "noise", "\x81\x92\xa3\xb4\xc5\xd6\xe7\xf8\x80\x81\x82 x");
	refuses(fixture, "{\"path\":\"image.txt\"}", "PNG image");
	refuses(fixture, "{\"path\":\"nul\"}", "binary");
	refuses(fixture, "{\"path\":\"noise\"}", "binary");
}

static void
test_long_lines(void **state)
{
	struct tool_fixture *fixture = *state;
	struct buffer text = BUFFER_EMPTY;
	size_t i;

	for (i = 0; i < 2001; i++)
		buffer_append_text(&text, "\xc3\xa9");
	buffer_append_text(&text, "\nend\n");
	for (i = 0; i < 2000; i++)
		buffer_append_text(&text, "x");
	buffer_append_text(&text, "\r\n");
	tool_fixture_put(fixture, "long", buffer_text(&text), text.length);
	read_with(fixture, "{\"path\":\"long\"}");
	assert_non_null(strstr(content(fixture), "\xc3\xa9... [truncated]\n2|end\n3|xxx"));
	assert_null(strstr(content(fixture), "x... [truncated]"));
	assert_int_equal(strlen(content(fixture)), 2 + 4000 + 15 + 1 + 5 + 1 + 2 + 2000);
	assert_int_equal(number_of(fixture, "total_lines"), 3);
	assert_int_equal(
	    file_stamps_query(fixture->context.stamps, "x", NULL), FILE_NEVER_SEEN);
	buffer_free(&text);
}

static void
test_size_limit(void **state)
{
	struct tool_fixture *fixture = *state;
	struct buffer text = BUFFER_EMPTY;
	char *arguments;
	int64_t shown;
	int i;

	for (i = 0; i < 1100; i++)
		buffer_printf(&text, "%0150d\n", i);
	tool_fixture_put(fixture, "big", buffer_text(&text), text.length);
	read_with(fixture, "{\"path\":\"big\"}");
	assert_true(strlen(content(fixture)) <= 100000);
	assert_true(strlen(content(fixture)) > 99000);
	assert_int_equal(number_of(fixture, "total_lines"), 1100);
	assert_int_equal(sscanf(hint_of(fixture), "Use offset=%" SCNd64, &shown), 1);
	arguments = xasprintf("{\"path\":\"big\",\"offset\":%d}", (int)shown);
	read_with(fixture, arguments);
	assert_false(json_member_boolean(fixture->result, "truncated", true));
	assert_int_equal(strtol(content(fixture), NULL, 10), shown);
	free(arguments);
	buffer_free(&text);
}

static void
test_sparse(void **state)
{
	struct tool_fixture *fixture = *state;
	struct buffer text = BUFFER_EMPTY;
	char *path = tool_fixture_path(fixture, "sparse");
	int64_t begin = monotonic_ms();
	int i;

	for (i = 0; i < 100; i++)
		buffer_append_text(&text, "some line of text\n");
	tool_fixture_put(fixture, "sparse", buffer_text(&text), text.length);
	buffer_free(&text);
	assert_int_equal(truncate(path, (off_t)5 << 30), 0);
	read_with(fixture, "{\"path\":\"sparse\",\"offset\":1,\"limit\":10}");
	assert_int_equal(strncmp(content(fixture), "1|some line of text\n", 20), 0);
	assert_non_null(strstr(content(fixture), "\n10|some line of text"));
	assert_true(json_member_boolean(fixture->result, "truncated", false));
	assert_int_equal(number_of(fixture, "file_size"), (int64_t)5 << 30);
	/* Bounded by bytes read, not by the clock; the clock only catches a gross fault. */
	assert_true(monotonic_ms() - begin < 5000);
	free(path);
}

static void
test_slices(void **state)
{
	struct tool_fixture *fixture = *state;
	struct buffer text = BUFFER_EMPTY;
	char *path = tool_fixture_path(fixture, "huge");
	int i, fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (i = 0; i < 50000; i++)
		buffer_printf(&text, "line %d of many lines\n", i);
	for (i = 0; i < 40; i++)
		assert_int_equal(write(fd, text.data, text.length), (ssize_t)text.length);
	close(fd);
	tool_fixture_start(fixture, &tool_read_file, "{\"path\":\"huge\",\"offset\":1999999}");
	while (!fixture->finished)
		event_base_loop(fixture->context.base, EVLOOP_ONCE);
	assert_string_equal(content(fixture),
	    "1999999|line 49998 of many lines\n2000000|line 49999 of many lines");
	assert_int_equal(number_of(fixture, "total_lines"), 2000000);
	/* A cancel in the middle ends it. */
	tool_fixture_start(fixture, &tool_read_file, "{\"path\":\"huge\",\"offset\":1999999}");
	tool_run_cancel(fixture->run);
	assert_true(fixture->finished);
	event_base_loop(fixture->context.base, EVLOOP_NONBLOCK);
	assert_true(fixture->finished);
	buffer_free(&text);
	free(path);
}

static void
test_proc(void **state)
{
	struct tool_fixture *fixture = *state;

	if (access("/proc/self/status", R_OK) != 0)
		LEAVE_OUT("no /proc here");
	read_with(fixture, "{\"path\":\"/proc/self/status\"}");
	assert_int_equal(strncmp(content(fixture), "1|Name:", 7), 0);
	assert_true(number_of(fixture, "total_lines") > 10);
	assert_true(number_of(fixture, "file_size") > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TOOL_CASE(test_line_ends),
	    TOOL_CASE(test_encodings),
	    TOOL_CASE(test_binary),
	    TOOL_CASE(test_long_lines),
	    TOOL_CASE(test_size_limit),
	    TOOL_CASE(test_sparse),
	    TOOL_CASE(test_slices),
	    TOOL_CASE(test_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
