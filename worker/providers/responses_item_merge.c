/*
 * Items of a Responses answer with what they hold: text and thoughts on their way to the user,
 * calls, and what has to be sent back with the next request. Every member is optional and may
 * be of any type; what cannot be understood is left out.
 */
#include <config.h>

#include "worker/providers/responses_merge.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

#define STORED_MAX (16u << 20) /* bytes of sealed thoughts that are kept */

/* --- texts ------------------------------------------------------------------------------ */

/* Passes on what the part let go. Another message, and each thought, is a paragraph. */
static void
pass_on(struct responses_assembler *assembler, const struct responses_item *item,
    const struct responses_part *part, bool first)
{
	bool thought = part->kind == PART_SUMMARY || part->kind == PART_REASONING;
	bool paragraph = thought ? assembler->has_thought && first
				 : assembler->has_text && assembler->text_item != item->number;
	struct buffer *clean = &assembler->clean;

	if (clean->length == 0)
		return;
	if (paragraph)
		chat_output_add(&assembler->output, thought, false, "\n\n", 2);
	chat_output_add(&assembler->output, thought, false, clean->data, clean->length);
	if (thought) {
		assembler->has_thought = true;
	} else {
		assembler->has_text = true;
		assembler->text_item = item->number;
	}
	buffer_clear(clean);
}

/* Thoughts that come in two forms are shown in one. */
struct responses_part *
responses_merge_part(struct responses_item *item, enum part_kind kind, int64_t index)
{
	if (item->type == ITEM_REASONING) {
		if (item->kind_chosen && item->kind != kind)
			return NULL;
		item->kind_chosen = true;
		item->kind = kind;
	}
	return responses_item_part(item, kind, index);
}

typedef void (*part_function)(
    struct responses_part *part, bool armoured, struct json_object *string, struct buffer *out);

void
responses_merge_text(struct responses_assembler *assembler, struct responses_item *item,
    enum part_kind kind, int64_t index, struct json_object *string, part_function take)
{
	struct responses_part *part;
	bool first;

	if (!json_object_is_type(string, json_type_string) ||
	    json_object_get_string_len(string) == 0)
		return;
	part = responses_merge_part(item, kind, index);
	if (part == NULL)
		return;
	assembler->refused = assembler->refused || kind == PART_REFUSAL;
	first = !part->started;
	take(part, assembler->armoured, string, &assembler->clean);
	pass_on(assembler, item, part, first);
}

/* --- items ------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	enum item_type type;
} types[] = {
    {"message", ITEM_MESSAGE},
    {"reasoning", ITEM_REASONING},
    {"function_call", ITEM_CALL},
};

enum item_type
responses_item_type(struct json_object *item)
{
	const char *name = json_member_text(item, "type", "");
	size_t i;

	for (i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strcmp(types[i].name, name) == 0)
			return types[i].type;
	return ITEM_OTHER;
}

void
responses_item_learn(char **text, struct json_object *object, const char *key)
{
	const char *value = json_member_string(object, key);

	if (value == NULL || value[0] == '\0')
		return;
	free(*text);
	*text = xstrdup(value);
}

/* What an item is sent back as: sealed thoughts, and messages of which the server says in
 * which phase of the turn they were written. */
static void
keep(struct responses_assembler *assembler, struct responses_item *item,
    struct json_object *object)
{
	const char *member = item->type == ITEM_REASONING ? "encrypted_content" : "phase";
	size_t length;

	/* Half characters would be stored as what stands for them. */
	if (item->type == ITEM_CALL || assembler->armoured ||
	    json_member_text(object, member, "")[0] == '\0' ||
	    strncmp(json_member_text(object, "id", ""), "rs_tmp_", 7) == 0)
		return;
	json_text(object, &length);
	if (item->stored == NULL)
		assembler->stored_size += length;
	if (assembler->stored_size > STORED_MAX)
		return;
	json_object_put(item->stored);
	item->stored = json_copy(object);
}

static void
take_parts(struct responses_assembler *assembler, struct responses_item *item,
    struct json_object *list)
{
	size_t count = list != NULL ? json_object_array_length(list) : 0, i;
	struct json_object *part;
	enum part_kind kind;
	const char *type;

	for (i = 0; i < count; i++) {
		part = json_object_array_get_idx(list, i);
		type = json_member_text(part, "type", "");
		kind = item->type == ITEM_MESSAGE ? PART_TEXT : PART_REASONING;
		if (strcmp(type, "summary_text") == 0)
			kind = PART_SUMMARY;
		responses_merge_text(assembler, item, kind, (int64_t)i,
		    json_member(part, "text"), responses_part_whole);
		if (item->type == ITEM_MESSAGE)
			responses_merge_text(assembler, item, PART_REFUSAL, (int64_t)i,
			    json_member(part, "refusal"), responses_part_whole);
	}
}

/* An item with all that it has. */
void
responses_merge_item(struct responses_assembler *assembler, struct responses_item *item,
    struct json_object *object)
{
	item->done = true;
	keep(assembler, item, object);
	if (item->type == ITEM_CALL) {
		responses_item_learn(&item->call_id, object, "call_id");
		responses_item_learn(&item->name, object, "name");
		responses_items_whole_arguments(&assembler->items, item, assembler->armoured,
		    json_member(object, "arguments"));
		return;
	}
	take_parts(assembler, item, json_member_array(object, "summary"));
	take_parts(assembler, item, json_member_array(object, "content"));
	if (item->type == ITEM_MESSAGE)
		responses_merge_text(assembler, item, PART_TEXT, 0,
		    json_member(object, "content"), responses_part_whole);
}

const char *
responses_item_id(struct json_object *object)
{
	const char *id = json_member_text(object, "id", "");

	return id[0] != '\0' ? id : json_member_text(object, "call_id", "");
}

void
responses_merge_end(struct responses_assembler *assembler)
{
	struct responses_item *item;
	struct responses_part *part;
	size_t i, k;
	bool first;

	for (i = 0; i < assembler->items.count; i++) {
		item = &assembler->items.list[i];
		for (k = 0; k < item->part_count; k++) {
			part = &item->parts[k];
			first = !part->started;
			responses_part_end(part, &assembler->clean);
			pass_on(assembler, item, part, first);
		}
	}
}
