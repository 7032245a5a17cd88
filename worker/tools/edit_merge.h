/*
 * Carrying a change over: a passage of the file reads like the old text of the model once
 * some differences are folded away, and the model's new text says what is to become of it.
 * Only what differs between the model's old and new text may change in the file.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_MERGE_H
#define HERMES_WORKER_TOOLS_EDIT_MERGE_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

struct edit_text {
	const char *bytes;
	size_t length;
};

/* Appends what `passage` becomes. `flags` (EDIT_FOLD_*, without LEADING) are those under
 * which passage and `old` read alike; `line_end` is what a new line end is written as. False
 * when it cannot be told which typographic characters are meant; `out` is then unusable. */
bool edit_merge(const struct edit_text *passage, const struct edit_text *old,
    const struct edit_text *new, unsigned flags, const char *line_end, struct buffer *out);

#endif
