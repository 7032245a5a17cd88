/*
 * The list of what is to be done. Input is forgiving (a model's slip must not lose the list);
 * what comes out is always whole and in the closed set of words.
 */
#include <config.h>

#include "worker/tools/todo.h"

#include "common/alloc.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

struct todo_list {
	struct todo_item *items;
	size_t count;
	int64_t revision; /* grows with every change */
};

static const char *const status_names[TODO_STATUS_COUNT] = {
    [TODO_PENDING] = "pending",
    [TODO_IN_PROGRESS] = "in_progress",
    [TODO_COMPLETED] = "completed",
    [TODO_CANCELLED] = "cancelled",
};

static const char *
status_name(enum todo_status status)
{
	size_t index = (size_t)status;

	return index < TODO_STATUS_COUNT ? status_names[index] : status_names[TODO_PENDING];
}

static enum todo_status
status_parse(const char *name)
{
	size_t i;

	for (i = 0; i < TODO_STATUS_COUNT; i++)
		if (strcmp(name, status_names[i]) == 0)
			return (enum todo_status)i;
	return TODO_PENDING;
}

struct todo_list *
todo_list_new(void)
{
	return xcalloc(1, sizeof(struct todo_list));
}

static void
item_clear(struct todo_item *item)
{
	free(item->id);
	free(item->content);
	free(item->parent);
	memset(item, 0, sizeof *item);
}

static void
items_clear(struct todo_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		item_clear(&list->items[i]);
	free(list->items);
	list->items = NULL;
	list->count = 0;
}

void
todo_list_free(struct todo_list *list)
{
	if (list == NULL)
		return;
	items_clear(list);
	free(list);
}

size_t
todo_list_count(const struct todo_list *list)
{
	return list->count;
}

const struct todo_item *
todo_list_item(const struct todo_list *list, size_t index)
{
	return index < list->count ? &list->items[index] : NULL;
}

/* The text of a member; numbers, as models write ids, become text. NULL when there is none. */
static char *
member_text(struct json_object *item, const char *key)
{
	struct json_object *value = json_member(item, key);
	const char *text = json_member_string(item, key);

	if (text == NULL && json_object_is_type(value, json_type_int))
		text = json_object_get_string(value);
	if (text == NULL)
		return NULL;
	return xstrndup(text, utf8_offset(text, strlen(text), TODO_CONTENT_MAX));
}

static struct todo_item *
find_item(const struct todo_list *list, const char *id)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (strcmp(list->items[i].id, id) == 0)
			return &list->items[i];
	return NULL;
}

static struct todo_item *
append_item(struct todo_list *list, char *id)
{
	struct todo_item *item;

	list->items = xreallocarray(list->items, list->count + 1, sizeof *list->items);
	item = &list->items[list->count++];
	memset(item, 0, sizeof *item);
	item->id = id;
	item->content = xstrdup("");
	return item;
}

static void
replace_text(char **text, char *with)
{
	if (with == NULL)
		return;
	free(*text);
	*text = with;
}

/* An id for an item that came without one: the first number that is free. */
static char *
free_id(const struct todo_list *list)
{
	size_t number = list->count;
	char *id = NULL;

	do {
		free(id);
		id = xasprintf("%zu", ++number);
	} while (find_item(list, id) != NULL);
	return id;
}

/* Takes one item in: changes the one with that id or appends it. What it does not say stays
 * as it was. */
static void
take_item(struct todo_list *list, struct json_object *source)
{
	char *id = member_text(source, "id");
	const char *status = json_member_string(source, "status");
	struct todo_item *item;

	if (id == NULL || *id == '\0') {
		free(id);
		id = free_id(list);
	}
	item = find_item(list, id);
	if (item == NULL)
		item = append_item(list, id);
	else
		free(id);
	replace_text(&item->content, member_text(source, "content"));
	replace_text(&item->parent, member_text(source, "parent"));
	if (item->parent != NULL && *item->parent == '\0') {
		free(item->parent);
		item->parent = NULL;
	}
	if (status != NULL)
		item->status = status_parse(status);
}

/* Stable: what is in progress goes before what is pending, the rest keeps its place. */
static void
put_progress_first(struct todo_list *list)
{
	struct todo_item moved;
	size_t i, first;

	for (i = 0; i < list->count; i++) {
		if (list->items[i].status != TODO_IN_PROGRESS)
			continue;
		for (first = 0; first < i; first++)
			if (list->items[first].status == TODO_PENDING)
				break;
		if (first == i)
			continue;
		moved = list->items[i];
		memmove(&list->items[first + 1], &list->items[first],
		    (i - first) * sizeof *list->items);
		list->items[first] = moved;
	}
}

static void
copy_items(const struct todo_list *from, struct todo_list *to)
{
	size_t i;

	for (i = 0; i < from->count; i++) {
		const struct todo_item *item = &from->items[i];
		struct todo_item *copy = append_item(to, xstrdup(item->id));

		replace_text(&copy->content, xstrdup(item->content));
		if (item->parent != NULL)
			copy->parent = xstrdup(item->parent);
		copy->status = item->status;
	}
}

/* Says what is wrong with an array of items; false when nothing is. */
static bool
has_fault(struct json_object *items, struct buffer *error)
{
	size_t i, count = json_object_array_length(items);

	for (i = 0; i < count; i++)
		if (!json_object_is_type(
			json_object_array_get_idx(items, i), json_type_object)) {
			buffer_printf(error, "todos[%zu] is not an object", i);
			return true;
		}
	return false;
}

int
todo_list_update(
    struct todo_list *list, struct json_object *items, bool merge, struct buffer *error)
{
	struct todo_list changed = {NULL, 0, list->revision + 1};
	size_t i;

	if (!json_object_is_type(items, json_type_array)) {
		buffer_append_text(error, "\"todos\" must be an array of objects");
		return -1;
	}
	if (has_fault(items, error))
		return -1;
	if (merge)
		copy_items(list, &changed);
	for (i = 0; i < json_object_array_length(items); i++) {
		take_item(&changed, json_object_array_get_idx(items, i));
		if (changed.count > TODO_ITEMS_MAX) {
			buffer_printf(
			    error, "The list would have more than %d items", TODO_ITEMS_MAX);
			items_clear(&changed);
			return -1;
		}
	}
	put_progress_first(&changed);
	items_clear(list);
	*list = changed;
	return 0;
}

static struct json_object *
item_json(const struct todo_item *item)
{
	struct json_object *object = json_object_new_object();

	json_set_text(object, "id", item->id);
	json_set_text(object, "content", item->content);
	json_set_text(object, "status", status_name(item->status));
	if (item->parent != NULL)
		json_set_text(object, "parent", item->parent);
	return object;
}

struct json_object *
todo_list_result(const struct todo_list *list)
{
	struct json_object *result = json_object_new_object(), *todos = json_object_new_array();
	struct json_object *summary = json_object_new_object();
	int64_t counts[TODO_STATUS_COUNT] = {0};
	size_t i;

	for (i = 0; i < list->count; i++) {
		counts[list->items[i].status]++;
		json_object_array_add(todos, item_json(&list->items[i]));
	}
	json_set_integer(summary, "total", (int64_t)list->count);
	for (i = 0; i < TODO_STATUS_COUNT; i++)
		json_set_integer(summary, status_names[i], counts[i]);
	json_set(result, "todos", todos);
	json_set_integer(result, "revision", list->revision);
	json_set(result, "summary", summary);
	return result;
}

void
todo_list_restore(struct todo_list *list, struct json_object *result)
{
	struct buffer error = BUFFER_EMPTY;
	struct json_object *todos = json_member_array(result, "todos");
	int64_t revision = list->revision + 1;

	if (todos == NULL || todo_list_update(list, todos, false, &error) != 0)
		items_clear(list);
	json_member_integer(result, "revision", &revision);
	list->revision = revision;
	buffer_free(&error);
}

struct json_object *
todo_list_plan(const struct todo_list *list)
{
	struct json_object *plan = json_object_new_array(), *entry;
	struct buffer text = BUFFER_EMPTY;
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct todo_item *item = &list->items[i];
		bool cancelled = item->status == TODO_CANCELLED;

		buffer_clear(&text);
		buffer_printf(&text, "%s%s", cancelled ? "[cancelled] " : "",
		    *item->content != '\0' ? item->content : item->id);
		entry = json_object_new_object();
		json_set(entry, "content", json_new_bytes(buffer_text(&text), text.length));
		json_set_text(entry, "priority", "medium");
		json_set_text(
		    entry, "status", status_name(cancelled ? TODO_COMPLETED : item->status));
		json_object_array_add(plan, entry);
	}
	buffer_free(&text);
	return plan;
}
