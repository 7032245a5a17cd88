/*
 * Searching a text for passages that read like another one when some differences (flags of
 * edit_fold.h) are folded away. Time is linear in the text for ordinary input.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_SEARCH_H
#define HERMES_WORKER_TOOLS_EDIT_SEARCH_H

#include "worker/tools/edit_merge.h"

#include <stdbool.h>
#include <stddef.h>

struct edit_span {
	size_t start, end; /* bytes of the text */
};

struct edit_spans {
	struct edit_span *items;
	size_t count;
	bool overlapping; /* there are more, overlapping the first */
};

/* Finds passages from `from` on, without overlaps, in order. The caller frees spans->items. */
void edit_search(const struct edit_text *text, size_t from, const struct edit_text *old,
    unsigned flags, bool whole_lines, struct edit_spans *spans);

#endif
