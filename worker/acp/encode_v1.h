/*
 * Events of a turn as session/update payloads and client requests of ACP version 1. Another
 * version is another file like this one.
 */
#ifndef HERMES_WORKER_ACP_ENCODE_V1_H
#define HERMES_WORKER_ACP_ENCODE_V1_H

#include "common/buffer.h"
#include "common/json.h"
#include "worker/agent/output.h"
#include "worker/tools/tool.h"

/* What can be chosen in a session, and what is chosen. All borrowed. */
struct option_values {
	enum session_mode mode;
	const char *model;	    /* a value of models */
	struct json_object *models; /* [{value, name, description}] */
	const char *level;	    /* of thinking, one of levels */
	struct json_object *levels; /* names; NULL = there is no such choice */
};

/* All append one JSON object on one line. */
void encode_v1_chunk(struct buffer *out, enum output_voice voice, const char *message_id,
    const char *bytes, size_t length);
/* Items of a card's contents; `before` is NULL for a new file. */
void encode_v1_text(struct buffer *out, const char *text);
void
encode_v1_diff(struct buffer *out, const char *path, const char *before, const char *after);
/* tool_call from run->card. */
void encode_v1_card(struct buffer *out, const struct tool_run *run);
/* tool_call_update; contents from run->shown (left out when it has none). */
void
encode_v1_card_update(struct buffer *out, const struct tool_run *run, enum card_status status);
/* tool_call of a call that could not be run. */
void encode_v1_failed_call(
    struct buffer *out, const char *call_id, const char *name, const char *text);
/* tool_call_update of a card whose call was cut off. */
void
encode_v1_lost_card(struct buffer *out, const char *call_id, bool failed, const char *text);
void encode_v1_plan(struct buffer *out, const struct todo_list *list);
/* The usage of a session as a prompt's answer has it. */
void encode_v1_usage_total(struct buffer *out, const struct usage_total *total);
void encode_v1_usage(
    struct buffer *out, int64_t used, int64_t size, const struct usage_total *total);
void encode_v1_commands(struct buffer *out);
void encode_v1_mode(struct buffer *out, enum session_mode mode);
void encode_v1_options(struct buffer *out, const struct option_values *values);
void encode_v1_info(struct buffer *out, const char *title);
void encode_v1_notice(struct buffer *out, const char *title, const char *description);
/* Params of session/request_permission without the session id. */
void encode_v1_permission(struct buffer *out, const struct tool_run *run);
/* The members of the session/new result: modes and configOptions. */
void encode_v1_session(struct buffer *out, const struct option_values *values);
/* {"configOptions": […]} */
void encode_v1_options_result(struct buffer *out, const struct option_values *values);

/* The text of each update that is a piece of an answer, "" of every other; owned by the caller.
 */
struct json_object *encode_v1_texts(struct json_object *updates);
/* The answer that a permission result means; everything that is not understood is no. */
enum user_answer encode_v1_answer(struct json_object *result);

#endif
