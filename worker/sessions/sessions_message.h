/*
 * Stored messages as a person saw them, and as a program reads them.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_MESSAGE_H
#define HERMES_WORKER_SESSIONS_SESSIONS_MESSAGE_H

#include "common/buffer.h"
#include "common/json.h"

#include <stddef.h>

enum sessions_message_kind {
	SESSIONS_MESSAGE_PROMPT,
	SESSIONS_MESSAGE_ANSWER,
	SESSIONS_MESSAGE_SUMMARY, /* of what came before, for the model */
	SESSIONS_MESSAGE_OTHER	  /* results, and what nobody was shown */
};

/* Messages are those of state_messages.h. Texts that are appended are as they are stored. */
enum sessions_message_kind sessions_message_kind(struct json_object *message);
/* What the user sent: text, and a word in brackets for what is no text. */
void sessions_message_prompt(struct buffer *out, struct json_object *message);
/* Text of "content", whatever its form. */
void sessions_message_content(struct buffer *out, struct json_object *message);
/* What the model thought; "" when nothing is kept. Borrowed. */
const char *sessions_message_thought(struct json_object *message);
/* The result of call `id` among the messages from `at` on; NULL when there is none. Borrowed.
 */
struct json_object *
sessions_message_result(struct json_object *messages, size_t at, const char *id);
/* The name of the tool, ": " and what its card was called, where that says more. */
void
sessions_message_call(struct buffer *out, struct json_object *call, struct json_object *result);
/* What the tool answered. An object is written member by member, so that texts in it can be
 * read. */
void sessions_message_answer(struct buffer *out, struct json_object *result);
/* A word for a result that is no success; NULL for one. */
const char *sessions_message_failure(struct json_object *result);
/* The message for a program: {"id", "timestamp" as RFC 3339, "role", "content", …}, members of
 * the row without their "_". Owned by the caller. */
struct json_object *sessions_message_record(struct json_object *message);

#endif
