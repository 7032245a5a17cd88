/*
 * The items of a Responses answer: messages, thoughts, calls. An event names the item that it
 * is about by its place, by its id, or not at all; it goes to the one that it can only mean.
 */
#ifndef HERMES_WORKER_PROVIDERS_RESPONSES_ITEMS_H
#define HERMES_WORKER_PROVIDERS_RESPONSES_ITEMS_H

#include "common/buffer.h"
#include "worker/providers/provider.h"
#include "worker/providers/responses_part.h"

enum item_type { ITEM_MESSAGE, ITEM_REASONING, ITEM_CALL, ITEM_OTHER };

struct responses_item {
	enum item_type type;
	int64_t index; /* its place in the answer */
	size_t number; /* … and in the order of arrival */
	char *id;      /* "" = not told */
	bool done;     /* it came as a whole */
	struct responses_part *parts;
	size_t part_count;
	bool kind_chosen; /* thoughts come as a summary or in full; the first kind counts */
	enum part_kind kind;
	/* Calls. */
	char *call_id, *name;	 /* "" = not told */
	struct buffer arguments; /* from pieces, or the whole */
	struct delta_text pending;
	bool whole; /* the arguments came as a whole */
	bool gap;   /* … or else: a piece of them is missing */
	/* Thoughts and messages as they are to be sent back; NULL before they came whole. */
	struct json_object *stored;
};

/* What an event says of the item that it is about; "" and -1 = nothing. */
struct item_key {
	enum item_type type;
	int64_t index;
	const char *id;
};

struct responses_items {
	struct responses_item *list;
	size_t count;
	size_t size;   /* bytes of argument text */
	bool too_long; /* … above the limit (chat_calls.h) */
};

/* The item that an event is about, a new one where there is none; NULL = too many. The pointer
 * is good until the next call. */
struct responses_item *
responses_items_get(struct responses_items *items, const struct item_key *key);
/* An item that the server announces: a new one unless its id is known. */
struct responses_item *
responses_items_add(struct responses_items *items, const struct item_key *key);
/* The item that stands in the list of the whole answer, as the `nth` of its type. */
struct responses_item *
responses_items_listed(struct responses_items *items, const struct item_key *key, size_t nth);
/* A text of an item, a new one where there is none; NULL = too many. */
struct responses_part *
responses_item_part(struct responses_item *item, enum part_kind kind, int64_t index);
/* Pieces and the whole of a call's arguments: strings; the whole may be an object too. */
void responses_items_arguments(struct responses_items *items, struct responses_item *call,
    bool armoured, struct json_object *string);
void responses_items_whole_arguments(struct responses_items *items, struct responses_item *call,
    bool armoured, struct json_object *value);
/* Puts them in the order of the answer; no item may be added after it. */
void responses_items_sort(struct responses_items *items);
/* Moves the calls into the answer. */
void responses_items_calls(struct responses_items *items, struct model_answer *answer);
void responses_items_free(struct responses_items *items);

#endif
