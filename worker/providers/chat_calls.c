/*
 * Which call a piece belongs to. It must never glue two calls together and never invent
 * arguments.
 */
#include <config.h>

#include "worker/providers/chat_calls.h"
#include "common/alloc.h"
#include "common/json.h"
#include "common/json_scan.h"

#include <stdlib.h>
#include <string.h>

/* A piece as it stood in the stream; all borrowed, "" where absent. */
struct piece {
	bool indexed;
	int64_t index;
	const char *id, *name;
	const char *arguments;
	size_t arguments_length;
	struct json_object *string; /* the arguments when they are a string */
	bool whole;		    /* … were an object: nothing follows */
	size_t position;	    /* within its array */
};

static struct chat_call *
last_call(struct chat_calls *calls)
{
	return calls->count > 0 ? &calls->list[calls->count - 1] : NULL;
}

static struct chat_call *
by_index(struct chat_calls *calls, int64_t index)
{
	size_t i;

	for (i = calls->count; i > 0; i--)
		if (calls->list[i - 1].indexed && calls->list[i - 1].index == index)
			return &calls->list[i - 1];
	return NULL;
}

static struct chat_call *
by_id(struct chat_calls *calls, const char *id)
{
	size_t i;

	for (i = calls->count; i > 0; i--)
		if (strcmp(buffer_text(&calls->list[i - 1].id), id) == 0)
			return &calls->list[i - 1];
	return NULL;
}

/* True for the arguments of the call, whole, once more: some servers end with them. */
static bool
repeats(const struct chat_call *call, const char *bytes, size_t length)
{
	return length > 1 && length == call->arguments.length && bytes[0] == '{' &&
	       memcmp(bytes, call->arguments.data, length) == 0 &&
	       json_scan_check(bytes, length, JSON_DEPTH_MAX) == NULL;
}

/* True when the call has all its arguments and the piece brings a call of its own. Two that
 * are alike to the id are one. */
static bool
begins_anew(const struct chat_call *call, const struct piece *piece)
{
	if (piece->id[0] != '\0' && strcmp(piece->id, buffer_text(&call->id)) == 0 &&
	    strcmp(piece->name, buffer_text(&call->name)) == 0 &&
	    repeats(call, piece->arguments, piece->arguments_length))
		return false;
	return piece->name[0] != '\0' && call->name.length > 0 && call->arguments.length > 0 &&
	       piece->arguments_length > 0 && piece->arguments[0] == '{' &&
	       json_scan_check(call->arguments.data, call->arguments.length, JSON_DEPTH_MAX) ==
		   NULL;
}

/* The call for a piece with an index; NULL = a new one. */
static struct chat_call *
find_indexed(struct chat_calls *calls, const struct piece *piece)
{
	struct chat_call *call = by_index(calls, piece->index), *same;

	if (call == NULL) {
		/* Either the index moved on within a call, or ids are not unique. Only a
		 * new call brings its name. */
		same = piece->id[0] != '\0' ? by_id(calls, piece->id) : NULL;
		if (same != NULL && piece->name[0] == '\0')
			return same;
		/* The beginning of the call came without an index. */
		same = last_call(calls);
		if (same != NULL && !same->indexed && same->name.length == 0 &&
		    piece->position == 0)
			return same;
		return NULL;
	}
	/* The index is used again: another id that comes with a name. */
	if (piece->id[0] != '\0' && call->id.length > 0 &&
	    strcmp(piece->id, buffer_text(&call->id)) != 0 && piece->name[0] != '\0') {
		same = by_id(calls, piece->id);
		return same != NULL && same->indexed && same->index == piece->index ? same
										    : NULL;
	}
	return begins_anew(call, piece) ? NULL : call;
}

static struct chat_call *
find_by_id(struct chat_calls *calls, const struct piece *piece)
{
	struct chat_call *call = by_id(calls, piece->id), *last = last_call(calls);

	if (call != NULL)
		return begins_anew(call, piece) ? NULL : call;
	/* Arguments came first, id and name follow. */
	if (last != NULL && last->id.length == 0 && last->name.length == 0 &&
	    piece->position == 0)
		return last;
	return NULL;
}

/* Neither index nor id: only the order tells. */
static struct chat_call *
find_nameless(struct chat_calls *calls, const struct piece *piece)
{
	struct chat_call *last = last_call(calls);

	if (last == NULL || piece->name[0] == '\0' || last->name.length == 0)
		return last;
	if (piece->position > 0 || begins_anew(last, piece))
		return NULL;
	if (last->arguments.length > 0 && strcmp(buffer_text(&last->name), piece->name) != 0)
		return NULL;
	return last;
}

static struct chat_call *
new_call(struct chat_calls *calls)
{
	struct chat_call *call;

	if (calls->count == CHAT_CALLS_MAX)
		return NULL;
	calls->list = xreallocarray(calls->list, calls->count + 1, sizeof *calls->list);
	call = &calls->list[calls->count++];
	memset(call, 0, sizeof *call);
	return call;
}

size_t
chat_calls_add(struct chat_calls *calls, const char *id, const char *name)
{
	struct chat_call *call = new_call(calls);

	if (call == NULL)
		return CHAT_CALLS_MAX;
	buffer_append_text(&call->id, id);
	buffer_append_text(&call->name, name);
	return calls->count - 1;
}

/* A name comes whole, whole again with each piece, growing, or in parts before the
 * arguments. */
static void
merge_name(struct chat_call *call, const char *name)
{
	const char *known = buffer_text(&call->name);

	if (name[0] == '\0' || strcmp(known, name) == 0)
		return;
	if (call->name.length > 0 && strncmp(name, known, call->name.length) == 0)
		buffer_clear(&call->name);
	else if (call->name.length > 0 && call->arguments.length > 0)
		return;
	buffer_append_text(&call->name, name);
}

void
chat_calls_append(struct chat_calls *calls, size_t at, const char *bytes, size_t length)
{
	struct chat_call *call = &calls->list[at];
	struct buffer raw = BUFFER_EMPTY;

	calls->size += length;
	calls->too_long = calls->too_long || calls->size > CHAT_ARGUMENTS_MAX;
	if (calls->too_long)
		return;
	if (calls->armoured) {
		delta_text_unarmour(bytes, length, &raw);
		bytes = buffer_text(&raw);
		length = raw.length;
	}
	if (!repeats(call, bytes, length))
		delta_text_append(&call->pending, bytes, length, &call->arguments);
	buffer_free(&raw);
}

static void
merge_piece(struct chat_calls *calls, const struct piece *piece)
{
	struct chat_call *call;
	bool known;

	if (piece->indexed)
		call = find_indexed(calls, piece);
	else if (piece->id[0] != '\0')
		call = find_by_id(calls, piece);
	else
		call = find_nameless(calls, piece);
	known = call != NULL;
	if (call == NULL)
		call = new_call(calls);
	if (call == NULL)
		return;
	if (piece->indexed && !call->indexed) {
		call->indexed = true;
		call->index = piece->index;
	}
	if (call->id.length == 0)
		buffer_append_text(&call->id, piece->id);
	merge_name(call, piece->name);
	/* An object is the whole: a repeated one replaces what is there. */
	if (piece->whole)
		buffer_clear(&call->arguments);
	calls->last = (size_t)(call - calls->list);
	chat_calls_append(calls, calls->last, piece->arguments, piece->arguments_length);
	if (known && piece->indexed && piece->id[0] == '\0' && piece->name[0] == '\0' &&
	    piece->position == 0)
		calls->plain = piece->string;
}

static void
read_arguments(struct json_object *function, struct piece *piece)
{
	struct json_object *arguments = json_member(function, "arguments");

	if (arguments == NULL)
		arguments = json_member(function, "parameters");
	if (json_object_is_type(arguments, json_type_string)) {
		piece->string = arguments;
		piece->arguments = json_object_get_string(arguments);
		piece->arguments_length = (size_t)json_object_get_string_len(arguments);
	} else if (arguments != NULL) {
		piece->arguments = json_text(arguments, &piece->arguments_length);
		piece->whole = true;
	}
}

static void
merge_object(struct chat_calls *calls, struct json_object *object, size_t position)
{
	struct json_object *function = json_member_object(object, "function");
	struct piece piece = {.arguments = "", .position = position};

	if (!json_object_is_type(object, json_type_object))
		return;
	if (function == NULL)
		function = object; /* some leave the wrapper out */
	piece.indexed = json_member_integer(object, "index", &piece.index);
	piece.id = json_member_text(object, "id", "");
	piece.name = json_member_text(function, "name", "");
	read_arguments(function, &piece);
	if (piece.id[0] != '\0' || piece.name[0] != '\0' || piece.arguments_length > 0)
		merge_piece(calls, &piece);
}

void
chat_calls_merge(struct chat_calls *calls, struct json_object *pieces)
{
	size_t i, count;

	calls->plain = NULL;
	if (!json_object_is_type(pieces, json_type_array)) {
		merge_object(calls, pieces, 0);
		return;
	}
	count = json_object_array_length(pieces);
	for (i = 0; i < count; i++)
		merge_object(calls, json_object_array_get_idx(pieces, i), i);
	if (count > 1)
		calls->plain = NULL;
}

void
chat_calls_merge_function(struct chat_calls *calls, struct json_object *function)
{
	calls->plain = NULL;
	merge_object(calls, function, 0);
	calls->plain = NULL;
}

void
chat_calls_finish(struct chat_calls *calls, struct model_answer *answer)
{
	struct chat_call *call;
	size_t i;

	if (calls->count > 0)
		answer->calls = xcalloc(calls->count, sizeof *answer->calls);
	answer->call_count = calls->count;
	for (i = 0; i < calls->count; i++) {
		call = &calls->list[i];
		delta_text_end(&call->pending, &call->arguments);
		answer->calls[i].id = xstrdup(buffer_text(&call->id));
		answer->calls[i].name = xstrdup(buffer_text(&call->name));
		answer->calls[i].arguments = buffer_take(&call->arguments);
		if (answer->calls[i].arguments == NULL)
			answer->calls[i].arguments = xstrdup("");
	}
	chat_calls_free(calls);
}

void
chat_calls_free(struct chat_calls *calls)
{
	size_t i;

	for (i = 0; i < calls->count; i++) {
		buffer_free(&calls->list[i].id);
		buffer_free(&calls->list[i].name);
		buffer_free(&calls->list[i].arguments);
	}
	free(calls->list);
	memset(calls, 0, sizeof *calls);
}
