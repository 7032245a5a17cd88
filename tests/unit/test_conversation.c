/*
 * The conversation: what is appended stays as it was, and call ids are never used twice.
 */
#include <config.h>

#include "worker/agent/conversation.h"
#include "worker/providers/provider.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *
claim(struct conversation *conversation, const char *id)
{
	char *own = strdup(id);

	conversation_claim_id(conversation, &own);
	return own;
}

static void
test_ids(void **state)
{
	static const char *const wanted[] = {
	    "call_1", "call_1", "", "", "call_1", "x", "x", "call_0_1", "call_0_2", "call_0_1"};
	struct conversation *conversation = conversation_new(1);
	char *ids[sizeof wanted / sizeof wanted[0]];
	char huge[1000];
	size_t i, j, count = sizeof wanted / sizeof wanted[0];

	(void)state;
	for (i = 0; i < count; i++)
		ids[i] = claim(conversation, wanted[i]);
	assert_string_equal(ids[0], "call_1");
	assert_string_equal(ids[5], "x");
	for (i = 0; i < count; i++) {
		assert_true(ids[i][0] != '\0');
		for (j = 0; j < i; j++)
			assert_string_not_equal(ids[i], ids[j]);
	}
	for (i = 0; i < count; i++)
		free(ids[i]);
	memset(huge, 'a', sizeof huge - 1);
	huge[sizeof huge - 1] = '\0';
	ids[0] = claim(conversation, huge);
	assert_true(strlen(ids[0]) <= 256);
	free(ids[0]);
	conversation_free(conversation);
}

/* A successor does not know the ids of the workers before it: it makes its own. */
static void
test_ids_of_a_successor(void **state)
{
	struct conversation *first = conversation_new(1), *second = conversation_new(2);
	char *a, *b, *c;

	(void)state;
	a = claim(first, "call_1");
	b = claim(second, "call_1");
	c = claim(second, "call_1");
	assert_string_equal(a, "call_1");
	assert_string_not_equal(b, a);
	assert_string_not_equal(b, c);
	free(a);
	free(b);
	a = claim(first, "");
	b = claim(second, "");
	assert_string_not_equal(a, b);
	free(a);
	free(b);
	free(c);
	conversation_free(first);
	conversation_free(second);
	conversation_free(NULL);
}

static void
test_messages(void **state)
{
	struct conversation *conversation = conversation_new(1);
	struct model_tool_call calls[2] = {{.id = (char *)"a",
					       .name = (char *)"read_file",
					       .arguments = (char *)"{\"path\":\"x\"}"},
	    {.id = (char *)"b", .name = (char *)"todo", .arguments = (char *)""}};
	struct json_object *extra = json_object_new_object(), *message, *list, *call;

	(void)state;
	message = conversation_user(json_new_text("hello"));
	conversation_append(conversation, message);
	json_object_put(message);
	json_set_text(extra, "reasoning_content", "because");
	message = conversation_assistant("ab\xff", 3, extra, calls, 2);
	assert_string_equal(json_member_string(message, "role"), "assistant");
	assert_string_equal(json_member_string(message, "content"), "ab\xef\xbf\xbd");
	assert_string_equal(json_member_string(message, "reasoning_content"), "because");
	list = json_member_array(message, "tool_calls");
	assert_int_equal(json_object_array_length(list), 2);
	call = json_object_array_get_idx(list, 0);
	assert_string_equal(json_member_string(call, "id"), "a");
	assert_string_equal(json_member_string(call, "type"), "function");
	call = json_member_object(call, "function");
	assert_string_equal(json_member_string(call, "name"), "read_file");
	assert_string_equal(json_member_string(call, "arguments"), "{\"path\":\"x\"}");
	conversation_append(conversation, message);
	json_object_put(message);
	json_object_put(extra);
	message = conversation_assistant("", 0, NULL, NULL, 0);
	assert_null(json_member(message, "content"));
	assert_null(json_member(message, "tool_calls"));
	json_object_put(message);
	message = conversation_tool("a", "todo", "x\0y", 3);
	assert_string_equal(json_text(message, NULL),
	    "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"name\":\"todo\",\"content\":"
	    "\"x\\u0000y\"}");
	json_object_put(message);
	assert_int_equal(conversation_length(conversation), 2);
	conversation_free(conversation);
}

static void
test_characters(void **state)
{
	struct conversation *conversation = conversation_new(1);
	struct json_object *message;
	size_t one, two;

	(void)state;
	assert_int_equal(conversation_characters(conversation), 0);
	message = conversation_user(json_new_text("hello"));
	conversation_append(conversation, message);
	one = conversation_characters(conversation);
	assert_true(one >= 5);
	conversation_append(conversation, message);
	two = conversation_characters(conversation);
	assert_int_equal(two, 2 * one);
	assert_int_equal(conversation_length(conversation), 2);
	conversation_truncate(conversation, 5);
	assert_int_equal(conversation_length(conversation), 2);
	conversation_truncate(conversation, 1);
	assert_int_equal(conversation_length(conversation), 1);
	assert_int_equal(conversation_characters(conversation), one);
	conversation_truncate(conversation, 0);
	assert_int_equal(conversation_characters(conversation), 0);
	json_object_put(message);
	conversation_free(conversation);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ids),
	    cmocka_unit_test(test_ids_of_a_successor),
	    cmocka_unit_test(test_messages),
	    cmocka_unit_test(test_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
