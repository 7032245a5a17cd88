/*
 * What the rehearsal provider plays: the choice of a reply and its round, text, thoughts, tool
 * calls, usage and errors.
 */
#include <config.h>

#include "tests/unit/rehearsal_fixture.h"

static void
test_choice(void **state)
{
	struct play *play = *state;

	write_script(play,
	    "{\"replies\":[{\"match\":\"Apple\",\"rounds\":[[{\"text\":\"one\"}]]},"
	    "{\"match_regex\":\"^b[0-9]+$\",\"rounds\":[[{\"text\":\"two\"}]]}],"
	    "\"default\":{\"rounds\":[[{\"text\":\"three\"}]]}}");
	run_prompt(play, "an apple a day");
	assert_string_equal(buffer_text(&play->text), "one");
	run_prompt(play, "b17");
	assert_string_equal(buffer_text(&play->text), "two");
	run_prompt(play, "B17");
	assert_string_equal(buffer_text(&play->text), "three");
	run(play, "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},"
		  "{\"type\":\"image_url\"},{\"type\":\"text\",\"text\":\"my apple\"}]}]");
	assert_string_equal(buffer_text(&play->text), "one");
	run(play, "[{\"role\":\"user\",\"content\":\"apple\"},"
		  "{\"role\":\"assistant\",\"content\":\"one\"},"
		  "{\"role\":\"user\",\"content\":\"pear\"}]");
	assert_string_equal(buffer_text(&play->text), "three");
	run(play, "[]");
	assert_string_equal(buffer_text(&play->text), "three");
}

static void
test_rounds_follow_the_conversation(void **state)
{
	struct play *play = *state;

	write_script(play, "{\"default\":{\"rounds\":[[{\"tool\":{\"name\":\"a\"}}],"
			   "[{\"text\":\"<${prompt}|${last_result}|${other}|${\"}]]}}");
	run_prompt(play, "p");
	assert_int_equal(play->finish, FINISH_TOOL_CALLS);
	run(play,
	    "[{\"role\":\"assistant\",\"content\":\"old\"},{\"role\":\"user\",\"content\":"
	    "\"p\"},"
	    "{\"role\":\"assistant\",\"content\":null},{\"role\":\"tool\",\"content\":\"r1\"},"
	    "{\"role\":\"tool\",\"content\":\"r2\"}]");
	assert_string_equal(buffer_text(&play->text), "<p|r2|${other}|${");
	assert_int_equal(play->finish, FINISH_STOP);
	run(play,
	    "[{\"role\":\"user\",\"content\":\"p\"},{\"role\":\"assistant\",\"content\":\"\"},"
	    "{\"role\":\"assistant\",\"content\":\"\"}]");
	assert_non_null(strstr(buffer_text(&play->text), "last round"));
	assert_int_equal(play->finish, FINISH_STOP);
}

static void
test_chunks_keep_code_points(void **state)
{
	struct play *play = *state;

	run_steps(play, "{\"text\":\"\xc3\xa4\xe2\x82\xac"
			"xyz\",\"chunk\":2,\"every_ms\":5}");
	assert_string_equal(buffer_text(&play->text), "\xc3\xa4\xe2\x82\xacxyz");
	assert_int_equal(play->texts, 3);
	assert_true(play->times[2] - play->times[0] >= 8);
	run_steps(play, "{\"text\":\"\"},{\"text\":\"whole\"}");
	assert_int_equal(play->texts, 1);
}

static void
test_thought_is_kept(void **state)
{
	struct play *play = *state;

	run_steps(
	    play, "{\"thought\":\"hm \",\"chunk\":1},{\"thought\":\"so\"},{\"text\":\"t\"}");
	assert_string_equal(buffer_text(&play->thought), "hm so");
	assert_string_equal(
	    json_member_text(json_member(play->answer, "extra"), "reasoning", ""), "hm so");
	run_steps(play, "{\"text\":\"t\"},{\"notice\":\"wait\"}");
	assert_null(json_member(play->answer, "extra"));
	assert_string_equal(buffer_text(&play->notice), "wait");
}

static void
test_repeat(void **state)
{
	struct play *play = *state;

	run_steps(play, "{\"repeat\":{\"text\":\"ab\",\"count\":20000}}");
	assert_int_equal(play->texts, 20000);
	assert_int_equal(play->text.length, 40000);
	run_steps(play, "{\"repeat\":{\"text\":\"x\",\"count\":0}},"
			"{\"repeat\":{\"text\":\"y\",\"count\":5,\"slice\":1}},"
			"{\"repeat\":{\"text\":\"z\",\"count\":2,\"thought\":true}}");
	assert_string_equal(buffer_text(&play->text), "yyyyy");
	assert_string_equal(buffer_text(&play->thought), "zz");
}

static void
test_tools(void **state)
{
	struct play *play = *state;
	const char *id;

	run_steps(play,
	    "{\"tool\":{\"name\":\"terminal\",\"arguments\":{\"command\":\"echo ${prompt}\","
	    "\"list\":[\"${prompt}\",1,true,null]}}},"
	    "{\"tool\":{\"name\":\"b\",\"arguments\":\"{broken\",\"id\":\"\"}},"
	    "{\"tool\":{\"name\":\"c\"}}");
	assert_int_equal(play->finish, FINISH_TOOL_CALLS);
	assert_string_equal(json_member_text(call_of(play, 0), "arguments", ""),
	    "{\"command\":\"echo go\",\"list\":[\"go\",1,true,null]}");
	assert_string_equal(json_member_text(call_of(play, 1), "arguments", ""), "{broken");
	assert_string_equal(json_member_text(call_of(play, 1), "id", "none"), "");
	assert_string_equal(json_member_text(call_of(play, 2), "arguments", ""), "{}");
	id = json_member_text(call_of(play, 0), "id", "");
	assert_true(strlen(id) > 8);
	assert_string_not_equal(id, json_member_text(call_of(play, 2), "id", ""));
	run_steps(play, "{\"tool\":{\"name\":\"c\"}},{\"finish\":\"length\"}");
	assert_int_equal(play->finish, FINISH_LENGTH);
	/* Without tools on offer none is called. */
	begin(play, "[{\"role\":\"user\",\"content\":\"go\"}]", false);
	event_base_dispatch(play->base);
	end(play);
	assert_null(call_of(play, 0));
}

static void
test_usage_and_finish(void **state)
{
	struct play *play = *state;

	run_steps(play, "{\"text\":\"a\"}");
	assert_int_equal(play->usage.input_tokens, -1);
	assert_int_equal(play->usage.total_tokens, -1);
	run_steps(play, "{\"usage\":{\"input\":7,\"output\":3,\"reasoning\":1}},"
			"{\"finish\":\"refusal\"}");
	assert_int_equal(play->usage.input_tokens, 7);
	assert_int_equal(play->usage.total_tokens, 10);
	assert_int_equal(play->usage.reasoning_tokens, 1);
	assert_int_equal(play->usage.cache_read_tokens, -1);
	assert_int_equal(play->finish, FINISH_REFUSAL);
}

static void
test_errors(void **state)
{
	struct play *play = *state;

	run_steps(play,
	    "{\"text\":\"part\"},{\"error\":{\"kind\":\"rate_limit\",\"status\":429,"
	    "\"message\":\"slow down\",\"retry_after_ms\":1500}},{\"text\":\"no\"}");
	assert_string_equal(buffer_text(&play->text), "part");
	assert_int_equal(play->finish, FINISH_ERROR);
	assert_int_equal(play->error, MODEL_ERROR_RATE_LIMIT);
	assert_int_equal(play->status, 429);
	assert_int_equal(play->retry_after_ms, 1500);
	assert_string_equal(message_of(play), "slow down");
	run_steps(play, "{\"error\":{\"kind\":\"interrupted\"}}");
	assert_int_equal(play->error, MODEL_ERROR_INTERRUPTED);
	assert_int_equal(play->retry_after_ms, -1);
	assert_true(strlen(message_of(play)) > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PLAY(test_choice),
	    PLAY(test_rounds_follow_the_conversation),
	    PLAY(test_chunks_keep_code_points),
	    PLAY(test_thought_is_kept),
	    PLAY(test_repeat),
	    PLAY(test_tools),
	    PLAY(test_usage_and_finish),
	    PLAY(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
