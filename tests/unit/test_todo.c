/*
 * The list of what is to be done: replacing, merging, limits, restoring.
 */
#include <config.h>

#include "worker/tools/todo.h"
#include "worker/tools/tool_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct json_object *
parse(const char *text)
{
	const char *reason;
	struct json_object *value = json_parse(text, strlen(text), &reason);

	if (value == NULL)
		print_error("%s: %s\n", text, reason);
	assert_non_null(value);
	return value;
}

static int
update(struct todo_list *list, const char *items, bool merge)
{
	struct buffer error = BUFFER_EMPTY;
	struct json_object *value = parse(items);
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

struct outcome {
	unsigned finished;
	bool failed;
	struct json_object *result;
};

static void
on_finished(struct tool_run *run, struct json_object *result, bool failed, void *arg)
{
	struct outcome *outcome = arg;

	(void)run;
	outcome->finished++;
	outcome->failed = failed;
	outcome->result = json_object_get(result);
}

static struct outcome
run_tool(struct todo_list *list, const char *arguments)
{
	struct tool_context context = {.todo = list};
	struct outcome outcome = {0, false, NULL};
	struct json_object *value = parse(arguments);
	struct tool_run *run =
	    tool_run_new(&tool_todo, &context, "1", value, on_finished, NULL, &outcome);

	tool_run_prepare(run);
	tool_run_start(run);
	tool_run_start(run);
	assert_int_equal(outcome.finished, 1);
	assert_true(run->shown.count > 0);
	tool_run_free(run);
	json_object_put(value);
	return outcome;
}

static void
test_tool(void **state)
{
	struct todo_list *list = todo_list_new();
	struct outcome outcome;

	(void)state;
	outcome =
	    run_tool(list, "{\"todos\":[{\"id\":\"a\",\"content\":\"x\",\"parent\":\"b\"},"
			   "{\"id\":\"b\",\"content\":\"y\",\"parent\":\"a\"}]}");
	assert_false(outcome.failed);
	json_object_put(outcome.result);
	outcome = run_tool(list, "{}");
	assert_false(outcome.failed);
	assert_int_equal(
	    json_object_array_length(json_member_array(outcome.result, "todos")), 2);
	json_object_put(outcome.result);
	outcome = run_tool(list, "{\"todos\":\"x\"}");
	assert_true(outcome.failed);
	assert_non_null(json_member_string(outcome.result, "error"));
	json_object_put(outcome.result);
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
	    cmocka_unit_test(test_tool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
