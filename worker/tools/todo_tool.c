/*
 * The tool "todo": shows the model's list or changes it. It touches nothing but that list.
 */
#include <config.h>

#include "worker/tools/todo.h"
#include "worker/tools/tool_rows.h"

#include <string.h>

#define SHOWN_DEPTH 4 /* levels of indentation on the card (as in Hermes) */

static const char *const marks[TODO_STATUS_COUNT] = {
    [TODO_PENDING] = "[ ]",
    [TODO_IN_PROGRESS] = "[~]",
    [TODO_COMPLETED] = "[x]",
    [TODO_CANCELLED] = "[-]",
};

static void
todo_prepare(struct tool_run *run)
{
	struct json_object *todos = json_member(run->arguments, "todos");

	if (todos != NULL && !json_object_is_type(todos, json_type_array)) {
		tool_finish_error(
		    run, "todo: the argument \"todos\" must be an array of objects.");
		return;
	}
	tool_card_title(run, todos != NULL ? "Update the to-do list" : "Read the to-do list");
}

static const struct todo_item *
find_parent(const struct todo_list *list, const struct todo_item *item)
{
	size_t i;

	for (i = 0; item->parent != NULL && i < todo_list_count(list); i++)
		if (strcmp(todo_list_item(list, i)->id, item->parent) == 0)
			return todo_list_item(list, i);
	return NULL;
}

/* Bounded, so that items which are each other's parents do no harm. */
static int
depth_of(const struct todo_list *list, const struct todo_item *item)
{
	int depth = 0;

	while (depth < SHOWN_DEPTH - 1 && (item = find_parent(list, item)) != NULL)
		depth++;
	return depth;
}

static void
show_list(struct tool_run *run)
{
	const struct todo_list *list = run->context->todo;
	struct buffer text = BUFFER_EMPTY;
	size_t i, done = 0;

	for (i = 0; i < todo_list_count(list); i++) {
		const struct todo_item *item = todo_list_item(list, i);

		done += item->status == TODO_COMPLETED || item->status == TODO_CANCELLED;
		buffer_printf(&text, "%*s- %s %s\n", 2 * depth_of(list, item), "",
		    marks[item->status], *item->content != '\0' ? item->content : item->id);
	}
	if (i == 0)
		buffer_append_text(&text, "The list is empty.");
	else
		buffer_printf(&text, "\n%zu of %zu done", done, i);
	tool_contents_text(&run->shown, buffer_text(&text), text.length);
	buffer_free(&text);
}

static void
todo_start(struct tool_run *run)
{
	struct json_object *todos = json_member(run->arguments, "todos");
	bool merge = json_member_boolean(run->arguments, "merge", false);
	struct buffer error = BUFFER_EMPTY;

	if (todos != NULL && todo_list_update(run->context->todo, todos, merge, &error) != 0) {
		tool_finish_error(run, "todo: %s.", buffer_text(&error));
	} else {
		show_list(run);
		tool_finish(run, todo_list_result(run->context->todo), false);
	}
	buffer_free(&error);
}

const struct tool tool_todo = {
    .name = "todo",
    .description = "Keeps the list of what is to be done in this session. Use it for work of "
		   "three steps or more. Without \"todos\" it returns the list. Keep exactly "
		   "one item in_progress; mark an item completed as soon as it is done.",
    .parameters =
	"{\"type\":\"object\",\"properties\":{"
	"\"todos\":{\"type\":\"array\",\"description\":\"The items; leave it out to read the "
	"list.\",\"items\":{\"type\":\"object\",\"properties\":{"
	"\"id\":{\"type\":\"string\",\"description\":\"Unique name of the item\"},"
	"\"content\":{\"type\":\"string\",\"description\":\"What is to be done\"},"
	"\"status\":{\"type\":\"string\",\"enum\":[\"pending\",\"in_progress\",\"completed\","
	"\"cancelled\"]},"
	"\"parent\":{\"type\":\"string\",\"description\":\"id of the item it belongs to\"}},"
	"\"required\":[\"id\",\"content\",\"status\"]}},"
	"\"merge\":{\"type\":\"boolean\",\"description\":\"true: change items by id and append "
	"new ones; false (default): replace the whole list\"}}}",
    .kind = TOOL_KIND_OTHER,
    .class = TOOL_CLASS_EXCLUSIVE,
    .prepare = todo_prepare,
    .start = todo_start,
};
