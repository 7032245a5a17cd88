/*
 * Reasoning members and how their pieces are joined. It must never alter what it keeps:
 * signatures and encrypted data are only of use unchanged.
 */
#include <config.h>

#include "worker/providers/chat_reasoning.h"

#include <string.h>

struct json_object *
chat_reasoning_shown(struct json_object *delta, const char **key)
{
	static const char *const keys[] = {"reasoning", "reasoning_content", "thinking"};
	struct json_object *member;
	size_t i;

	for (i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		member = json_member(delta, keys[i]);
		if (json_object_is_type(member, json_type_string) &&
		    json_object_get_string_len(member) > 0) {
			*key = keys[i];
			return member;
		}
	}
	return NULL;
}

static bool
same_member(struct json_object *a, struct json_object *b, const char *key)
{
	struct json_object *left = json_member(a, key), *right = json_member(b, key);

	return left == NULL || right == NULL || json_object_equal(left, right);
}

/* True when `piece` goes on with the block `block`. */
static bool
continues(struct json_object *block, struct json_object *piece)
{
	const char *type = json_member_text(piece, "type", "");

	if (block == NULL || strcmp(json_member_text(block, "type", ""), type) != 0 ||
	    !same_member(block, piece, "index") || !same_member(block, piece, "id"))
		return false;
	if (strstr(type, "encrypted") != NULL)
		return false; /* each comes whole */
	/* The signature ends a block; where no index tells, text after it is a new one. */
	return json_has(piece, "index") || !json_has(block, "signature") ||
	       (!json_has(piece, "text") && !json_has(piece, "summary"));
}

/* The member whose text is shown and grows, or NULL. */
static const char *
growing_key(const char *key)
{
	static const char *const keys[] = {"text", "summary", "thinking"};
	size_t i;

	for (i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (strcmp(keys[i], key) == 0)
			return keys[i];
	return NULL;
}

static struct json_object *
last_block(struct chat_reasoning *reasoning)
{
	size_t count = json_object_array_length(reasoning->details);

	return count > 0 ? json_object_array_get_idx(reasoning->details, count - 1) : NULL;
}

/* Writes the collected text into the last block. It is collected apart, because appending
 * to a JSON string copies all of it. */
static void
settle(struct chat_reasoning *reasoning)
{
	struct json_object *block;

	if (reasoning->tail_key == NULL)
		return;
	block = last_block(reasoning);
	json_set(block, reasoning->tail_key,
	    json_new_bytes(buffer_text(&reasoning->tail), reasoning->tail.length));
	reasoning->tail_key = NULL;
	buffer_clear(&reasoning->tail);
}

static void
append_string(struct buffer *buffer, struct json_object *string)
{
	if (json_object_is_type(string, json_type_string))
		buffer_append(buffer, json_object_get_string(string),
		    (size_t)json_object_get_string_len(string));
}

static void
join_text(struct chat_reasoning *reasoning, const char *key, struct json_object *more)
{
	if (reasoning->tail_key != key) {
		settle(reasoning);
		append_string(&reasoning->tail, json_member(last_block(reasoning), key));
		reasoning->tail_key = key;
	}
	append_string(&reasoning->tail, more);
}

static void
join_piece(struct chat_reasoning *reasoning, struct json_object *piece)
{
	const char *growing;

	json_object_object_foreach(piece, key, value)
	{
		if (value == NULL)
			continue;
		growing = growing_key(key);
		if (growing != NULL && json_object_is_type(value, json_type_string))
			join_text(reasoning, growing, value);
		else
			json_set(last_block(reasoning), key, json_object_get(value));
	}
}

static void
take_piece(struct chat_reasoning *reasoning, struct json_object *piece, struct buffer *shown)
{
	static const char *const shown_keys[] = {"text", "summary", "thinking"};
	struct json_object *text;
	size_t i;

	if (!json_object_is_type(piece, json_type_object))
		return;
	if (continues(last_block(reasoning), piece)) {
		join_piece(reasoning, piece);
	} else {
		settle(reasoning);
		json_object_array_add(reasoning->details, json_copy(piece));
	}
	for (i = 0; shown != NULL && i < sizeof shown_keys / sizeof shown_keys[0]; i++) {
		text = json_member(piece, shown_keys[i]);
		if (json_object_is_type(text, json_type_string)) {
			append_string(shown, text);
			break;
		}
	}
}

void
chat_reasoning_details(
    struct chat_reasoning *reasoning, struct json_object *delta, struct buffer *shown)
{
	struct json_object *pieces = json_member_array(delta, "reasoning_details");
	size_t i, count;

	if (pieces == NULL)
		return;
	if (reasoning->details == NULL)
		reasoning->details = json_object_new_array();
	count = json_object_array_length(pieces);
	for (i = 0; i < count; i++)
		take_piece(reasoning, json_object_array_get_idx(pieces, i), shown);
}

struct json_object *
chat_reasoning_extra(struct chat_reasoning *reasoning, const struct buffer *thoughts)
{
	struct json_object *extra;

	if (thoughts->length == 0 && !reasoning->has_content && reasoning->details == NULL)
		return NULL;
	settle(reasoning);
	extra = json_object_new_object();
	if (thoughts->length > 0)
		json_set(extra, "reasoning", json_new_bytes(thoughts->data, thoughts->length));
	if (reasoning->has_content)
		json_set(extra, "reasoning_content",
		    json_new_bytes(
			buffer_text(&reasoning->content), reasoning->content.length));
	if (reasoning->details != NULL && json_object_array_length(reasoning->details) > 0)
		json_set(extra, "reasoning_details", json_object_get(reasoning->details));
	return extra;
}

void
chat_reasoning_free(struct chat_reasoning *reasoning)
{
	buffer_free(&reasoning->content);
	buffer_free(&reasoning->tail);
	json_object_put(reasoning->details);
	memset(reasoning, 0, sizeof *reasoning);
}
