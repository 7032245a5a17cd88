/*
 * Standard output: every byte once and in order however slowly it is read, the levels told
 * as promised, and the end told once.
 */
#include <config.h>

#include "common/buffer.h"
#include "supervisor/client_writer.h"
#include "tests/unit/peer_fixture.h"

#include <signal.h>

struct fixture {
	struct peer peer;
	struct client_writer *writer;
	size_t levels[64], level_count, ends;
	struct buffer got;
};

static void
on_level(size_t level, void *arg)
{
	struct fixture *fixture = arg;

	assert_true(fixture->level_count < 64);
	fixture->levels[fixture->level_count++] = level;
}

static void
on_ended(void *arg)
{
	struct fixture *fixture = arg;

	fixture->ends++;
}

static int
set_up(void **state)
{
	static const struct client_writer_callbacks callbacks = {
	    .level = on_level, .ended = on_ended};
	struct fixture *fixture = calloc(1, sizeof *fixture);
	int fd;

	assert_non_null(fixture);
	fd = peer_reads(&fixture->peer);
	fixture->writer = client_writer_new(fixture->peer.base, fd, &callbacks, fixture);
	assert_non_null(fixture->writer);
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	client_writer_free(fixture->writer);
	buffer_free(&fixture->got);
	peer_clear(&fixture->peer);
	free(fixture);
	return 0;
}

/* Reads up to `most` bytes and lets the writer go on; false when nothing came. */
static bool
take(struct fixture *fixture, size_t most)
{
	char bytes[65536];
	ssize_t n;

	peer_run(&fixture->peer);
	n = read(fixture->peer.fd, bytes, most < sizeof bytes ? most : sizeof bytes);
	if (n > 0)
		buffer_append(&fixture->got, bytes, (size_t)n);
	return n > 0;
}

static void
test_lines(void **state)
{
	struct fixture *fixture = *state;

	client_writer_text(fixture->writer, "{\"a\":");
	client_writer_text(fixture->writer, "");
	client_writer_add(fixture->writer, "1}\n", 3);
	client_writer_text(fixture->writer, "{}\n");
	while (take(fixture, 4))
		;
	assert_string_equal(buffer_text(&fixture->got), "{\"a\":1}\n{}\n");
	assert_int_equal(client_writer_queued(fixture->writer), 0);
}

/* The reader stands still: the queue grows, the levels are told on the way up and down. */
static void
test_levels(void **state)
{
	static const size_t expected[] = {CLIENT_WRITER_HIGH, CLIENT_WRITER_FULL,
	    CLIENT_WRITER_HIGH, CLIENT_WRITER_FULL, CLIENT_WRITER_HIGH, 0, CLIENT_WRITER_HIGH,
	    0};
	struct fixture *fixture = *state;
	char line[1024];
	size_t i, added = 0;
	unsigned number = 0;

	/* Up to FULL, down to below HIGH, up to FULL again, empty, above HIGH, empty. */
	for (i = 0; i < 3; i++) {
		size_t up = (i == 2 ? CLIENT_WRITER_HIGH : CLIENT_WRITER_FULL) + 100000;
		size_t down = i == 0 ? CLIENT_WRITER_HIGH - 100000 : 0;

		while (client_writer_queued(fixture->writer) < up) {
			snprintf(line, sizeof line, "%-1022u\n", number++);
			client_writer_add(fixture->writer, line, 1023);
			added += 1023;
		}
		while (client_writer_queued(fixture->writer) > down && take(fixture, 65536))
			;
	}
	while (take(fixture, 65536))
		;
	assert_int_equal(fixture->got.length, added);
	for (i = 0; i < number; i++)
		assert_int_equal(strtoul(fixture->got.data + i * 1023, NULL, 10), i);
	assert_int_equal(fixture->level_count, sizeof expected / sizeof expected[0]);
	assert_memory_equal(fixture->levels, expected, sizeof expected);
}

static void
test_closed(void **state)
{
	struct fixture *fixture = *state;

	peer_close(&fixture->peer);
	client_writer_text(fixture->writer, "{}\n");
	peer_run(&fixture->peer);
	client_writer_text(fixture->writer, "{}\n");
	peer_run(&fixture->peer);
	client_writer_flush(fixture->writer);
	assert_int_equal(fixture->ends, 1);
	assert_int_equal(client_writer_queued(fixture->writer), 0);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ROW(test_lines),
	    ROW(test_levels),
	    ROW(test_closed),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
