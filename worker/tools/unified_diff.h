/*
 * The difference between two texts in unified format, for the model to read.
 */
#ifndef HERMES_WORKER_TOOLS_UNIFIED_DIFF_H
#define HERMES_WORKER_TOOLS_UNIFIED_DIFF_H

#include "common/buffer.h"

#include <stddef.h>

#define UNIFIED_DIFF_CONTEXT 3	    /* lines around a change */
#define UNIFIED_DIFF_MAX 60000u	    /* bytes; below the ceiling of a result (as in Hermes) */
#define UNIFIED_DIFF_LINE_MAX 2000u /* bytes shown of one line */

/* One side; `text` NULL: there is no such file ("/dev/null"). */
struct unified_side {
	const char *text;
	size_t length;
};

/* Where two texts differ, in lines counted from 0; [start, end) of each. */
struct unified_span {
	size_t old_start, old_end, new_start, new_end;
};

/* Appends "--- a/path", "+++ b/path" and the hunks; nothing when the texts are equal. */
void unified_diff_append(struct buffer *out, const char *path, const struct unified_side *old,
    const struct unified_side *new);
/* Bytes [start, end) of each text that hold every change with `context` lines around, as
 * offsets; both are empty when nothing changed. `line`: the first changed line of the new
 * text, from 1. */
void unified_diff_region(const struct unified_side *old, const struct unified_side *new,
    size_t context, struct unified_span *bytes, long *line);

#endif
