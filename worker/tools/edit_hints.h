/*
 * Why an edit did not fit, for the model: causes that can be told from the text (line
 * numbers pasted in, escapes written as text), and the places that come nearest.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_HINTS_H
#define HERMES_WORKER_TOOLS_EDIT_HINTS_H

#include "common/buffer.h"
#include "worker/tools/edit_merge.h"
#include "worker/tools/edit_search.h"

#include <stdbool.h>
#include <stddef.h>

/* True when at least 60 % of the lines that are not blank (and at least `least`) look like
 * output of read_file, "12|text", with ascending numbers (as in Hermes). */
bool edit_hints_numbered(const struct edit_text *text, size_t least);
/* Appends why `old` is not in `text` and the sections that are most like it. */
void edit_hints_missing(
    const struct edit_text *text, const struct edit_text *old, struct buffer *out);
/* Appends up to 5 passages as "L<number>: <first line>". */
void edit_hints_spans(
    const struct edit_text *text, const struct edit_spans *spans, struct buffer *out);
/* Appends the lines that hold [start, end), numbered, at most `most` of them. */
void edit_hints_lines(
    const struct edit_text *text, size_t start, size_t end, size_t most, struct buffer *out);

#endif
