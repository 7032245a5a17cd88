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
struct tool_context;

/* Which of its earlier thoughts a model gets back. Providers want opposite things: some
 * refuse a history without them, some one with them. */
enum request_reasoning {
	REQUEST_REASONING_NONE,
	REQUEST_REASONING_ALL,
	REQUEST_REASONING_CONTENT, /* reasoning_content */
	REQUEST_REASONING_DETAILS, /* reasoning_details */
	REQUEST_REASONING_BLOCKS,  /* reasoning_details with thinking of the Messages API */
	REQUEST_REASONING_ITEMS	   /* the items of the dialect codex_responses, and no other */
};

/* What a provider wants when the configuration says nothing. */
enum request_reasoning request_reasoning_default(const char *provider, const char *api_mode);
/* `images` false: pictures are replaced by a short text. The caller owns the array. */
struct json_object *request_messages(const struct conversation *conversation,
    const char *system_prompt, bool images, enum request_reasoning reasoning);
/* The tools of the session as the provider gets them: the same array in every mode, so that a
 * provider's prefix cache holds. Owned by the caller. */
struct json_object *request_tools(const struct tool_context *context);

#endif
