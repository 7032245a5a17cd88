/*
 * ACP version 1: every encoder writes one valid JSON object on one line whatever the text in
 * it, options have a kind each at most once, and only a clear yes is a yes.
 */
#include <config.h>

#include "worker/acp/encode_v1.h"
#include "worker/agent/usage_total.h"
#include "worker/tools/todo.h"
#include "common/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NASTY "a\"\\\n\r\t\x01\x7f\xff\xc3\xa9\xed\xa0\x80</script>"

static struct json_object *
take(struct buffer *line, const char *update)
{
	struct json_object *value;
	const char *reason;

	assert_false(line->failed);
	assert_null(strchr(buffer_text(line), '\n'));
	value = json_parse(line->data, line->length, &reason);
	if (reason != NULL)
		fail_msg("%s: %s", reason, buffer_text(line));
	assert_true(json_object_is_type(value, json_type_object));
	if (update != NULL)
		assert_string_equal(json_member_text(value, "sessionUpdate", ""), update);
	buffer_free(line);
	return value;
}

static void
test_chunks(void **state)
{
	struct buffer line = BUFFER_EMPTY;
	struct json_object *value, *content;

	(void)state;
	encode_v1_chunk(&line, OUTPUT_TEXT, "m1", "x\0y\xff", 4);
	value = take(&line, "agent_message_chunk");
	assert_string_equal(json_member_text(value, "messageId", ""), "m1");
	content = json_member_object(value, "content");
	assert_string_equal(json_member_text(content, "type", ""), "text");
	assert_string_equal(
	    json_text(json_member(content, "text"), NULL), "\"x\\u0000y\xef\xbf\xbd\"");
	json_object_put(value);
	encode_v1_chunk(&line, OUTPUT_THOUGHT, NASTY, NASTY, strlen(NASTY));
	json_object_put(take(&line, "agent_thought_chunk"));
}

static void
no_prepare(struct tool_run *run)
{
	(void)run;
}

static void
on_finished(struct tool_run *run, struct json_object *result, bool failed, void *arg)
{
	(void)run;
	(void)result;
	(void)failed;
	(void)arg;
}

static const struct tool tool = {.name = "nasty",
    .description = "d",
    .parameters = "{}",
    .kind = TOOL_KIND_EDIT,
    .prepare = no_prepare};

static struct tool_run *
new_run(struct tool_context *context)
{
	struct json_object *arguments = json_object_new_object();
	struct tool_run *run;

	json_set_text(arguments, "k\"\n\xc3\xa9", NASTY);
	run = tool_run_new(&tool, context, NASTY, arguments, on_finished, NULL, NULL);
	json_object_put(arguments);
	return run;
}

static void
test_cards(void **state)
{
	struct tool_context context = {0};
	struct tool_run *run = new_run(&context);
	struct buffer line = BUFFER_EMPTY;
	struct json_object *value, *list;

	(void)state;
	tool_card_title(run, "%s", NASTY);
	tool_card_location(run, "/a/" NASTY, 3);
	tool_card_location(run, "/b", 0);
	tool_contents_text(&run->card.contents, NASTY, strlen(NASTY));
	tool_contents_diff(&run->card.contents, "/b", NULL, NASTY);
	tool_contents_diff(&run->card.contents, "/c", NASTY, "");
	encode_v1_card(&line, run);
	value = take(&line, "tool_call");
	assert_string_equal(json_member_text(value, "kind", ""), "edit");
	assert_string_equal(json_member_text(value, "status", ""), "pending");
	assert_null(strchr(json_member_text(value, "title", ""), '\n'));
	list = json_member_array(value, "locations");
	assert_int_equal(json_object_array_length(list), 2);
	assert_false(json_has(json_object_array_get_idx(list, 1), "line"));
	list = json_member_array(value, "content");
	assert_int_equal(json_object_array_length(list), 3);
	assert_false(json_has(json_object_array_get_idx(list, 1), "oldText"));
	assert_string_equal(
	    json_member_text(json_object_array_get_idx(list, 2), "newText", "-"), "");
	json_object_put(value);
	encode_v1_card_update(&line, run, CARD_COMPLETED);
	value = take(&line, "tool_call_update");
	assert_string_equal(json_member_text(value, "status", ""), "completed");
	assert_false(json_has(value, "content"));
	json_object_put(value);
	tool_contents_text(&run->shown, NASTY, strlen(NASTY));
	encode_v1_card_update(&line, run, CARD_FAILED);
	value = take(&line, "tool_call_update");
	assert_true(json_has(value, "content"));
	json_object_put(value);
	encode_v1_failed_call(&line, NASTY, "", NASTY);
	value = take(&line, "tool_call");
	assert_string_equal(json_member_text(value, "status", ""), "failed");
	assert_true(strlen(json_member_text(value, "title", "")) > 0);
	json_object_put(value);
	tool_run_free(run);
}

static void
test_others(void **state)
{
	const struct usage_total nothing = {0}, some = {.input = 3,
						    .output = 2,
						    .reasoning = 1,
						    .cache_read = 4,
						    .dollars = 0.25,
						    .known = true};
	struct buffer line = BUFFER_EMPTY;
	struct todo_list *list = todo_list_new();
	struct json_object *value;
	struct option_values values = {.model = NASTY, .level = NASTY};
	int mode;

	(void)state;
	values.models = json_object_new_array();
	values.levels = json_object_new_array();
	json_object_array_add(values.levels, json_new_text(NASTY));
	value = json_object_new_object();
	json_set_text(value, "value", NASTY);
	json_set_text(value, "name", NASTY);
	json_object_array_add(values.models, value);
	encode_v1_plan(&line, list);
	json_object_put(take(&line, "plan"));
	todo_list_free(list);
	encode_v1_usage(&line, 500, 100, &nothing);
	value = take(&line, "usage_update");
	assert_string_equal(
	    json_text(json_member(value, "used"), NULL), "100"); /* never above size */
	assert_null(json_member(value, "cost"));
	json_object_put(value);
	encode_v1_usage(&line, 5, 100, &some);
	value = take(&line, "usage_update");
	assert_string_equal(json_text(json_member(value, "cost"), NULL),
	    "{\"amount\":0.25,\"currency\":\"USD\"}");
	assert_string_equal(json_text(json_member(json_member(value, "_meta"), "usage"), NULL),
	    "{\"inputTokens\":3,\"outputTokens\":2,\"totalTokens\":9,\"thoughtTokens\":1,"
	    "\"cachedReadTokens\":4}");
	json_object_put(value);
	encode_v1_commands(&line);
	value = take(&line, "available_commands_update");
	assert_true(
	    json_object_array_length(json_member_array(value, "availableCommands")) > 0);
	json_object_put(value);
	for (mode = SESSION_MODE_DEFAULT; mode <= SESSION_MODE_PLAN; mode++) {
		encode_v1_mode(&line, (enum session_mode)mode);
		json_object_put(take(&line, "current_mode_update"));
		values.mode = (enum session_mode)mode;
		encode_v1_options(&line, &values);
		json_object_put(take(&line, "config_option_update"));
		encode_v1_options_result(&line, &values);
		json_object_put(take(&line, NULL));
		encode_v1_session(&line, &values);
		value = take(&line, NULL);
		assert_false(json_has(value, "sessionId"));
		assert_string_equal(
		    json_member_text(json_member_object(value, "modes"), "currentModeId", ""),
		    session_mode_name((enum session_mode)mode));
		json_object_put(value);
	}
	json_object_put(values.models);
	json_object_put(values.levels);
	encode_v1_info(&line, NASTY);
	json_object_put(take(&line, "session_info_update"));
	encode_v1_info(&line, NULL);
	json_object_put(take(&line, "session_info_update"));
	encode_v1_notice(&line, NASTY, NASTY);
	json_object_put(take(&line, "notice"));
}

/* The kinds and ids of the options, joined. */
static void
expect_options(const struct tool_run *run, const char *expected)
{
	struct buffer line = BUFFER_EMPTY, kinds = BUFFER_EMPTY;
	struct json_object *value, *list, *option;
	size_t i;

	encode_v1_permission(&line, run);
	value = take(&line, NULL);
	assert_false(json_has(value, "sessionId"));
	assert_string_equal(
	    json_member_text(json_member_object(value, "toolCall"), "status", ""), "pending");
	list = json_member_array(value, "options");
	for (i = 0; i < json_object_array_length(list); i++) {
		option = json_object_array_get_idx(list, i);
		assert_null(
		    strstr(buffer_text(&kinds), json_member_text(option, "kind", "allow")));
		assert_true(strlen(json_member_text(option, "name", "")) > 0);
		assert_true(strlen(json_member_text(option, "optionId", "")) > 0);
		buffer_printf(&kinds, "%s ", json_member_text(option, "kind", "?"));
	}
	assert_string_equal(buffer_text(&kinds), expected);
	buffer_free(&kinds);
	json_object_put(value);
}

static void
test_permission(void **state)
{
	struct tool_context context = {0};
	struct tool_run *run = new_run(&context);

	(void)state;
	expect_options(run, "allow_once reject_once ");
	run->permission.question = strdup("q");
	expect_options(run, "allow_once reject_once reject_always ");
	run->permission.grant = strdup("g");
	run->permission.grant_label = strdup(NASTY);
	expect_options(run, "allow_once allow_always reject_once reject_always ");
	tool_run_free(run);
}

static void
test_answers(void **state)
{
	static const struct {
		const char *result;
		enum user_answer answer;
	} rows[] = {
#define SELECTED(id) "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":" id "}}"
	    {SELECTED("\"allow_once\""), USER_ALLOWS_ONCE},
	    {SELECTED("\"allow_always\""), USER_ALLOWS_ALWAYS},
	    {SELECTED("\"reject_once\""), USER_REJECTS_ONCE},
	    {SELECTED("\"reject_always\""), USER_REJECTS_ALWAYS},
	    {SELECTED("\"ALLOW_ONCE\""), USER_REJECTS_ONCE},
	    {SELECTED("\"allow\""), USER_REJECTS_ONCE},
	    {SELECTED("\"allow_once \""), USER_REJECTS_ONCE},
	    {SELECTED("\"allow_once\\u0000\""), USER_REJECTS_ONCE},
	    {SELECTED("\"\""), USER_REJECTS_ONCE},
	    {SELECTED("0"), USER_REJECTS_ONCE},
	    {SELECTED("null"), USER_REJECTS_ONCE},
	    {SELECTED("[\"allow_once\"]"), USER_REJECTS_ONCE},
	    {"{\"outcome\":{\"outcome\":\"cancelled\"}}", USER_REJECTS_ONCE},
	    {"{\"outcome\":{\"outcome\":\"cancelled\",\"optionId\":\"allow_once\"}}",
		USER_REJECTS_ONCE},
	    {"{\"outcome\":{\"optionId\":\"allow_once\"}}", USER_REJECTS_ONCE},
	    {"{\"outcome\":\"allow_once\"}", USER_REJECTS_ONCE},
	    {"{\"optionId\":\"allow_once\"}", USER_REJECTS_ONCE},
	    {"{\"outcome\":\"selected\",\"optionId\":\"allow_once\"}", USER_REJECTS_ONCE},
	    {"{}", USER_REJECTS_ONCE},
	    {"[]", USER_REJECTS_ONCE},
	    {"true", USER_REJECTS_ONCE},
	    {"\"allow_once\"", USER_REJECTS_ONCE},
	    {"null", USER_REJECTS_ONCE},
	};
	struct json_object *value;
	const char *reason;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		value = json_parse(rows[i].result, strlen(rows[i].result), &reason);
		assert_null(reason);
		if (encode_v1_answer(value) != rows[i].answer)
			fail_msg("%s", rows[i].result);
		json_object_put(value);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_chunks),
	    cmocka_unit_test(test_cards),
	    cmocka_unit_test(test_others),
	    cmocka_unit_test(test_permission),
	    cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
