/*
 * The channel over a real socketpair: what arrives must be whole, in order, of the right
 * direction and size, and the end of the peer must be told once.
 */
#include <config.h>

#include "common/buffer.h"
#include "common/channel.h"

#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* What one end has seen. */
struct seen {
	struct channel *channel;
	size_t messages, bytes, drained, ends;
	struct frame_header last;
	struct buffer payload; /* of the last message */
	enum channel_end end;
	char reason[200];
	bool pause, release; /* what is done from within the message callback */
	int status;	     /* what the message callback returns */
};

struct fixture {
	struct event_base *base;
	int peer; /* the other side, blocking */
	struct seen seen;
};

static int
on_message(const struct frame_header *header, const void *payload, size_t length, void *arg)
{
	struct seen *seen = arg;

	seen->messages++;
	seen->bytes += length;
	seen->last = *header;
	buffer_clear(&seen->payload);
	buffer_append(&seen->payload, payload, length);
	if (seen->pause)
		channel_pause(seen->channel, true);
	if (seen->release) {
		channel_free(seen->channel);
		seen->channel = NULL;
	}
	return seen->status;
}

static void
on_ended(enum channel_end end, const char *reason, void *arg)
{
	struct seen *seen = arg;

	seen->ends++;
	seen->end = end;
	snprintf(seen->reason, sizeof seen->reason, "%s", reason);
}

static void
on_drained(void *arg)
{
	struct seen *seen = arg;

	seen->drained++;
}

static const struct channel_callbacks callbacks = {
    .message = on_message,
    .ended = on_ended,
    .drained = on_drained,
};

static int
set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	int pair[2];

	assert_non_null(fixture);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	evutil_make_socket_nonblocking(pair[0]);
	fixture->base = event_base_new();
	fixture->peer = pair[1];
	fixture->seen.channel = channel_new(
	    fixture->base, pair[0], MESSAGE_TO_SUPERVISOR, &callbacks, &fixture->seen);
	assert_non_null(fixture->seen.channel);
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	channel_free(fixture->seen.channel);
	if (fixture->peer != -1)
		close(fixture->peer);
	buffer_free(&fixture->seen.payload);
	event_base_free(fixture->base);
	free(fixture);
	return 0;
}

/* Runs the loop until nothing is left to do; fails when it would spin for ever. */
static void
settle(struct fixture *fixture)
{
	int rounds, quiet = 0;
	size_t before;

	for (rounds = 0; quiet < 3; rounds++) {
		assert_true(rounds < 100000);
		before = fixture->seen.messages + fixture->seen.ends;
		event_base_loop(fixture->base, EVLOOP_NONBLOCK);
		quiet = before == fixture->seen.messages + fixture->seen.ends ? quiet + 1 : 0;
	}
}

static void
put_frame(struct buffer *out, unsigned type, unsigned flags, const char *payload, size_t length)
{
	struct frame_header header = {.length = (uint32_t)length,
	    .type = (uint16_t)type,
	    .flags = (uint16_t)flags,
	    .request = 7,
	    .turn = 8,
	    .generation = 9};
	unsigned char bytes[FRAME_HEADER_SIZE];

	frame_encode(&header, bytes);
	buffer_append(out, bytes, sizeof bytes);
	buffer_append(out, payload, length);
}

static void
send_bytes(struct fixture *fixture, const char *bytes, size_t length)
{
	ssize_t n;

	while (length > 0) {
		n = send(fixture->peer, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n == -1) {
			assert_int_equal(errno, EAGAIN);
			event_base_loop(fixture->base, EVLOOP_NONBLOCK);
			continue;
		}
		bytes += n;
		length -= (size_t)n;
	}
}

static void
send_frame(
    struct fixture *fixture, unsigned type, unsigned flags, const char *payload, size_t length)
{
	struct buffer out = BUFFER_EMPTY;

	put_frame(&out, type, flags, payload, length);
	send_bytes(fixture, out.data, out.length);
	buffer_free(&out);
}

static void
close_peer(struct fixture *fixture)
{
	close(fixture->peer);
	fixture->peer = -1;
}

static void
expect_violation(struct fixture *fixture, const char *text)
{
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 0);
	assert_int_equal(fixture->seen.ends, 1);
	assert_int_equal(fixture->seen.end, CHANNEL_VIOLATION);
	assert_non_null(strstr(fixture->seen.reason, text));
}

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
		send_bytes(fixture, out.data + i, 1);
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
	evutil_make_socket_nonblocking(fixture->peer);
	other.channel =
	    channel_new(fixture->base, fixture->peer, MESSAGE_TO_WORKER, &callbacks, &other);
	assert_non_null(other.channel);
	assert_int_equal(channel_send(fixture->seen.channel, &header, text, size), 0);
	assert_true(channel_queued(fixture->seen.channel) > 0);
	while (other.messages == 0)
		event_base_loop(fixture->base, EVLOOP_ONCE);
	assert_int_equal(other.payload.length, size);
	assert_memory_equal(other.payload.data, text, size);
	assert_int_equal(other.last.turn, 3);
	settle(fixture);
	assert_int_equal(channel_queued(fixture->seen.channel), 0);
	assert_true(fixture->seen.drained > 0);
	assert_true(channel_flush(fixture->seen.channel));
	channel_free(other.channel);
	fixture->peer = -1;
	buffer_free(&other.payload);
	free(text);
}

static void
test_wrong_direction(void **state)
{
	send_frame(*state, TO_WORKER_SETUP, 0, "{}", 2);
	expect_violation(*state, "wrong direction");
}

static void
test_unknown_type(void **state)
{
	send_frame(*state, 65535, 0, "", 0);
	expect_violation(*state, "unknown message");
}

static void
test_too_long_frame(void **state)
{
	struct fixture *fixture = *state;
	struct frame_header header = {.length = 0xffffffff, .type = TO_SUPERVISOR_TEXT};
	unsigned char bytes[FRAME_HEADER_SIZE];

	frame_encode(&header, bytes);
	send_bytes(fixture, (char *)bytes, sizeof bytes);
	expect_violation(fixture, "too long");
}

static void
test_frame_above_maximum(void **state)
{
	struct fixture *fixture = *state;
	struct frame_header header = {
	    .length = MESSAGE_FRAME_MAX + 1, .type = TO_SUPERVISOR_TEXT};
	unsigned char bytes[FRAME_HEADER_SIZE];

	frame_encode(&header, bytes);
	send_bytes(fixture, (char *)bytes, sizeof bytes);
	expect_violation(fixture, "too long");
}

static void
test_payload_above_row(void **state)
{
	send_frame(*state, TO_SUPERVISOR_HELLO, 0, "123456789", 9);
	expect_violation(*state, "payload too long");
}

/* The parts together count, not each alone. */
static void
test_parts_above_row(void **state)
{
	send_frame(*state, TO_SUPERVISOR_HELLO, FRAME_MORE, "1234", 4);
	send_frame(*state, TO_SUPERVISOR_HELLO, 0, "56789", 5);
	expect_violation(*state, "payload too long");
}

static void
test_payload_too_short(void **state)
{
	send_frame(*state, TO_SUPERVISOR_HELLO, 0, "1234567", 7);
	expect_violation(*state, "payload too short");
}

static void
test_unknown_flag(void **state)
{
	send_frame(*state, TO_SUPERVISOR_TEXT, 2, "{}", 2);
	expect_violation(*state, "unknown flags");
}

static void
test_mixed_parts(void **state)
{
	send_frame(*state, TO_SUPERVISOR_TEXT, FRAME_MORE, "{", 1);
	send_frame(*state, TO_SUPERVISOR_TURN_UPDATE, 0, "}", 1);
	expect_violation(*state, "mixed");
}

static void
test_mixed_turns(void **state)
{
	struct fixture *fixture = *state;
	struct frame_header header = {
	    .length = 1, .type = TO_SUPERVISOR_TEXT, .request = 7, .turn = 99, .generation = 9};
	unsigned char bytes[FRAME_HEADER_SIZE];

	send_frame(fixture, TO_SUPERVISOR_TEXT, FRAME_MORE, "{", 1);
	frame_encode(&header, bytes);
	send_bytes(fixture, (char *)bytes, sizeof bytes);
	send_bytes(fixture, "}", 1);
	expect_violation(fixture, "mixed");
}

/* After a violation nothing more is handed out, and the end is told once. */
static void
test_end_once(void **state)
{
	struct fixture *fixture = *state;
	struct frame_header header = {.type = TO_WORKER_SHUTDOWN};

	send_frame(fixture, 65535, 0, "", 0);
	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	settle(fixture);
	close_peer(fixture);
	settle(fixture);
	channel_drain(fixture->seen.channel);
	assert_int_equal(fixture->seen.ends, 1);
	assert_int_equal(fixture->seen.messages, 0);
	assert_int_equal(channel_send(fixture->seen.channel, &header, NULL, 0), -1);
}

static void
test_eof(void **state)
{
	struct fixture *fixture = *state;

	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	send_frame(fixture, TO_SUPERVISOR_TEXT, FRAME_MORE, "{", 1);
	close_peer(fixture);
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

	close_peer(fixture);
	channel_send(fixture->seen.channel, &header, NULL, 0);
	channel_send(fixture->seen.channel, &header, NULL, 0);
	settle(fixture);
	assert_int_equal(fixture->seen.ends, 1);
	assert_int_equal(channel_queued(fixture->seen.channel), 0);
}

static void
test_pause(void **state)
{
	struct fixture *fixture = *state;

	channel_pause(fixture->seen.channel, true);
	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 0);
	channel_pause(fixture->seen.channel, false);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 1);
}

/* A pause from within a callback: what was read already waits, and comes on resuming. */
static void
test_pause_inside(void **state)
{
	struct fixture *fixture = *state;
	struct buffer out = BUFFER_EMPTY;
	size_t i, before;

	for (i = 0; i < 10000; i++)
		put_frame(&out, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	fixture->seen.pause = true;
	send_bytes(fixture, out.data, out.length);
	settle(fixture);
	before = fixture->seen.messages;
	assert_true(before > 0 && before < 10000);
	fixture->seen.pause = false;
	channel_pause(fixture->seen.channel, false);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 10000);
	buffer_free(&out);
}

static void
test_free_inside(void **state)
{
	struct fixture *fixture = *state;

	fixture->seen.release = true;
	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 1);
	assert_int_equal(fixture->seen.ends, 0);
	assert_null(fixture->seen.channel);
}

static void
test_free_inside_drain(void **state)
{
	struct fixture *fixture = *state;

	fixture->seen.release = true;
	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	channel_drain(fixture->seen.channel);
	assert_int_equal(fixture->seen.messages, 1);
	assert_null(fixture->seen.channel);
}

/* A callback that says stop is not called again, with the same message or another. */
static void
test_stop_inside(void **state)
{
	struct fixture *fixture = *state;

	fixture->seen.status = -1;
	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	settle(fixture);
	send_frame(fixture, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 1);
}

/* A dead peer's last words are all handed out, whatever the sizes in which they are read. */
static void
test_drain(void **state)
{
	static const size_t sizes[] = {2, 12, 44, 108, 236, 1004, 2028, 4076, 8172, 20000};
	struct fixture *fixture = *state;
	struct buffer out = BUFFER_EMPTY;
	size_t i, count = 0;
	char text[20000];

	memset(text, ' ', sizeof text);
	for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		channel_pause(fixture->seen.channel, true);
		buffer_clear(&out);
		while (out.length < 64000) {
			put_frame(&out, TO_SUPERVISOR_TEXT, 0, text, sizes[i]);
			count++;
		}
		send_bytes(fixture, out.data, out.length);
		channel_drain(fixture->seen.channel);
		assert_int_equal(fixture->seen.messages, count);
	}
	close_peer(fixture);
	channel_drain(fixture->seen.channel);
	assert_int_equal(fixture->seen.ends, 1);
	assert_int_equal(fixture->seen.end, CHANNEL_EOF);
	buffer_free(&out);
}

/* One wake-up hands out about a budget, so that others get their turn. */
static void
test_budget(void **state)
{
	struct fixture *fixture = *state;
	struct buffer out = BUFFER_EMPTY;
	size_t i;

	for (i = 0; i < 6000; i++)
		put_frame(&out, TO_SUPERVISOR_TEXT, 0, "{}", 2);
	send_bytes(fixture, out.data, out.length);
	event_base_loop(fixture->base, EVLOOP_ONCE);
	assert_in_range(fixture->seen.messages, 1, 3000);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 6000);
	buffer_free(&out);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    ROW(test_one_message),
	    ROW(test_byte_by_byte),
	    ROW(test_sizes),
	    ROW(test_parts),
	    ROW(test_send_and_receive),
	    ROW(test_wrong_direction),
	    ROW(test_unknown_type),
	    ROW(test_too_long_frame),
	    ROW(test_frame_above_maximum),
	    ROW(test_payload_above_row),
	    ROW(test_parts_above_row),
	    ROW(test_payload_too_short),
	    ROW(test_unknown_flag),
	    ROW(test_mixed_parts),
	    ROW(test_mixed_turns),
	    ROW(test_end_once),
	    ROW(test_eof),
	    ROW(test_send_to_closed),
	    ROW(test_pause),
	    ROW(test_pause_inside),
	    ROW(test_free_inside),
	    ROW(test_free_inside_drain),
	    ROW(test_stop_inside),
	    ROW(test_drain),
	    ROW(test_budget),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
