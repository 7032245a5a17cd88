/*
 * Lines from a real pipe: however the bytes are cut, the same lines come out; what is no
 * JSON or too long is told and the next line counts.
 */
#include <config.h>

#include "common/buffer.h"
#include "supervisor/client_reader.h"
#include "tests/unit/peer_fixture.h"

struct fixture {
	struct peer peer;
	struct client_reader *reader;
	struct buffer seen; /* one text line per event */
	size_t lines, ends, too_long;
	size_t pause_at; /* pauses within the callback of this line */
	bool resume;	 /* and resumes at once */
};

static void
on_line(const struct client_line *line, void *arg)
{
	struct fixture *fixture = arg;
	const char *method;
	size_t length;

	fixture->lines++;
	method = client_line_part(line, PART_METHOD, &length);
	if (line->error != NULL)
		buffer_append_text(&fixture->seen, "error\n");
	else if (method != NULL)
		buffer_printf(&fixture->seen, "%.*s\n", (int)length, method);
	else
		buffer_printf(&fixture->seen, "%.*s\n", (int)line->length, line->text);
	if (fixture->lines == fixture->pause_at) {
		client_reader_pause(fixture->reader, true);
		if (fixture->resume)
			client_reader_pause(fixture->reader, false);
	}
}

static void
on_too_long(void *arg)
{
	struct fixture *fixture = arg;

	fixture->too_long++;
	buffer_append_text(&fixture->seen, "too long\n");
}

static void
on_ended(void *arg)
{
	struct fixture *fixture = arg;

	fixture->ends++;
	buffer_append_text(&fixture->seen, "end\n");
}

static int
set_up(void **state)
{
	static const struct client_reader_callbacks callbacks = {
	    .line = on_line, .too_long = on_too_long, .ended = on_ended};
	struct fixture *fixture = calloc(1, sizeof *fixture);
	int fd;

	assert_non_null(fixture);
	fd = peer_writes(&fixture->peer);
	fixture->reader = client_reader_new(fixture->peer.base, fd, &callbacks, fixture);
	assert_non_null(fixture->reader);
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	client_reader_free(fixture->reader);
	buffer_free(&fixture->seen);
	peer_clear(&fixture->peer);
	free(fixture);
	return 0;
}

static void
run(struct fixture *fixture)
{
	peer_run(&fixture->peer);
}

static void
send_bytes(struct fixture *fixture, const char *bytes, size_t length)
{
	peer_send(&fixture->peer, bytes, length);
	run(fixture);
}

static void
send_text(struct fixture *fixture, const char *text)
{
	send_bytes(fixture, text, strlen(text));
}

static void
end_input(struct fixture *fixture)
{
	peer_close(&fixture->peer);
	run(fixture);
}

static void
expect(struct fixture *fixture, const char *text)
{
	assert_string_equal(buffer_text(&fixture->seen), text);
	buffer_clear(&fixture->seen);
}

static void
test_lines(void **state)
{
	struct fixture *fixture = *state;

	send_text(fixture, "{\"method\":\"a\"}\n");
	expect(fixture, "\"a\"\n");
	send_text(fixture, "{\"method\":\"b\"}\n{\"method\":\"c\"}\n");
	expect(fixture, "\"b\"\n\"c\"\n");
	send_text(fixture, "{\"meth");
	expect(fixture, "");
	send_text(fixture, "od\":\"d\"}\n{\"method\"");
	expect(fixture, "\"d\"\n");
	send_text(fixture, ":\"e\"}\r\n");
	expect(fixture, "\"e\"\n");
}

static void
test_blank_lines(void **state)
{
	send_text(*state, "\n\r\n  \t \n\n\r\r\n{\"method\":\"a\"}\n\n");
	expect(*state, "\"a\"\n");
	end_input(*state);
	expect(*state, "end\n");
}

static void
test_byte_by_byte(void **state)
{
	static const char text[] =
	    " {\"method\":\"\xc3\xa9\\u0041\",\"params\":{\"sessionId\":\"s\"}}\r\n"
	    "\n{]\n[1]\n";
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < sizeof text - 1; i++)
		send_bytes(fixture, text + i, 1);
	expect(fixture, "\"\xc3\xa9\\u0041\"\nerror\n[1]\n");
}

static void
test_errors(void **state)
{
	struct fixture *fixture = *state;

	send_text(fixture, "{'a':1}\nnot json\n{\"method\":\"a\"}\n\xff\n{\"a\":\"\xc3\"}\n");
	expect(fixture, "error\nerror\n\"a\"\nerror\nerror\n");
	send_bytes(fixture, "\0\n{}\0\n", 6);
	expect(fixture, "error\nerror\n");
	send_text(fixture, "\xef\xbb\xbf{}\n{} {}\n{\"method\":\"b\"}\n");
	expect(fixture, "error\nerror\n\"b\"\n");
}

static void
test_last_line_without_newline(void **state)
{
	struct fixture *fixture = *state;

	send_text(fixture, "{\"method\":\"a\"}");
	expect(fixture, "");
	end_input(fixture);
	expect(fixture, "\"a\"\nend\n");
	assert_int_equal(fixture->ends, 1);
}

static void
test_cut_off_line(void **state)
{
	send_text(*state, "{\"method\":\"a\"");
	end_input(*state);
	expect(*state, "error\nend\n");
}

static void
test_too_long(void **state)
{
	struct fixture *fixture = *state;
	char text[300];
	size_t i;

	client_reader_set_limit(fixture->reader, 100);
	memset(text, ' ', sizeof text);
	memcpy(text, "{\"method\":\"a\"}", 14);
	text[100] = '\n';
	send_bytes(fixture, text, 101); /* exactly the limit */
	expect(fixture, "\"a\"\n");
	text[100] = ' ';
	text[101] = '\n';
	send_bytes(fixture, text, 102); /* one more */
	expect(fixture, "too long\n");
	memset(text, 'x', sizeof text);
	for (i = 0; i < 20; i++)
		send_bytes(fixture, text, sizeof text);
	expect(fixture, "too long\n"); /* told once, while it comes */
	send_text(fixture, "\n{\"method\":\"b\"}\n");
	expect(fixture, "\"b\"\n");
	send_bytes(fixture, text, sizeof text);
	end_input(fixture);
	expect(fixture, "too long\nend\n");
}

/* A big line, in the pieces that a pipe gives. */
static void
test_big_line(void **state)
{
	struct fixture *fixture = *state;
	struct buffer line = BUFFER_EMPTY;
	char *text = malloc(3000000);

	assert_non_null(text);
	memset(text, 'x', 3000000);
	buffer_append_text(&line, "{\"params\":{\"prompt\":\"");
	buffer_append(&line, text, 3000000);
	buffer_append_text(&line, "\"},\"method\":\"a\"}\n{\"method\":\"b\"}\n");
	send_bytes(fixture, line.data, line.length);
	run(fixture);
	expect(fixture, "\"a\"\n\"b\"\n");
	buffer_free(&line);
	free(text);
}

static void
test_pause(void **state)
{
	struct fixture *fixture = *state;

	client_reader_pause(fixture->reader, true);
	send_text(fixture, "{\"method\":\"a\"}\n");
	expect(fixture, "");
	client_reader_pause(fixture->reader, false);
	run(fixture);
	expect(fixture, "\"a\"\n");
}

/* A pause in the middle of a batch: not a line more, and none is lost or taken twice. */
static void
test_pause_inside(void **state)
{
	struct fixture *fixture = *state;

	fixture->pause_at = 2;
	send_text(
	    fixture, "{\"method\":\"a\"}\n{\"method\":\"b\"}\n{\"method\":\"c\"}\n{\"meth");
	expect(fixture, "\"a\"\n\"b\"\n");
	send_text(fixture, "od\":\"d\"}\n");
	expect(fixture, "");
	fixture->pause_at = 3;
	client_reader_pause(fixture->reader, false);
	run(fixture);
	expect(fixture, "\"c\"\n");
	end_input(fixture);
	expect(fixture, "");
	client_reader_pause(fixture->reader, false);
	run(fixture);
	expect(fixture, "\"d\"\nend\n");
}

static void
test_pause_and_resume_inside(void **state)
{
	struct fixture *fixture = *state;

	fixture->pause_at = 1;
	fixture->resume = true;
	send_text(fixture, "{\"method\":\"a\"}\n{\"method\":\"b\"}\n");
	send_text(fixture, "{\"method\":\"c\"}\n");
	expect(fixture, "\"a\"\n\"b\"\n\"c\"\n");
}

/* A pause by the very last line does not make the end come twice. */
static void
test_pause_at_the_end(void **state)
{
	struct fixture *fixture = *state;

	fixture->pause_at = 1;
	send_text(fixture, "{\"method\":\"a\"}");
	end_input(fixture);
	client_reader_pause(fixture->reader, false);
	run(fixture);
	assert_int_equal(fixture->ends, 1);
	expect(fixture, "\"a\"\nend\n");
}

/* Strings out of a line. */

static char *string_result;

static void
on_string_line(const struct client_line *line, void *arg)
{
	(void)arg;
	free(string_result);
	string_result = client_line_string(line, PART_SESSION_ID);
}

static void
on_nothing(void *arg)
{
	(void)arg;
}

static void
test_strings(void **state)
{
	static const struct {
		const char *line, *expected;
	} rows[] = {
	    {"{\"params\":{\"sessionId\":\"abc\"}}\n", "abc"},
	    {"{\"params\":{\"sessionId\":\"\"}}\n", ""},
	    {"{\"params\":{\"sessionId\" : \"\\u0061\\n\\u00e9\" }}\n", "a\n\xc3\xa9"},
	    {"{\"params\":{\"sessionId\":\"a\\u0000b\"}}\n", NULL},
	    {"{\"params\":{\"sessionId\":5}}\n", NULL},
	    {"{\"params\":{\"sessionId\":null}}\n", NULL},
	    {"{\"params\":{\"sessionId\":[\"a\"]}}\n", NULL},
	    {"{\"params\":{}}\n", NULL},
	    {"{\"params\":[{\"sessionId\":\"a\"}]}\n", NULL},
	};
	static const struct client_reader_callbacks callbacks = {
	    .line = on_string_line, .too_long = on_nothing, .ended = on_nothing};
	struct event_base *base = event_base_new();
	struct client_reader *reader;
	size_t i;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	reader = client_reader_new(base, fds[0], &callbacks, NULL);
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(
		    write(fds[1], rows[i].line, strlen(rows[i].line)), strlen(rows[i].line));
		event_base_loop(base, EVLOOP_ONCE);
		if (rows[i].expected == NULL)
			assert_null(string_result);
		else
			assert_string_equal(string_result, rows[i].expected);
	}
	free(string_result);
	string_result = NULL;
	client_reader_free(reader);
	close(fds[1]);
	event_base_free(base);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ROW(test_lines),
	    ROW(test_blank_lines),
	    ROW(test_byte_by_byte),
	    ROW(test_errors),
	    ROW(test_last_line_without_newline),
	    ROW(test_cut_off_line),
	    ROW(test_too_long),
	    ROW(test_big_line),
	    ROW(test_pause),
	    ROW(test_pause_inside),
	    ROW(test_pause_and_resume_inside),
	    ROW(test_pause_at_the_end),
	    cmocka_unit_test(test_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
