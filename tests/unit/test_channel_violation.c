/*
 * Frames that break the rules of the boundary: of the wrong direction, type, size or order.
 * Nothing of them is handed out.
 */
#include <config.h>

#include "tests/unit/channel_fixture.h"

#include <signal.h>

static void
expect_violation(struct fixture *fixture, const char *text)
{
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 0);
	assert_int_equal(fixture->seen.ends, 1);
	assert_int_equal(fixture->seen.end, CHANNEL_VIOLATION);
	assert_non_null(strstr(fixture->seen.reason, text));
}

/* A header alone, as it stands. */
static void
send_header(struct fixture *fixture, const struct frame_header *header)
{
	unsigned char bytes[FRAME_HEADER_SIZE];

	frame_encode(header, bytes);
	peer_send(&fixture->peer, (char *)bytes, sizeof bytes);
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

	send_header(fixture, &header);
	expect_violation(fixture, "too long");
}

static void
test_frame_above_maximum(void **state)
{
	struct fixture *fixture = *state;
	struct frame_header header = {
	    .length = MESSAGE_FRAME_MAX + 1, .type = TO_SUPERVISOR_TEXT};

	send_header(fixture, &header);
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

	send_frame(fixture, TO_SUPERVISOR_TEXT, FRAME_MORE, "{", 1);
	send_header(fixture, &header);
	peer_send(&fixture->peer, "}", 1);
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
	peer_close(&fixture->peer);
	settle(fixture);
	channel_drain(fixture->seen.channel);
	assert_int_equal(fixture->seen.ends, 1);
	assert_int_equal(fixture->seen.messages, 0);
	assert_int_equal(channel_send(fixture->seen.channel, &header, NULL, 0), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CHANNEL_CASE(test_wrong_direction),
	    CHANNEL_CASE(test_unknown_type),
	    CHANNEL_CASE(test_too_long_frame),
	    CHANNEL_CASE(test_frame_above_maximum),
	    CHANNEL_CASE(test_payload_above_row),
	    CHANNEL_CASE(test_parts_above_row),
	    CHANNEL_CASE(test_payload_too_short),
	    CHANNEL_CASE(test_unknown_flag),
	    CHANNEL_CASE(test_mixed_parts),
	    CHANNEL_CASE(test_mixed_turns),
	    CHANNEL_CASE(test_end_once),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
