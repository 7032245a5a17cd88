/*
 * What a message looked like on the screen, kept with it as its member "_display", so that a
 * stored session can be shown again as it was. Neutral to the protocol's version.
 */
#ifndef HERMES_WORKER_AGENT_DISPLAY_H
#define HERMES_WORKER_AGENT_DISPLAY_H

#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_run;

#define DISPLAY_MEMBER "_display"
/* Longest that is kept of one message; contents that do not fit are left out. */
#define DISPLAY_MAX (256 * 1024)

/* A prompt: {"prompt": blocks}; blocks are borrowed. */
void display_prompt(struct json_object *message, struct json_object *blocks);
/* An answer: {"messageId", "thoughtId"}; each may be "". */
void
display_answer(struct json_object *message, const char *message_id, const char *thought_id);
/* How many pieces of text the turn had shown when the answer was saved: by it a successor knows
 * which of them the answer holds. 0 when that is not known. */
void display_mark_texts(struct json_object *message, uint64_t texts);
uint64_t display_texts(struct json_object *message);
/* A tool's result: {"title", "kind", "failed", "locations", "content"}. */
void display_run(struct json_object *message, const struct tool_run *run, bool failed);
/* The same for a call that started and whose result nobody knows; `text` says so. */
void
display_lost_run(struct json_object *message, const struct tool_run *run, const char *text);
/* The result of a call that never became a run. */
void display_failed_call(struct json_object *message, const char *name, const char *text);

#endif
