/*
 * A channel on one end of a real pair of sockets, what it has told, and a peer that sends it
 * frames, good ones and bad ones.
 */
#ifndef HERMES_TESTS_UNIT_CHANNEL_FIXTURE_H
#define HERMES_TESTS_UNIT_CHANNEL_FIXTURE_H

#include "common/buffer.h"
#include "common/channel.h"
#include "tests/unit/peer_fixture.h"

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
	struct peer peer;
	struct seen seen;
};

static inline int
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

static inline void
on_ended(enum channel_end end, const char *reason, void *arg)
{
	struct seen *seen = arg;

	seen->ends++;
	seen->end = end;
	snprintf(seen->reason, sizeof seen->reason, "%s", reason);
}

static inline void
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

static inline int
set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	int fd;

	assert_non_null(fixture);
	fd = peer_talks(&fixture->peer);
	fixture->seen.channel = channel_new(
	    fixture->peer.base, fd, MESSAGE_TO_SUPERVISOR, &callbacks, &fixture->seen);
	assert_non_null(fixture->seen.channel);
	*state = fixture;
	return 0;
}

static inline int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	channel_free(fixture->seen.channel);
	buffer_free(&fixture->seen.payload);
	peer_clear(&fixture->peer);
	free(fixture);
	return 0;
}

#define CHANNEL_CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* Runs the loop until nothing is left to do; fails when it would spin for ever. */
static inline void
settle(struct fixture *fixture)
{
	int rounds, quiet = 0;
	size_t before;

	for (rounds = 0; quiet < 3; rounds++) {
		assert_true(rounds < 100000);
		before = fixture->seen.messages + fixture->seen.ends;
		event_base_loop(fixture->peer.base, EVLOOP_NONBLOCK);
		quiet = before == fixture->seen.messages + fixture->seen.ends ? quiet + 1 : 0;
	}
}

static inline void
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

static inline void
send_frame(
    struct fixture *fixture, unsigned type, unsigned flags, const char *payload, size_t length)
{
	struct buffer out = BUFFER_EMPTY;

	put_frame(&out, type, flags, payload, length);
	peer_send(&fixture->peer, out.data, out.length);
	buffer_free(&out);
}

#endif
