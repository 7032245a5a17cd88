/*
 * Events of a Responses stream. An event of a kind that is not known says nothing; a piece
 * that comes twice counts once.
 */
#include <config.h>

#include "worker/providers/responses_merge.h"

#include <string.h>

/* --- events about an item --------------------------------------------------------------- */

static struct item_key
key_of(struct json_object *event, enum item_type type, const char *id)
{
	struct item_key key = {type, -1, id};

	json_member_integer(event, "output_index", &key.index);
	return key;
}

static void
on_item(struct responses_assembler *assembler, struct json_object *event, bool added)
{
	struct json_object *object = json_member_object(event, "item");
	struct responses_item *item;
	struct item_key key =
	    key_of(event, responses_item_type(object), responses_item_id(object));

	if (object == NULL || key.type == ITEM_OTHER)
		return;
	item = added ? responses_items_add(&assembler->items, &key)
		     : responses_items_get(&assembler->items, &key);
	if (item == NULL)
		return;
	responses_item_learn(&item->id, object, "id");
	if (!added) {
		responses_merge_item(assembler, item, object);
		return;
	}
	responses_item_learn(&item->call_id, object, "call_id");
	responses_item_learn(&item->name, object, "name");
}

static void
on_item_added(struct responses_assembler *assembler, struct json_object *event)
{
	on_item(assembler, event, true);
}

static void
on_item_done(struct responses_assembler *assembler, struct json_object *event)
{
	on_item(assembler, event, false);
}

/* A piece that came before, or behind one that did not come. */
static bool
is_repeated(struct responses_assembler *assembler, int64_t number, int64_t before, bool *gap)
{
	*gap = false;
	if (!assembler->numbered || number < 0 || before < 0)
		return false;
	*gap = assembler->after_piece && number > before + 1;
	return number <= before;
}

/* Events of texts: where the text stands, and what it is. */
static const struct {
	const char *type;
	enum item_type item;
	enum part_kind kind;
	const char *index, *piece, *whole; /* members */
} texts[] = {
    {"response.output_text.delta", ITEM_MESSAGE, PART_TEXT, "content_index", "delta", NULL},
    {"response.output_text.done", ITEM_MESSAGE, PART_TEXT, "content_index", NULL, "text"},
    {"response.refusal.delta", ITEM_MESSAGE, PART_REFUSAL, "content_index", "delta", NULL},
    {"response.refusal.done", ITEM_MESSAGE, PART_REFUSAL, "content_index", NULL, "refusal"},
    {"response.reasoning_summary_text.delta", ITEM_REASONING, PART_SUMMARY, "summary_index",
	"delta", NULL},
    {"response.reasoning_summary_text.done", ITEM_REASONING, PART_SUMMARY, "summary_index",
	NULL, "text"},
    {"response.reasoning_text.delta", ITEM_REASONING, PART_REASONING, "content_index", "delta",
	NULL},
    {"response.reasoning_text.done", ITEM_REASONING, PART_REASONING, "content_index", NULL,
	"text"},
    {"response.function_call_arguments.delta", ITEM_CALL, PART_TEXT, NULL, "delta", NULL},
    {"response.function_call_arguments.done", ITEM_CALL, PART_TEXT, NULL, NULL, "arguments"},
};

#define TEXT_COUNT (sizeof texts / sizeof texts[0])

static void
on_arguments(struct responses_assembler *assembler, struct responses_item *item, size_t row,
    struct json_object *event)
{
	struct json_object *piece;

	if (texts[row].whole != NULL) {
		responses_item_learn(&item->name, event, "name");
		responses_item_learn(&item->call_id, event, "call_id");
		responses_items_whole_arguments(&assembler->items, item, assembler->armoured,
		    json_member(event, texts[row].whole));
		return;
	}
	piece = json_member(event, texts[row].piece);
	if (json_object_is_type(piece, json_type_string))
		responses_items_arguments(&assembler->items, item, assembler->armoured, piece);
}

static void
on_piece(struct responses_assembler *assembler, struct responses_item *item, size_t row,
    int64_t index, bool gap, struct json_object *piece)
{
	struct responses_part *part = responses_merge_part(item, texts[row].kind, index);

	if (part != NULL && gap)
		part->gap = true;
	responses_merge_text(
	    assembler, item, texts[row].kind, index, piece, responses_part_add);
}

static void
on_text(struct responses_assembler *assembler, size_t row, int64_t before,
    struct json_object *event)
{
	struct item_key key =
	    key_of(event, texts[row].item, json_member_text(event, "item_id", ""));
	struct responses_item *item;
	int64_t number = -1, index = 0;
	bool gap = false;

	json_member_integer(event, "sequence_number", &number);
	if (texts[row].piece != NULL && is_repeated(assembler, number, before, &gap))
		return;
	item = responses_items_get(&assembler->items, &key);
	if (item == NULL)
		return;
	if (item->type == ITEM_CALL) {
		item->gap = item->gap || gap;
		on_arguments(assembler, item, row, event);
		return;
	}
	json_member_integer(event, texts[row].index, &index);
	if (texts[row].piece != NULL)
		on_piece(
		    assembler, item, row, index, gap, json_member(event, texts[row].piece));
	else
		responses_merge_text(assembler, item, texts[row].kind, index,
		    json_member(event, texts[row].whole), responses_part_whole);
}

/* --- dispatch --------------------------------------------------------------------------- */

static void
on_response(struct responses_assembler *assembler, const char *type, struct json_object *event)
{
	struct json_object *response = json_member_object(event, "response");

	/* The end may stand in the event itself. */
	responses_merge_response(assembler, type, response != NULL ? response : event);
}

static const struct {
	const char *type;
	void (*take)(struct responses_assembler *assembler, struct json_object *event);
} others[] = {
    {"response.output_item.added", on_item_added},
    {"response.output_item.done", on_item_done},
};

static bool
take_named(struct responses_assembler *assembler, const char *type, int64_t before,
    struct json_object *event)
{
	size_t i;

	for (i = 0; i < TEXT_COUNT; i++)
		if (strcmp(texts[i].type, type) == 0) {
			on_text(assembler, i, before, event);
			assembler->after_piece = texts[i].piece != NULL;
			return true;
		}
	assembler->after_piece = false;
	for (i = 0; i < sizeof others / sizeof others[0]; i++)
		if (strcmp(others[i].type, type) == 0) {
			others[i].take(assembler, event);
			return true;
		}
	return false;
}

/* The number of the event before this one, -1 when it had none or numbers mean nothing. */
static int64_t
count_event(struct responses_assembler *assembler, const char *type, struct json_object *event)
{
	int64_t before = assembler->number, number = -1;

	json_member_integer(event, "sequence_number", &number);
	/* Some count each item from the start. */
	if (number >= 0 && number < before && strstr(type, ".delta") == NULL)
		assembler->number_restarts = true;
	if (number < 0 || assembler->number_restarts)
		return -1;
	if (before >= 0 && number > before)
		assembler->numbered = true;
	if (number > before)
		assembler->number = number;
	return before;
}

void
responses_merge_event(
    struct responses_assembler *assembler, const char *name, struct json_object *event)
{
	const char *type = json_member_text(event, "type", name);
	int64_t before = count_event(assembler, type, event);

	if (strncmp(type, "response.", 9) == 0)
		assembler->started = true;
	if (take_named(assembler, type, before, event))
		return;
	if (strcmp(type, "error") == 0 ||
	    (strcmp(name, "error") == 0 && strncmp(type, "response.", 9) != 0))
		responses_merge_fail(assembler, json_member(event, "error"), event);
	else if (strncmp(type, "response.", 9) == 0 && !json_has(event, "item_id"))
		on_response(assembler, type, event);
	else if (json_has(event, "output") || json_has(event, "error"))
		responses_merge_response(assembler, "", event);
}
