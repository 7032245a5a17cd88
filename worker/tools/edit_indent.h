/*
 * Old and new text of the model rewritten with the indentation of the file. Only two
 * translations exist: every line moves by one and the same amount, or tabs stand for a fixed
 * number of spaces throughout. Everything else is refused.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_INDENT_H
#define HERMES_WORKER_TOOLS_EDIT_INDENT_H

#include "worker/tools/edit_merge.h"

#include <stdbool.h>

/* `passage` starts at the start of a line and reads like `old` when indentation is left out.
 * Appends the translated texts. `skip`: bytes of the passage's first line that stay in front
 * of the match (the old text started in the middle of the indentation). False when no
 * uniform translation exists. */
bool edit_indent_adapt(const struct edit_text *passage, const struct edit_text *old,
    const struct edit_text *new, struct buffer *adapted_old, struct buffer *adapted_new,
    size_t *skip);

#endif
