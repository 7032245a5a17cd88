/*
 * Which item an event belongs to. Two calls must never be taken for one, and the same item
 * never for two, or its text would be shown twice.
 */
#include <config.h>

#include "worker/providers/responses_items.h"
#include "worker/providers/chat_calls.h"
#include "worker/providers/chat_output.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX 1024 /* of one answer; further ones are dropped */
#define PARTS_MAX 1024 /* of one item */

static struct responses_item *
by_id(struct responses_items *items, const struct item_key *key)
{
	size_t i;

	for (i = items->count; key->id[0] != '\0' && i > 0; i--)
		if (items->list[i - 1].type == key->type &&
		    strcmp(items->list[i - 1].id, key->id) == 0)
			return &items->list[i - 1];
	return NULL;
}

/* The last one of the type, at the place where it is told. */
static struct responses_item *
by_place(struct responses_items *items, const struct item_key *key)
{
	size_t i;

	for (i = items->count; i > 0; i--)
		if (items->list[i - 1].type == key->type &&
		    (key->index < 0 || items->list[i - 1].index == key->index))
			return &items->list[i - 1];
	return NULL;
}

static int64_t
next_index(const struct responses_items *items)
{
	int64_t next = 0;
	size_t i;

	for (i = 0; i < items->count; i++)
		if (items->list[i].index >= next && items->list[i].index < INT64_MAX)
			next = items->list[i].index + 1;
	return next;
}

static struct responses_item *
new_item(struct responses_items *items, const struct item_key *key)
{
	struct responses_item *item;
	int64_t index = key->index >= 0 ? key->index : next_index(items);

	if (items->count == ITEMS_MAX)
		return NULL;
	items->list = xreallocarray(items->list, items->count + 1, sizeof *items->list);
	item = &items->list[items->count++];
	memset(item, 0, sizeof *item);
	item->type = key->type;
	item->index = index;
	item->number = items->count;
	item->id = xstrdup(key->id);
	item->call_id = xstrdup("");
	item->name = xstrdup("");
	return item;
}

struct responses_item *
responses_items_get(struct responses_items *items, const struct item_key *key)
{
	struct responses_item *item = by_id(items, key);

	/* Some servers give an item another id in each event: the place counts then. */
	if (item == NULL)
		item = by_place(items, key);
	return item != NULL ? item : new_item(items, key);
}

struct responses_item *
responses_items_add(struct responses_items *items, const struct item_key *key)
{
	struct responses_item *item = by_id(items, key);

	/* Its pieces may have come before it. */
	if (item == NULL && key->index >= 0)
		item = by_place(items, key);
	if (item != NULL && item->id[0] != '\0' && strcmp(item->id, key->id) != 0)
		item = NULL;
	return item != NULL ? item : new_item(items, key);
}

struct responses_item *
responses_items_listed(struct responses_items *items, const struct item_key *key, size_t nth)
{
	struct responses_item *item = by_id(items, key);
	size_t i;

	for (i = 0; item == NULL && i < items->count; i++)
		if (items->list[i].type == key->type && nth-- == 0)
			item = &items->list[i];
	return item != NULL ? item : new_item(items, key);
}

struct responses_part *
responses_item_part(struct responses_item *item, enum part_kind kind, int64_t index)
{
	struct responses_part *part;
	size_t i;

	for (i = item->part_count; i > 0; i--)
		if (item->parts[i - 1].kind == kind && item->parts[i - 1].index == index)
			return &item->parts[i - 1];
	if (item->part_count == PARTS_MAX)
		return NULL;
	item->parts = xreallocarray(item->parts, item->part_count + 1, sizeof *item->parts);
	part = &item->parts[item->part_count++];
	responses_part_start(part, kind, index);
	return part;
}

/* --- calls ------------------------------------------------------------------------------ */

void
responses_items_arguments(struct responses_items *items, struct responses_item *call,
    bool armoured, struct json_object *string)
{
	size_t length = (size_t)json_object_get_string_len(string);

	if (call->whole)
		return;
	items->size += length;
	items->too_long = items->too_long || items->size > CHAT_ARGUMENTS_MAX;
	if (!items->too_long)
		chat_output_repair(&call->pending, armoured, json_object_get_string(string),
		    length, &call->arguments);
}

void
responses_items_whole_arguments(struct responses_items *items, struct responses_item *call,
    bool armoured, struct json_object *value)
{
	const char *text = "";
	size_t length = 0;

	if (call->whole || value == NULL)
		return;
	if (json_object_is_type(value, json_type_string)) {
		text = json_object_get_string(value);
		length = (size_t)json_object_get_string_len(value);
	} else {
		text = json_text(value, &length);
	}
	/* Some end with an empty one after all the pieces, or before the whole. */
	if (length == 0)
		return;
	call->whole = true;
	items->size += length;
	items->too_long = items->too_long || items->size > 2 * CHAT_ARGUMENTS_MAX ||
			  length > CHAT_ARGUMENTS_MAX;
	if (items->too_long)
		return;
	buffer_clear(&call->arguments);
	memset(&call->pending, 0, sizeof call->pending);
	chat_output_repair(&call->pending, armoured, text, length, &call->arguments);
}

static int
compare(const void *left, const void *right)
{
	const struct responses_item *a = left, *b = right;

	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

void
responses_items_sort(struct responses_items *items)
{
	if (items->count > 0)
		qsort(items->list, items->count, sizeof *items->list, compare);
}

void
responses_items_calls(struct responses_items *items, struct model_answer *answer)
{
	struct model_tool_call *call;
	struct responses_item *item;
	size_t i;

	answer->calls = xcalloc(items->count + 1, sizeof *answer->calls);
	for (i = 0; i < items->count && answer->call_count < CHAT_CALLS_MAX; i++) {
		item = &items->list[i];
		if (item->type != ITEM_CALL)
			continue;
		call = &answer->calls[answer->call_count++];
		delta_text_end(&item->pending, &item->arguments);
		/* Without an id of its own a call is known by that of its item. */
		call->id = xstrdup(item->call_id[0] != '\0' ? item->call_id : item->id);
		call->name = xstrdup(item->name);
		call->arguments = buffer_take(&item->arguments);
		if (call->arguments == NULL)
			call->arguments = xstrdup("");
	}
}

void
responses_items_free(struct responses_items *items)
{
	struct responses_item *item;
	size_t i, k;

	for (i = 0; i < items->count; i++) {
		item = &items->list[i];
		for (k = 0; k < item->part_count; k++)
			responses_part_free(&item->parts[k]);
		free(item->parts);
		free(item->id);
		free(item->call_id);
		free(item->name);
		buffer_free(&item->arguments);
		json_object_put(item->stored);
	}
	free(items->list);
	memset(items, 0, sizeof *items);
}
