/*
 * Tool calls put together from the pieces of a Chat Completions stream. Servers disagree
 * about index, id and name, so a piece goes to the call that it can only belong to.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_CALLS_H
#define HERMES_WORKER_PROVIDERS_CHAT_CALLS_H

#include "common/buffer.h"
#include "worker/providers/delta_text.h"
#include "worker/providers/provider.h"

#define CHAT_CALLS_MAX 256	       /* calls of one answer; further ones are dropped */
#define CHAT_ARGUMENTS_MAX (16u << 20) /* bytes of the arguments of one answer */

struct chat_call {
	bool indexed;
	int64_t index;
	struct buffer id, name, arguments;
	struct delta_text pending; /* half a character at the end of the arguments */
};

struct chat_calls {
	struct chat_call *list;
	size_t count;
	bool armoured; /* the pieces come from a text that delta_text_armour() changed */
	size_t last;   /* the call of the last piece */
	size_t size;   /* bytes of argument text so far */
	bool too_long; /* above the limit: nothing more is taken */
	/* The last piece's argument string when the piece was nothing else; borrowed from it.
	 */
	struct json_object *plain;
};

/* Takes one delta's "tool_calls" array, or an object in its place. */
void chat_calls_merge(struct chat_calls *calls, struct json_object *pieces);
/* Takes the older "function_call" object. */
void chat_calls_merge_function(struct chat_calls *calls, struct json_object *function);
/* A call of its own, with no arguments yet; its number, or CHAT_CALLS_MAX when there are so
 * many already. */
size_t chat_calls_add(struct chat_calls *calls, const char *id, const char *name);
/* More argument text for call number `at`. */
void chat_calls_append(struct chat_calls *calls, size_t at, const char *bytes, size_t length);
/* Moves the calls into the answer, which owns them then. */
void chat_calls_finish(struct chat_calls *calls, struct model_answer *answer);
void chat_calls_free(struct chat_calls *calls);

#endif
