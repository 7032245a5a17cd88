/*
 * The list of what is to be done: replacing, merging, limits, restoring.
 */
#include <config.h>

#include "worker/tools/todo.h"

#include "tests/unit/tool_fixture.h"
#include "worker/tools/tool_rows.h"

static int
update(struct todo_list *list, const char *items, bool merge)
{
	struct buffer error = BUFFER_EMPTY;
	struct json_object *value = parsed_json(items);
	int status = todo_list_update(list, value, merge, &error);

	assert_true((status == 0) == (error.length == 0));
	json_object_put(value);
	buffer_free(&error);
	return status;
}

static void
item_is(const struct todo_list *list, size_t index, const char *id, const char *content,
    enum todo_status status)
{
	const struct todo_item *item = todo_list_item(list, index);

	assert_non_null(item);
	assert_string_equal(item->id, id);
	assert_string_equal(item->content, content);
	assert_int_equal(item->status, status);
}

static void
test_replace(void **state)
{
	struct todo_list *list = todo_list_new();

	(void)state;
	assert_int_equal(update(list,
			     "[{\"id\":\"a\",\"content\":\"one\",\"status\":\"pending\"},"
			     "{\"id\":2,\"content\":\"two\",\"status\":\"in_progress\"},"
			     "{\"id\":\"c\",\"content\":\"three\",\"status\":\"nonsense\","
			     "\"parent\":\"a\"}]",
			     false),
	    0);
	assert_int_equal(todo_list_count(list), 3);
	item_is(list, 0, "2", "two", TODO_IN_PROGRESS);
	item_is(list, 1, "a", "one", TODO_PENDING);
	item_is(list, 2, "c", "three", TODO_PENDING);
	assert_string_equal(todo_list_item(list, 2)->parent, "a");
	assert_int_equal(update(list, "[]", false), 0);
	assert_int_equal(todo_list_count(list), 0);
	assert_null(todo_list_item(list, 0));
	todo_list_free(list);
}

static void
test_merge(void **state)
{
	struct todo_list *list = todo_list_new();

	(void)state;
	update(list, "[{\"id\":\"a\",\"content\":\"one\",\"status\":\"pending\"}]", false);
	update(list,
	    "[{\"id\":\"a\",\"status\":\"completed\"},{\"id\":\"b\",\"content\":\"two\"}]",
	    true);
	assert_int_equal(todo_list_count(list), 2);
	item_is(list, 0, "a", "one", TODO_COMPLETED);
	item_is(list, 1, "b", "two", TODO_PENDING);
	/* The last of two with the same id wins. */
	update(
	    list, "[{\"id\":\"x\",\"content\":\"1\"},{\"id\":\"x\",\"content\":\"2\"}]", false);
	assert_int_equal(todo_list_count(list), 1);
	item_is(list, 0, "x", "2", TODO_PENDING);
	/* Items without an id are not mixed up. */
	update(list, "[{\"content\":\"1\"},{\"id\":\"\",\"content\":\"2\"}]", false);
	assert_int_equal(todo_list_count(list), 2);
	todo_list_free(list);
}

static void
test_limits(void **state)
{
	struct todo_list *list = todo_list_new();
	struct buffer items = BUFFER_EMPTY;
	int i;

	(void)state;
	update(list, "[{\"id\":\"keep\",\"content\":\"x\"}]", false);
	buffer_append_byte(&items, '[');
	for (i = 0; i <= TODO_ITEMS_MAX; i++)
		buffer_printf(&items, "%s{\"id\":\"%d\"}", i > 0 ? "," : "", i);
	buffer_append_byte(&items, ']');
	assert_int_equal(update(list, buffer_text(&items), false), -1);
	item_is(list, 0, "keep", "x", TODO_PENDING);
	assert_int_equal(update(list, "[1]", false), -1);
	buffer_clear(&items);
	buffer_append_text(&items, "[{\"id\":\"l\",\"content\":\"");
	for (i = 0; i < TODO_CONTENT_MAX + 10; i++)
		buffer_append_text(&items, "\xc3\xa9");
	buffer_append_text(&items, "\"}]");
	assert_int_equal(update(list, buffer_text(&items), false), 0);
	assert_int_equal(strlen(todo_list_item(list, 0)->content), 2 * TODO_CONTENT_MAX);
	buffer_free(&items);
	todo_list_free(list);
}

static void
test_result_and_restore(void **state)
{
	struct todo_list *list = todo_list_new(), *other = todo_list_new();
	struct json_object *result, *again;
	int64_t number = 0;

	(void)state;
	update(list,
	    "[{\"id\":\"a\",\"content\":\"one\",\"status\":\"cancelled\"},"
	    "{\"id\":\"b\",\"content\":\"two\",\"status\":\"pending\",\"parent\":\"a\"}]",
	    false);
	result = todo_list_result(list);
	assert_int_equal(json_object_array_length(json_member_array(result, "todos")), 2);
	assert_true(json_member_integer(json_member(result, "summary"), "total", &number));
	assert_int_equal(number, 2);
	assert_true(json_member_integer(json_member(result, "summary"), "cancelled", &number));
	assert_int_equal(number, 1);
	assert_true(json_member_integer(result, "revision", &number));
	assert_int_equal(number, 1);
	todo_list_restore(other, result);
	again = todo_list_result(other);
	assert_string_equal(json_text(result, NULL), json_text(again, NULL));
	todo_list_restore(other, NULL);
	assert_int_equal(todo_list_count(other), 0);
	json_object_put(result);
	json_object_put(again);
	todo_list_free(list);
	todo_list_free(other);
}

static void
test_plan(void **state)
{
	struct todo_list *list = todo_list_new();
	struct json_object *plan, *entry;

	(void)state;
	update(list,
	    "[{\"id\":\"a\",\"content\":\"one\",\"status\":\"cancelled\"},{\"id\":\"b\"}]",
	    false);
	plan = todo_list_plan(list);
	entry = json_object_array_get_idx(plan, 0);
	assert_string_equal(json_member_string(entry, "content"), "[cancelled] one");
	assert_string_equal(json_member_string(entry, "status"), "completed");
	assert_string_equal(json_member_string(entry, "priority"), "medium");
	entry = json_object_array_get_idx(plan, 1);
	assert_string_equal(json_member_string(entry, "content"), "b");
	json_object_put(plan);
	todo_list_free(list);
}

static void
run_tool(struct tool_fixture *fixture, const char *arguments)
{
	tool_fixture_start(fixture, &tool_todo, arguments);
	tool_run_start(fixture->run);
	assert_true(fixture->finished);
	assert_true(fixture->run->shown.count > 0);
}

static void
test_tool(void **state)
{
	struct tool_fixture *fixture = *state;
	struct todo_list *list = todo_list_new();

	fixture->context.todo = list;
	run_tool(fixture, "{\"todos\":[{\"id\":\"a\",\"content\":\"x\",\"parent\":\"b\"},"
			  "{\"id\":\"b\",\"content\":\"y\",\"parent\":\"a\"}]}");
	assert_false(fixture->failed);
	run_tool(fixture, "{}");
	assert_false(fixture->failed);
	assert_int_equal(
	    json_object_array_length(json_member_array(fixture->result, "todos")), 2);
	run_tool(fixture, "{\"todos\":\"x\"}");
	assert_true(fixture->failed);
	assert_non_null(json_member_string(fixture->result, "error"));
	todo_list_free(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_replace),
	    cmocka_unit_test(test_merge),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_result_and_restore),
	    cmocka_unit_test(test_plan),
	    TOOL_CASE(test_tool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
