/*
 * The state of a Responses answer that is being put together, and merging events into it.
 * Private to responses_assembler.c.
 */
#ifndef HERMES_WORKER_PROVIDERS_RESPONSES_MERGE_H
#define HERMES_WORKER_PROVIDERS_RESPONSES_MERGE_H

#include "worker/providers/answer_failure.h"
#include "worker/providers/chat_output.h"
#include "worker/providers/responses_items.h"

struct responses_assembler {
	struct answer_failure failure;
	struct chat_output output;
	struct responses_items items;
	struct model_usage usage;
	char *issuer;
	/* The server said that the answer is finished, and how. */
	bool has_finish;
	enum finish_reason finish;
	char *end_message; /* an end for a reason that is not known, or NULL */
	bool done;	   /* [DONE] */
	bool started;	   /* something of an answer came */
	bool refused;
	size_t stored_size; /* bytes of what is kept to be sent back */
	/* Pieces are numbered where the numbers grow; -1 = no number so far. */
	int64_t number;
	bool numbered, number_restarts;
	bool after_piece; /* the event before this one was a piece */
	/* Where text and thoughts stand: the next item begins a paragraph. */
	size_t text_item;
	bool has_text, has_thought;
	bool armoured; /* the event at hand: see delta_text_armour() */
	struct buffer clean;
};

/* Merges one event. `name` is that of the stream, for events that have no type. */
void responses_merge_event(
    struct responses_assembler *assembler, const char *name, struct json_object *event);
/* Merges a whole answer. `type`: the event that it stood in; "" when it was none. */
void responses_merge_response(
    struct responses_assembler *assembler, const char *type, struct json_object *response);
/* Ends the answer with the server's `error`, an object or a text; where it is neither, with
 * the event `otherwise`, which may be NULL. */
void responses_merge_fail(struct responses_assembler *assembler, struct json_object *error,
    struct json_object *otherwise);
/* Passes on what waits for a whole that did not come. */
void responses_merge_end(struct responses_assembler *assembler);

/* Takes a piece of a text, or the whole (the functions of responses_part.h). */
typedef void (*part_function)(
    struct responses_part *part, bool armoured, struct json_object *string, struct buffer *out);
void responses_merge_text(struct responses_assembler *assembler, struct responses_item *item,
    enum part_kind kind, int64_t index, struct json_object *string, part_function take);
/* The text of an item; NULL when it is not shown: thoughts that come in two forms are shown in
 * one. */
struct responses_part *
responses_merge_part(struct responses_item *item, enum part_kind kind, int64_t index);
/* An item with all that it has. */
void responses_merge_item(struct responses_assembler *assembler, struct responses_item *item,
    struct json_object *object);
enum item_type responses_item_type(struct json_object *object);
/* Its id; a call without one is known by that of the call. Borrowed. */
const char *responses_item_id(struct json_object *object);
/* Replaces a text of an item by the member when it is there. */
void responses_item_learn(char **text, struct json_object *object, const char *key);

#endif
