/*
 * Scripts: what is said of broken ones, and that the built-in one is good and plays.
 */
#include <config.h>

#include "tests/unit/rehearsal_fixture.h"
#include "worker/providers/rehearsal_script.h"

#include <errno.h>

/* Each broken script and what its message must contain. */
static const struct {
	const char *script, *expected;
} broken[] = {
    {"", "line 1, column 1"},
    {"{\n  \"default\": x}", "line 2, column 14"},
    {"null", "not a JSON object"},
    {"[]", "the script must be an object"},
    {"{}", "needs \"replies\" or \"default\""},
    {"{\"replay\":[]}", "no member \"replay\""},
    {"{\"replies\":{}}", "\"replies\" must be an array"},
    {"{\"replies\":[1]}", "reply 1: must be an object"},
    {"{\"replies\":[{\"rounds\":[]}]}", "reply 1: needs exactly one of"},
    {"{\"replies\":[{\"match\":1,\"rounds\":[]}]}", "\"match\" must be a string"},
    {"{\"replies\":[{\"match\":\"a\",\"match_regex\":\"a\",\"rounds\":[]}]}", "exactly one"},
    {"{\"replies\":[{\"match_regex\":\"(\",\"rounds\":[]}]}", "no regular expression"},
    {"{\"replies\":[{\"match\":\"a\",\"rounds\":[]},{\"match\":\"b\"}]}",
	"reply 2: \"rounds\" must be an array"},
    {"{\"default\":{\"match\":\"a\",\"rounds\":[]}}", "default: has no member \"match\""},
    {"{\"default\":{\"rounds\":[]},\"title\":{\"match\":\"a\",\"rounds\":[]}}",
	"title: has no member \"match\""},
    {"{\"title\":{\"rounds\":[]}}", "needs \"replies\" or \"default\""},
    {"{\"default\":{\"rounds\":[[],{}]}}", "default, round 2: a round must be an array"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\"},7]]}}",
	"default, round 1, step 2: a step must"},
    {"{\"default\":{\"rounds\":[[{}]]}}", "a step needs one of"},
    {"{\"default\":{\"rounds\":[[{\"txt\":\"a\"}]]}}", "a step needs one of"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\",\"thought\":\"b\"}]]}}", "cannot be both"},
    {"{\"default\":{\"rounds\":[[{\"text\":7}]]}}", "\"text\" must be a string"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\\u0000\"}]]}}", "must not contain"},
    {"{\"default\":{\"rounds\":[[{\"text\":null}]]}}", "\"text\" must be a string"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\",\"chunk\":0}]]}}",
	"\"chunk\" must be a whole number from 1"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\",\"every_ms\":\"5\"}]]}}",
	"\"every_ms\" must be a whole"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\",\"size\":5}]]}}",
	"\"text\" has no member \"size\""},
    {"{\"default\":{\"rounds\":[[{\"repeat\":{\"text\":\"a\"}}]]}}",
	"lacks the member \"count\""},
    {"{\"default\":{\"rounds\":[[{\"repeat\":{\"text\":\"a\",\"count\":1},\"every_ms\":1}]]}}",
	"beside it"},
    {"{\"default\":{\"rounds\":[[{\"tool\":{}}]]}}", "lacks the member \"name\""},
    {"{\"default\":{\"rounds\":[[{\"tool\":{\"name\":\"a\",\"arguments\":[]}}]]}}",
	"\"arguments\" must be an object or a string"},
    {"{\"default\":{\"rounds\":[[{\"delay_ms\":-1}]]}}", "\"delay_ms\" must be a whole"},
    {"{\"default\":{\"rounds\":[[{\"finish\":\"end\"}]]}}",
	"stop, tool_calls, length, refusal"},
    {"{\"default\":{\"rounds\":[[{\"error\":{\"kind\":\"odd\"}}]]}}",
	"\"odd\" but must be one of connect"},
    {"{\"default\":{\"rounds\":[[{\"error\":500}]]}}", "\"error\" must be an object"},
    {"{\"default\":{\"rounds\":[[{\"hang\":false}]]}}", "\"hang\" must be true"},
    {"{\"default\":{\"rounds\":[[{\"fault\":{}}]]}}", "exactly one of signal, exit"},
    {"{\"default\":{\"rounds\":[[{\"fault\":{\"exit\":1,\"loop\":true}}]]}}", "exactly one"},
    {"{\"default\":{\"rounds\":[[{\"fault\":{\"signal\":\"WINCH\"}}]]}}", "ABRT, BUS"},
    {"{\"default\":{\"rounds\":[[{\"fault\":{\"exit\":256}}]]}}", "from 0 to 255"},
    {"{\"default\":{\"rounds\":[[{\"fault\":{\"exit\":1,\"at\":\"x\"}}]]}}", "now, finish"},
};

static void
test_broken_scripts(void **state)
{
	struct play *play = *state;
	struct buffer error = BUFFER_EMPTY;

	for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
		write_script(play, broken[i].script);
		buffer_clear(&error);
		assert_null(rehearsal_script_load(play->file, &error));
		assert_non_null(strstr(buffer_text(&error), play->file));
		if (strstr(buffer_text(&error), broken[i].expected) == NULL)
			fail_msg("%s: got: %s", broken[i].script, buffer_text(&error));
	}
	run_prompt(play, "a");
	assert_int_equal(play->finish, FINISH_ERROR);
	assert_int_equal(play->error, MODEL_ERROR_REQUEST);
	assert_non_null(strstr(message_of(play), "now, finish"));
	buffer_free(&error);
}

static void
test_files_that_are_no_scripts(void **state)
{
	struct play *play = *state;
	struct buffer error = BUFFER_EMPTY;

	assert_null(rehearsal_script_load(play->file, &error));
	assert_non_null(strstr(buffer_text(&error), strerror(ENOENT)));
	buffer_clear(&error);
	assert_null(rehearsal_script_load(play->folder, &error));
	assert_non_null(strstr(buffer_text(&error), "not a regular file"));
	buffer_clear(&error);
	assert_int_equal(mkfifo(play->file, 0600), 0);
	assert_null(rehearsal_script_load(play->file, &error));
	assert_non_null(strstr(buffer_text(&error), "not a regular file"));
	buffer_free(&error);
}

static void
test_built_in_script_is_good(void **state)
{
	struct play *play = *state;
	struct rehearsal_script *script;
	struct buffer error = BUFFER_EMPTY;

	write_script(play, rehearsal_builtin);
	script = rehearsal_script_load(play->file, &error);
	if (script == NULL)
		fail_msg("%s", buffer_text(&error));
	assert_int_equal(error.length, 0);
	rehearsal_script_free(script);
	buffer_free(&error);
}

static void
test_built_in_script(void **state)
{
	static const char *const tools[] = {"todo", "read_file", "patch", "terminal", "todo"};
	struct play *play = *state;
	struct buffer messages = BUFFER_EMPTY;
	size_t calls;

	play->runtime.rehearsal_file = NULL;
	for (size_t round = 0; round < 6; round++) {
		buffer_clear(&messages);
		buffer_append_text(&messages, "[{\"role\":\"user\",\"content\":\"anything\"}");
		for (size_t i = 0; i < round; i++)
			buffer_append_text(
			    &messages, ",{\"role\":\"assistant\",\"content\":null}");
		buffer_append_text(&messages, "]");
		run(play, buffer_text(&messages));
		calls = json_object_array_length(json_member_array(play->answer, "calls"));
		if (round == 5) {
			assert_int_equal(play->finish, FINISH_STOP);
			assert_true(play->text.length > 0);
			break;
		}
		assert_int_equal(play->finish, FINISH_TOOL_CALLS);
		assert_string_equal(
		    json_member_text(call_of(play, calls - 1), "name", ""), tools[round]);
	}
	run_prompt(play, "Hello there");
	assert_int_equal(play->finish, FINISH_STOP);
	run_prompt(play, "an error please");
	assert_int_equal(play->error, MODEL_ERROR_SERVER);
	assert_int_equal(play->status, 500);
	run_prompt(play, "parallel");
	assert_int_equal(json_object_array_length(json_member_array(play->answer, "calls")), 2);
	play->cancel_after = 3;
	begin(play, "[{\"role\":\"user\",\"content\":\"sleep\"}]", true);
	event_base_dispatch(play->base);
	assert_false(play->ended);
	assert_true(play->times[2] - play->times[0] >= 90);
	buffer_free(&messages);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PLAY(test_broken_scripts),
	    PLAY(test_files_that_are_no_scripts),
	    PLAY(test_built_in_script_is_good),
	    PLAY(test_built_in_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
