/*
 * What a command wrote, made into text: escape sequences taken out, progress lines reduced
 * to their last state, bytes that are not UTF-8 repaired, and of long output the beginning
 * and the end kept. Memory stays bounded however much is fed.
 */
#ifndef HERMES_WORKER_TOOLS_TERMINAL_OUTPUT_H
#define HERMES_WORKER_TOOLS_TERMINAL_OUTPUT_H

#include "common/buffer.h"

#include <stddef.h>

/* Characters of the whole text, notice included, and how they are shared out
 * (as in Hermes: 50,000, 40 % and 60 %). */
#define TERMINAL_OUTPUT_MAX 50000
#define TERMINAL_OUTPUT_HEAD 20000
#define TERMINAL_OUTPUT_TAIL 30000

struct terminal_output;

struct terminal_output *terminal_output_new(void);
void terminal_output_free(struct terminal_output *output);
/* Bytes as they come, cut anywhere. */
void terminal_output_feed(struct terminal_output *output, const char *bytes, size_t length);
/* The text so far; the caller frees it. Valid UTF-8 without NUL. */
char *terminal_output_text(const struct terminal_output *output, size_t *length);
/* Appends at most the last `limit` bytes of the text so far. */
void
terminal_output_recent(const struct terminal_output *output, size_t limit, struct buffer *out);

#endif
