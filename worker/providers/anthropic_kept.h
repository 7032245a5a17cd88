/*
 * Thinking that a model wants back, as it is kept with the assistant's message in
 * reasoning_details: the blocks as they came (other programs of the family read them, too),
 * and one entry of ours that says whose they are and how they stood among text and calls.
 */
#ifndef HERMES_WORKER_PROVIDERS_ANTHROPIC_KEPT_H
#define HERMES_WORKER_PROVIDERS_ANTHROPIC_KEPT_H

#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>

/* The type of our own entry: {"type", "model", "length", "order": [{"type", "offset",
 * "length"}]}. Offsets count the bytes of the message's content. */
#define ANTHROPIC_KEPT_ORDER "anthropic_order"

/* True for the types of entries that only this dialect understands. */
bool anthropic_kept_is_type(const char *type);
/* A block as the API takes it, without what is not its own; NULL when it is of no use: no
 * thinking, or without its signature. The caller owns it. */
struct json_object *anthropic_kept_block(struct json_object *entry);
/* The message's reasoning_details when `model` may see them: a Claude sees those of any
 * Claude, others their own. Borrowed; NULL when there are none. */
struct json_object *anthropic_kept_details(struct json_object *message, const char *model);
/* How the blocks stood, when that has to be known and fits `message`; borrowed, or NULL:
 * thinking, then text, then calls. */
struct json_object *
anthropic_kept_order(struct json_object *details, struct json_object *message);

#endif
