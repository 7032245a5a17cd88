/*
 * The reasoning of a Chat Completions answer: shown once as thoughts, and kept in the form
 * in which the provider sent it, because some want it back unchanged.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_REASONING_H
#define HERMES_WORKER_PROVIDERS_CHAT_REASONING_H

#include "common/buffer.h"
#include "common/json.h"

struct chat_reasoning {
	struct buffer content; /* the member reasoning_content */
	bool has_content;      /* it was there, be it empty */
	struct json_object *details;
	struct buffer tail;   /* what the last of the details still gets appended */
	const char *tail_key; /* to which of its members */
};

/* The member of a delta whose text is to be shown ("reasoning", "reasoning_content", …):
 * its string, or NULL; *key names it. Details count only where there is no plain member. */
struct json_object *chat_reasoning_shown(struct json_object *delta, const char **key);
/* Merges one delta's reasoning_details; appends their text to `shown` when not NULL. */
void chat_reasoning_details(
    struct chat_reasoning *reasoning, struct json_object *delta, struct buffer *shown);
/* The members for the stored message, or NULL when there are none; the caller owns it.
 * `thoughts`: all thoughts as they were shown. */
struct json_object *
chat_reasoning_extra(struct chat_reasoning *reasoning, const struct buffer *thoughts);
void chat_reasoning_free(struct chat_reasoning *reasoning);

#endif
