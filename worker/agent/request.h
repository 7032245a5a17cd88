/*
 * The messages as a provider gets them: a copy of the conversation in which every tool call
 * is answered once, roles alternate, and nothing stands that the provider does not know.
 */
#ifndef HERMES_WORKER_AGENT_REQUEST_H
#define HERMES_WORKER_AGENT_REQUEST_H

#include "common/json.h"

#include <stdbool.h>

struct conversation;
struct runtime;

/* `images` false: pictures are replaced by a short text. `reasoning_echo`: reasoning_content
 * is sent back. The caller owns the array. */
struct json_object *request_messages(const struct conversation *conversation,
    const char *system_prompt, bool images, bool reasoning_echo);
/* The tools as the provider gets them: an array, owned by the caller; NULL when `read_only`
 * leaves none. In plan mode only what changes nothing is offered. */
struct json_object *request_tools(bool read_only);

#endif
