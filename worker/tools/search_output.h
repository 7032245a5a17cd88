/*
 * What ripgrep, grep and find write, taken apart as it comes. Each record begins with an
 * absolute path that ends with NUL; a line of any length is kept only around its match.
 */
#ifndef HERMES_WORKER_TOOLS_SEARCH_OUTPUT_H
#define HERMES_WORKER_TOOLS_SEARCH_OUTPUT_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEARCH_LINE_MAX 500 /* characters of a line that are kept (as in Hermes) */

enum search_form {
	SEARCH_PATHS,  /* path NUL */
	SEARCH_COUNTS, /* path NUL number LF */
	SEARCH_LINES,  /* path NUL number ":" column ":" text LF; "-" in place of ":" and no
			* column for context */
	SEARCH_MARKED  /* the same without a column: matches are marked in the text */
};

/* How grep is told to mark matches, and what the marks are. */
#define SEARCH_GREP_COLORS "GREP_COLORS=ms=1:mc=:sl=:cx=:fn=:ln=:bn=:se=:ne"
#define SEARCH_MARK_BEGIN "\033[1m"
#define SEARCH_MARK_END "\033[m"

struct search_record {
	const char *path;
	int64_t number;	  /* line or count */
	bool context;	  /* a line beside a match */
	const char *text; /* valid UTF-8, NUL-terminated; "" when there is none */
};

struct search_output {
	enum search_form form;
	void (*record)(const struct search_record *record, void *arg);
	/* False when the text of this file's lines does not matter: it is "" then. May be
	 * NULL. */
	bool (*wants)(const char *path, void *arg);
	void *arg;
	struct buffer messages; /* what was neither: error messages, at most 4 KiB */
	/* Private. */
	int state;
	struct buffer path, text;
	int64_t number, column;
	bool context, found, quiet;
	int64_t base; /* where `text` begins in its line */
};

void search_output_feed(struct search_output *output, const char *bytes, size_t length);
void search_output_clear(struct search_output *output);

#endif
