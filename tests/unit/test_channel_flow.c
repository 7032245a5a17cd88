/*
 * How much a channel hands out and when: pauses, budgets, the last words of a dead peer, and
 * callbacks that stop or free the channel.
 */
#include <config.h>

#include "tests/unit/channel_fixture.h"

#include <signal.h>

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
	peer_send(&fixture->peer, out.data, out.length);
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
		peer_send(&fixture->peer, out.data, out.length);
		channel_drain(fixture->seen.channel);
		assert_int_equal(fixture->seen.messages, count);
	}
	peer_close(&fixture->peer);
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
	peer_send(&fixture->peer, out.data, out.length);
	event_base_loop(fixture->peer.base, EVLOOP_ONCE);
	assert_in_range(fixture->seen.messages, 1, 3000);
	settle(fixture);
	assert_int_equal(fixture->seen.messages, 6000);
	buffer_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CHANNEL_CASE(test_pause),
	    CHANNEL_CASE(test_pause_inside),
	    CHANNEL_CASE(test_free_inside),
	    CHANNEL_CASE(test_free_inside_drain),
	    CHANNEL_CASE(test_stop_inside),
	    CHANNEL_CASE(test_drain),
	    CHANNEL_CASE(test_budget),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
