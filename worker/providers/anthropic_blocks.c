/*
 * Collecting content blocks. Signatures and the text that they sign must be kept byte for
 * byte; arguments must never go to another call than their own.
 */
#include <config.h>

#include "worker/providers/anthropic_blocks.h"
#include "worker/providers/anthropic_kept.h"
#include "common/alloc.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

void
anthropic_blocks_start(struct anthropic_blocks *blocks, const struct chat_sink *sink)
{
	memset(blocks, 0, sizeof *blocks);
	chat_output_start(&blocks->output, sink);
}

void
anthropic_blocks_free(struct anthropic_blocks *blocks)
{
	size_t i;

	for (i = 0; i < blocks->count; i++) {
		json_object_put(blocks->list[i].input);
		buffer_free(&blocks->list[i].thinking);
		buffer_free(&blocks->list[i].signature);
	}
	free(blocks->list);
	chat_output_free(&blocks->output);
	chat_calls_free(&blocks->calls);
}

static struct anthropic_block *
new_block(struct anthropic_blocks *blocks, int64_t index, enum anthropic_kind kind)
{
	struct anthropic_block *block;

	if (blocks->count == ANTHROPIC_BLOCKS_MAX) {
		blocks->error = "sent more content blocks than an answer can have";
		return NULL;
	}
	blocks->list = xreallocarray(blocks->list, blocks->count + 1, sizeof *blocks->list);
	block = &blocks->list[blocks->count++];
	memset(block, 0, sizeof *block);
	block->kind = kind;
	block->index = index;
	block->offset = blocks->text_length;
	if (kind != ANTHROPIC_TEXT)
		blocks->parted = true;
	return block;
}

struct anthropic_block *
anthropic_blocks_find(struct anthropic_blocks *blocks, int64_t index, enum anthropic_kind kind)
{
	struct anthropic_block *block;
	size_t i;

	for (i = blocks->count; i > 0; i--) {
		block = &blocks->list[i - 1];
		if (index == -1 || block->index == index)
			return block->kind == kind ? block : NULL;
	}
	return NULL;
}

struct anthropic_block *
anthropic_blocks_need(struct anthropic_blocks *blocks, int64_t index, enum anthropic_kind kind)
{
	struct anthropic_block *block = anthropic_blocks_find(blocks, index, kind);

	return block != NULL ? block : new_block(blocks, index, kind);
}

/* --- pieces ------------------------------------------------------------------------------ */

static void
add_text(struct anthropic_blocks *blocks, struct anthropic_block *block, const char *bytes,
    size_t length)
{
	const struct buffer *clean = &blocks->output.clean;

	/* Two texts with something between them are two paragraphs. */
	if (blocks->parted && blocks->open_line && block->length == 0) {
		chat_output_add(&blocks->output, false, false, "\n\n", 2);
		blocks->text_length += clean->length;
	}
	blocks->parted = false;
	if (block->length == 0)
		block->offset = blocks->text_length;
	chat_output_add(&blocks->output, false, blocks->armoured, bytes, length);
	blocks->text_length += clean->length;
	block->length = blocks->text_length - block->offset;
	if (clean->length > 0)
		blocks->open_line = clean->data[clean->length - 1] != '\n';
}

static void
add_thought(struct anthropic_blocks *blocks, struct anthropic_block *block, const char *bytes,
    size_t length)
{
	if (block->thinking.length == 0 && blocks->output.thoughts.length > 0)
		chat_output_add(&blocks->output, true, false, "\n\n", 2);
	chat_output_repair(&block->pending, blocks->armoured, bytes, length, &block->thinking);
	chat_output_add(&blocks->output, true, blocks->armoured, bytes, length);
}

void
anthropic_blocks_add(struct anthropic_blocks *blocks, struct anthropic_block *block,
    const char *bytes, size_t length)
{
	if (length == 0)
		return;
	blocks->payload = true;
	switch (block->kind) {
	case ANTHROPIC_TEXT:
		add_text(blocks, block, bytes, length);
		break;
	case ANTHROPIC_THOUGHT:
		add_thought(blocks, block, bytes, length);
		break;
	case ANTHROPIC_CALL:
		block->has_pieces = true;
		blocks->calls.armoured = blocks->armoured;
		chat_calls_append(&blocks->calls, block->call, bytes, length);
		break;
	case ANTHROPIC_REDACTED:
	case ANTHROPIC_OTHER:
		break;
	}
	if (blocks->calls.too_long)
		blocks->error = "sent tool calls whose arguments are longer than 16 MiB";
}

void
anthropic_blocks_sign(struct anthropic_blocks *blocks, struct anthropic_block *block,
    const char *bytes, size_t length)
{
	blocks->signatures += length;
	if (blocks->signatures > ANTHROPIC_SIGNATURES_MAX)
		blocks->error = "sent signatures that are longer than 4 MiB";
	else
		buffer_append(&block->signature, bytes, length);
}

/* --- the start of a block ---------------------------------------------------------------- */

static void
add_member(struct anthropic_blocks *blocks, struct anthropic_block *block,
    struct json_object *object, const char *key,
    void (*add)(struct anthropic_blocks *, struct anthropic_block *, const char *, size_t))
{
	struct json_object *string = json_member(object, key);

	if (json_object_is_type(string, json_type_string))
		add(blocks, block, json_object_get_string(string),
		    (size_t)json_object_get_string_len(string));
}

static void
open_call(
    struct anthropic_blocks *blocks, struct anthropic_block *block, struct json_object *object)
{
	struct json_object *input = json_member(object, "input");

	blocks->payload = true;
	block->call = chat_calls_add(&blocks->calls, json_member_text(object, "id", ""),
	    json_member_text(object, "name", ""));
	if (block->call == CHAT_CALLS_MAX)
		block->kind = ANTHROPIC_OTHER;
	else if (json_object_is_type(input, json_type_object) &&
		 json_object_object_length(input) > 0)
		block->input = json_object_get(input);
	else if (json_object_is_type(input, json_type_string))
		anthropic_blocks_add(blocks, block, json_object_get_string(input),
		    (size_t)json_object_get_string_len(input));
}

void
anthropic_blocks_open(
    struct anthropic_blocks *blocks, int64_t index, struct json_object *object)
{
	static const struct {
		const char *type;
		enum anthropic_kind kind;
		const char *text, *signature;
	} kinds[] = {
	    {"text", ANTHROPIC_TEXT, "text", NULL},
	    {"thinking", ANTHROPIC_THOUGHT, "thinking", "signature"},
	    {"redacted_thinking", ANTHROPIC_REDACTED, NULL, "data"},
	    {"tool_use", ANTHROPIC_CALL, NULL, NULL},
	};
	const char *type = json_member_text(object, "type", "");
	struct anthropic_block *block;
	size_t i = 0;

	while (i < sizeof kinds / sizeof kinds[0] && strcmp(kinds[i].type, type) != 0)
		i++;
	if (i == sizeof kinds / sizeof kinds[0]) {
		new_block(blocks, index, ANTHROPIC_OTHER);
		return;
	}
	block = new_block(blocks, index, kinds[i].kind);
	if (block == NULL)
		return;
	if (kinds[i].text != NULL)
		add_member(blocks, block, object, kinds[i].text, anthropic_blocks_add);
	if (kinds[i].signature != NULL)
		add_member(blocks, block, object, kinds[i].signature, anthropic_blocks_sign);
	if (block->kind == ANTHROPIC_CALL)
		open_call(blocks, block, object);
}

/* --- the end ----------------------------------------------------------------------------- */

void
anthropic_blocks_end(struct anthropic_blocks *blocks)
{
	struct anthropic_block *block;
	const char *text;
	size_t i, length;

	chat_output_end(&blocks->output);
	for (i = 0; i < blocks->count; i++) {
		block = &blocks->list[i];
		if (block->kind == ANTHROPIC_THOUGHT)
			delta_text_end(&block->pending, &block->thinking);
		if (block->kind != ANTHROPIC_CALL || block->has_pieces || block->input == NULL)
			continue;
		text = json_text(block->input, &length);
		blocks->calls.armoured = false;
		chat_calls_append(&blocks->calls, block->call, text, length);
	}
}

static bool
is_kept(const struct anthropic_block *block)
{
	return (block->kind == ANTHROPIC_THOUGHT || block->kind == ANTHROPIC_REDACTED) &&
	       block->signature.length > 0;
}

/* True when the blocks do not stand as thinking, text, calls, which is what a reader takes for
 * granted. */
static bool
is_mixed(const struct anthropic_blocks *blocks)
{
	const struct anthropic_block *block;
	int stage = 0, own;
	size_t i;

	for (i = 0; i < blocks->count; i++) {
		block = &blocks->list[i];
		if (block->kind == ANTHROPIC_TEXT && block->length > 0)
			own = 1;
		else if (block->kind == ANTHROPIC_CALL)
			own = 2;
		else if (is_kept(block))
			own = 0;
		else
			continue;
		/* Two texts that are apart have a new line between them that is ours. */
		if (own < stage || (own == 1 && stage == 1))
			return true;
		stage = own;
	}
	return false;
}

static struct json_object *
order_of(const struct anthropic_blocks *blocks)
{
	struct json_object *order = json_object_new_array(), *entry;
	const struct anthropic_block *block;
	size_t i;

	for (i = 0; i < blocks->count; i++) {
		block = &blocks->list[i];
		if (!is_kept(block) && block->kind != ANTHROPIC_CALL &&
		    (block->kind != ANTHROPIC_TEXT || block->length == 0))
			continue;
		entry = json_object_new_object();
		json_set_text(entry, "type",
		    block->kind == ANTHROPIC_TEXT   ? "text"
		    : block->kind == ANTHROPIC_CALL ? "tool_use"
						    : "thinking");
		if (block->kind == ANTHROPIC_TEXT) {
			json_set_integer(entry, "offset", (int64_t)block->offset);
			json_set_integer(entry, "length", (int64_t)block->length);
		}
		json_object_array_add(order, entry);
	}
	return order;
}

static struct json_object *
kept_entry(const struct anthropic_block *block)
{
	struct json_object *entry = json_object_new_object();
	bool redacted = block->kind == ANTHROPIC_REDACTED;

	json_set_text(entry, "type", redacted ? "redacted_thinking" : "thinking");
	if (!redacted)
		json_set(entry, "thinking",
		    json_new_bytes(buffer_text(&block->thinking), block->thinking.length));
	json_set(entry, redacted ? "data" : "signature",
	    json_new_bytes(block->signature.data, block->signature.length));
	return entry;
}

struct json_object *
anthropic_blocks_details(struct anthropic_blocks *blocks, const char *model)
{
	struct json_object *details = NULL, *entry;
	size_t i;

	for (i = 0; i < blocks->count; i++) {
		if (!is_kept(&blocks->list[i]))
			continue;
		if (details == NULL)
			details = json_object_new_array();
		json_object_array_add(details, kept_entry(&blocks->list[i]));
	}
	if (details == NULL)
		return NULL;
	entry = json_object_new_object();
	json_set_text(entry, "type", ANTHROPIC_KEPT_ORDER);
	if (model[0] != '\0')
		json_set_text(entry, "model", model);
	if (is_mixed(blocks)) {
		json_set_integer(entry, "length", (int64_t)blocks->text_length);
		json_set(entry, "order", order_of(blocks));
	}
	json_object_array_add(details, entry);
	return details;
}
