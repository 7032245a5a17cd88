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
/* The tools as the provider gets them: the same array in every mode, so that a provider's
 * prefix cache holds. Owned by the caller. */
struct json_object *request_tools(void);

#endif
