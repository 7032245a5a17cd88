/*
 * When the rehearsal provider plays and when not: delays, pauses, cancels, and a release from
 * within the last callback.
 */
#include <config.h>

#include "tests/unit/rehearsal_fixture.h"

static void
test_delay(void **state)
{
	struct play *play = *state;

	run_steps(play, "{\"text\":\"a\"},{\"delay_ms\":40},{\"text\":\"b\"}");
	assert_int_equal(play->texts, 2);
	assert_true(play->times[1] - play->times[0] >= 38);
}

static void
test_pause(void **state)
{
	struct play *play = *state;

	write_script(play,
	    "{\"default\":{\"rounds\":[[{\"repeat\":{\"text\":\"x\",\"count\":500}},"
	    "{\"delay_ms\":20},{\"text\":\"end\"}]]}}");
	play->pause_after = 100;
	begin(play, "[{\"role\":\"user\",\"content\":\"\"}]", true);
	wait_ms(play, 50);
	assert_int_equal(play->texts, 100);
	assert_false(play->ended);
	api_mode_rehearsal.pause(play->state, false);
	api_mode_rehearsal.pause(play->state, false);
	event_base_dispatch(play->base);
	assert_true(play->ended);
	assert_int_equal(play->texts, 501);
	end(play);
}

static void
test_pause_in_a_delay(void **state)
{
	struct play *play = *state;

	write_script(play, "{\"default\":{\"rounds\":[[{\"delay_ms\":30},{\"text\":\"a\"}]]}}");
	begin(play, "[]", true);
	wait_ms(play, 5);
	api_mode_rehearsal.pause(play->state, true);
	api_mode_rehearsal.pause(play->state, false);
	wait_ms(play, 5);
	assert_int_equal(play->texts, 0);
	api_mode_rehearsal.pause(play->state, true);
	wait_ms(play, 40);
	assert_int_equal(play->texts, 0);
	api_mode_rehearsal.pause(play->state, false);
	event_base_dispatch(play->base);
	assert_true(play->ended);
	end(play);
}

static void
test_cancel(void **state)
{
	struct play *play = *state;

	/* From within a callback. */
	write_script(play,
	    "{\"replies\":[{\"match\":\"hang\",\"rounds\":[[{\"hang\":true}]]}],"
	    "\"default\":{\"rounds\":[[{\"repeat\":{\"text\":\"x\",\"count\":500}}]]}}");
	play->cancel_after = 70;
	begin(play, "[]", true);
	event_base_dispatch(play->base);
	assert_false(play->ended);
	assert_int_equal(play->texts, 70);
	/* While it hangs, and before it began. */
	begin(play, "[{\"role\":\"user\",\"content\":\"hang\"}]", true);
	wait_ms(play, 20);
	assert_false(play->ended);
	api_mode_rehearsal.pause(play->state, true);
	api_mode_rehearsal.pause(play->state, false);
	wait_ms(play, 5);
	assert_false(play->ended);
	api_mode_rehearsal.cancel(play->state);
	begin(play, "[]", true);
	api_mode_rehearsal.cancel(play->state);
	wait_ms(play, 5);
	assert_int_equal(play->texts, 0);
}

static void
test_release_inside_finished(void **state)
{
	struct play *play = *state;

	play->release_inside = true;
	run_steps(play, "{\"text\":\"a\"},{\"tool\":{\"name\":\"t\"}}");
	assert_null(play->state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PLAY(test_delay),
	    PLAY(test_pause),
	    PLAY(test_pause_in_a_delay),
	    PLAY(test_cancel),
	    PLAY(test_release_inside_finished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
