/*
 * The channel over a real socketpair: what arrives is whole and in order, what is sent arrives,
 * and the end of the peer is told once.
 */
#include <config.h>

#include "tests/unit/channel_fixture.h"

#include <signal.h>

static void
test_one_message(void **state)
{
	struct fixture *fixture = *state;

	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 1);
	assert_int_equal(fixture->seen.last.type, TO_SUPERVISOR_TEXT);
	assert_int_equal(fixture->seen.last.request, 7);
	assert_int_equal(fixture->seen.last.turn, 8);
	assert_int_equal(fixture->seen.last.generation, 9);
	assert_int_equal(fixture->seen.last.length, 2);
	assert_string_equal(buffer_text(&fixture->seen.payload), "{}");
}

static void
test_byte_by_byte(void **state)
{
	struct fixture *fixture = *state;
	struct buffer out = BUFFER_EMPTY;
	size_t i;

	put_frame(&out, TO_SUPERVISOR_TEXT, 0, "{\"a\":1}", 7);
	put_frame(&out, TO_SUPERVISOR_FAREWELL, 0, "", 0);
	for (i = 0; i < out.length; i++) {
		assert_int_equal(fixture->seen.messages, i >= FRAME_HEADER_SIZE + 7);
		peer_send(&fixture->peer, out.data + i, 1);
		settle(fixture);
	}
	assert_int_equal(fixture->seen.messages, 2);
	assert_int_equal(fixture->seen.last.type, TO_SUPERVISOR_FAREWELL);
	buffer_free(&out);
}

/* Every size around the sizes in which sockets and buffers work must come through. */
static void
test_sizes(void **state)
{
	static const size_t sizes[] = {2, 4076, 4077, 16384, 65515, 65516, 65517, 65536, 65537,
	    100000, 131072, 200000, MESSAGE_FRAME_MAX - 1, MESSAGE_FRAME_MAX};
	struct fixture *fixture = *state;
	size_t i;
	char *text;

	for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		text = malloc(sizes[i]);
		assert_non_null(text);
		memset(text, 'a' + (int)(i % 26), sizes[i]);
		send_frame(fixture, TO_SUPERVISOR_TEXT, 0, text, sizes[i]);
		settle(fixture);
		assert_int_equal(fixture->seen.messages, i + 1);
		assert_int_equal(fixture->seen.payload.length, sizes[i]);
		assert_memory_equal(fixture->seen.payload.data, text, sizes[i]);
		free(text);
	}
	assert_int_equal(fixture->seen.ends, 0);
}

static void
test_parts(void **state)
{
	struct fixture *fixture = *state;

	send_frame(fixture, TO_SUPERVISOR_TEXT, FRAME_MORE, "{\"a\"", 4);
	send_frame(fixture, TO_SUPERVISOR_TEXT, FRAME_MORE, "", 0);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 0);
	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, ":1}", 3);
	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "[]", 2);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 2);
	assert_int_equal(fixture->seen.bytes, 9);
	assert_int_equal(fixture->seen.last.flags, 0);
	assert_string_equal(buffer_text(&fixture->seen.payload), "[]");
}

/* What one channel sends in parts arrives at another as one. */
static void
test_send_and_receive(void **state)
{
	struct fixture *fixture = *state;
	struct seen other = {0};
	struct frame_header header = {.type = TO_WORKER_TURN_START, .turn = 3, .generation = 4};
	size_t size = 3 * MESSAGE_FRAME_MAX + 5;
	char *text = malloc(size);

	assert_non_null(text);
	memset(text, 'x', size);
	text[0] = '{';
	text[size - 1] = '}';
	other.channel = channel_new(
	    fixture->peer.base, fixture->peer.fd, MESSAGE_TO_WORKER, &callbacks, &other);
	assert_non_null(other.channel);
	assert_int_equal(channel_send(fixture->seen.channel, &header, text, size), 0);
	assert_true(channel_queued(fixture->seen.channel) > 0);
	while (other.messages == 0)
		event_base_loop(fixture->peer.base, EVLOOP_ONCE);
	assert_int_equal(other.payload.length, size);
	assert_memory_equal(other.payload.data, text, size);
	assert_int_equal(other.last.turn, 3);
	settle(fixture);
	assert_int_equal(channel_queued(fixture->seen.channel), 0);
	assert_true(fixture->seen.drained > 0);
	assert_true(channel_flush(fixture->seen.channel));
	channel_free(other.channel);
	fixture->peer.fd = -1;
	buffer_free(&other.payload);
	free(text);
}

static void
test_eof(void **state)
{
	struct fixture *fixture = *state;

	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	send_frame(fixture, TO_SUPERVISOR_TEXT, FRAME_MORE, "{", 1);
	peer_close(&fixture->peer);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 1);
	assert_int_equal(fixture->seen.ends, 1);
	assert_int_equal(fixture->seen.end, CHANNEL_EOF);
}

/* A peer that is gone is told by reading; sending into it does no harm. */
static void
test_send_to_closed(void **state)
{
	struct fixture *fixture = *state;
	struct frame_header header = {.type = TO_WORKER_SHUTDOWN};

	peer_close(&fixture->peer);
	channel_send(fixture->seen.channel, &header, NULL, 0);
	channel_send(fixture->seen.channel, &header, NULL, 0);
	settle(fixture);
	assert_int_equal(fixture->seen.ends, 1);
	assert_int_equal(channel_queued(fixture->seen.channel), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CHANNEL_CASE(test_one_message),
	    CHANNEL_CASE(test_byte_by_byte),
	    CHANNEL_CASE(test_sizes),
	    CHANNEL_CASE(test_parts),
	    CHANNEL_CASE(test_send_and_receive),
	    CHANNEL_CASE(test_eof),
	    CHANNEL_CASE(test_send_to_closed),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
