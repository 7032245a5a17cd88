/*
 * A prompt's content blocks as the model's user message.
 */
#ifndef HERMES_WORKER_AGENT_PROMPT_CONTENT_H
#define HERMES_WORKER_AGENT_PROMPT_CONTENT_H

#include "common/buffer.h"
#include "common/json.h"

/* Most that is taken of a linked or embedded file (as in Hermes). */
#define PROMPT_FILE_MAX (512 * 1024)

/* Builds the content: a string when every block is text, else an array of parts. Linked files
 * are read; what cannot be used becomes a line that says why. NULL with a sentence in `error`
 * when a block is malformed or of a kind that is not taken. The caller owns the value. */
struct json_object *
prompt_content_build(struct json_object *blocks, const char *cwd, struct buffer *error);
/* The text of the first block when it is a text block; borrowed, else NULL. */
const char *prompt_content_first_text(struct json_object *blocks);

#endif
