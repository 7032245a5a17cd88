/*
 * The conversation as the Messages API wants it: system blocks apart, user and assistant in
 * turn, all results of an answer's calls at the head of the one message after it.
 */
#ifndef HERMES_WORKER_PROVIDERS_ANTHROPIC_CONTENT_H
#define HERMES_WORKER_PROVIDERS_ANTHROPIC_CONTENT_H

#include "common/json.h"

/* Makes both arrays, which the caller owns, from messages in the Chat Completions form, which
 * stay as they are. `model` decides about earlier thinking. */
void anthropic_content_build(struct json_object *messages, const char *model,
    struct json_object **system, struct json_object **list);
/* The tools; the caller owns the array. */
struct json_object *anthropic_content_tools(struct json_object *tools);

#endif
