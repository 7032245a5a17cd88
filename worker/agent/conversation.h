/*
 * The messages of a session in the Chat Completions form, as they were said. What a provider
 * needs to see differently is done on a copy by request.c; nothing here is ever rewritten.
 */
#ifndef HERMES_WORKER_AGENT_CONVERSATION_H
#define HERMES_WORKER_AGENT_CONVERSATION_H

#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>

struct conversation;
struct model_tool_call;

/* `starts`: how many workers the session has had; ids of earlier ones are not known here, so
 * from the second on every call gets an id of our own. */
struct conversation *conversation_new(unsigned starts);
void conversation_free(struct conversation *conversation);

/* The messages; borrowed, not to be changed. */
struct json_object *conversation_messages(const struct conversation *conversation);
size_t conversation_length(const struct conversation *conversation);
/* Appends a message, without its display (display.h); the caller's is left as it is. */
void conversation_append(struct conversation *conversation, struct json_object *message);
/* A message that was stored, as it is: its call ids are in use. */
void conversation_adopt(struct conversation *conversation, struct json_object *message);
/* Drops everything from message `length` on (a refused exchange). */
void conversation_truncate(struct conversation *conversation, size_t length);

/* Building messages; the caller owns them. `content` is taken over. */
struct json_object *conversation_user(struct json_object *content);
/* `extra` (may be NULL) is copied in; `calls` become tool_calls. */
struct json_object *conversation_assistant(const char *text, size_t length,
    struct json_object *extra, const struct model_tool_call *calls, size_t count);
struct json_object *
conversation_tool(const char *call_id, const char *name, const char *content, size_t length);

/* Makes `*id` one that no call of this session had before: kept when it is new, else replaced
 * (the caller's string is freed). */
void conversation_claim_id(struct conversation *conversation, char **id);
/* Characters of all messages, for estimates. */
size_t conversation_characters(const struct conversation *conversation);

#endif
