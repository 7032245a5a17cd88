/*
 * Finding the passage that an edit means, and making the text with the edit in it. A passage
 * counts when it is equal, or when it differs only in line ends, blanks at the end of lines,
 * indentation or typographic look-alikes; and only when it is the only one. Likeness never
 * decides, it only suggests. Pure functions: no file is touched.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_MATCH_H
#define HERMES_WORKER_TOOLS_EDIT_MATCH_H

#include "worker/tools/edit_merge.h"

#include <stdbool.h>
#include <stddef.h>

struct edit_request {
	struct edit_text old;
	struct edit_text new;
	bool replace_all; /* every passage, not the only one */
	bool whole_lines; /* the passage starts and ends at line ends */
	bool first;	  /* the first passage behind `from` counts though there are more */
	size_t from;	  /* where the search starts: 0 or the start of a line */
};

enum edit_outcome {
	EDIT_DONE,	/* `text` is the new text */
	EDIT_ALREADY,	/* nothing to do: the new text is there, the old is not */
	EDIT_NOT_FOUND, /* `error` says why and what comes near */
	EDIT_AMBIGUOUS, /* several passages; `error` lists them */
	EDIT_REFUSED	/* found, but it cannot be carried over safely; see `error` */
};

struct edit_result {
	enum edit_outcome outcome;
	const char *strategy; /* how it was found: "exact", "line endings" … */
	size_t count;	      /* passages replaced */
	struct buffer text;
	size_t end; /* place in `text` behind the last replacement */
	struct buffer error;
};

/* Fills `result`, which edit_result_clear() frees whatever the outcome. */
void edit_match_apply(const struct edit_text *text, const struct edit_request *request,
    struct edit_result *result);
void edit_result_clear(struct edit_result *result);

#endif
