/*
 * Pieces and wholes of a text. It must never pass anything on twice: where the whole is
 * another text than what was shown, what was shown stands.
 */
#include <config.h>

#include "worker/providers/responses_part.h"
#include "worker/providers/chat_output.h"

#include <string.h>

#define WAITING_MAX (1u << 20) /* bytes behind a gap; more is passed on as it is */
/* FNV-1a. */
#define HASH_START 14695981039346656037u
#define HASH_PRIME 1099511628211u

static uint64_t
hash_of(uint64_t hash, const char *bytes, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * HASH_PRIME;
	return hash;
}

void
responses_part_start(struct responses_part *part, enum part_kind kind, int64_t index)
{
	memset(part, 0, sizeof *part);
	part->kind = kind;
	part->index = index;
	part->hash = HASH_START;
}

void
responses_part_free(struct responses_part *part)
{
	buffer_free(&part->waiting);
}

/* Notes what stands in `out` from `from` on as passed on. */
static void
note(struct responses_part *part, const struct buffer *out, size_t from)
{
	size_t length = out->length - from;

	if (length == 0)
		return;
	part->hash = hash_of(part->hash, out->data + from, length);
	part->length += length;
	part->started = true;
}

void
responses_part_add(
    struct responses_part *part, bool armoured, struct json_object *string, struct buffer *out)
{
	struct buffer *target = part->gap ? &part->waiting : out;
	size_t from = out->length;

	if (part->closed)
		return;
	chat_output_repair(&part->pending, armoured, json_object_get_string(string),
	    (size_t)json_object_get_string_len(string), target);
	if (part->waiting.length > WAITING_MAX) {
		part->gap = false;
		buffer_append(out, part->waiting.data, part->waiting.length);
		buffer_free(&part->waiting);
	}
	note(part, out, from);
}

void
responses_part_end(struct responses_part *part, struct buffer *out)
{
	size_t from = out->length;

	if (part->closed)
		return;
	part->closed = true;
	delta_text_end(&part->pending, part->gap ? &part->waiting : out);
	buffer_append(out, buffer_text(&part->waiting), part->waiting.length);
	buffer_free(&part->waiting);
	note(part, out, from);
}

void
responses_part_whole(
    struct responses_part *part, bool armoured, struct json_object *string, struct buffer *out)
{
	struct buffer whole = BUFFER_EMPTY;
	struct delta_text pending = {.held_length = 0};
	size_t from = out->length, shown = (size_t)part->length;

	if (part->closed)
		return;
	chat_output_repair(&pending, armoured, json_object_get_string(string),
	    (size_t)json_object_get_string_len(string), &whole);
	delta_text_end(&pending, &whole);
	if (whole.length < shown || hash_of(HASH_START, whole.data, shown) != part->hash) {
		responses_part_end(part, out);
	} else {
		buffer_append(out, buffer_text(&whole) + shown, whole.length - shown);
		note(part, out, from);
		part->closed = true;
		buffer_free(&part->waiting);
	}
	buffer_free(&whole);
}
