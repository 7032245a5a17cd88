/*
 * Text as a Markdown code block.
 */
#ifndef HERMES_WORKER_TOOLS_FENCED_TEXT_H
#define HERMES_WORKER_TOOLS_FENCED_TEXT_H

#include "common/buffer.h"

#include <stddef.h>

#define FENCED_TEXT_MAX 5000 /* characters that a card shows (as in Hermes) */

/* Appends `text` between fences that are longer than any run of backticks in it. `language`
 * may be "". What is longer than `limit` characters is cut, with a note below the block that
 * gives the whole length. */
void fenced_text_append(
    struct buffer *out, const char *language, const char *text, size_t length, size_t limit);

#endif
