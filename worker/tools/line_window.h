/*
 * Some lines out of a text that comes in pieces: numbered, long ones cut, the rest only
 * counted. Memory is bounded however long the text or a line of it is.
 */
#ifndef HERMES_WORKER_TOOLS_LINE_WINDOW_H
#define HERMES_WORKER_TOOLS_LINE_WINDOW_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_CHARACTERS_MAX 2000     /* of one line (as in Hermes) */
#define WINDOW_CHARACTERS_MAX 100000 /* of all of them, likewise */
#define WINDOW_PLAIN_MAX 8192	     /* bytes that are kept for the card */

struct line_window {
	/* Wanted; set before the first piece. */
	int64_t first; /* 1-based */
	int64_t count;
	char separator; /* '\n', or '\r' in a text that has no '\n' */
	/* Found. */
	struct buffer content; /* "<n>|<text>" lines, valid UTF-8, no newline at the end */
	struct buffer plain;   /* the beginning of the same text without numbers */
	int64_t lines;	       /* lines that have begun so far */
	int64_t shown;	       /* lines in `content` */
	bool cut_line;	       /* a line was longer than is shown */
	bool cut_size;	       /* the window ended early because it became too big */
	bool full;	       /* nothing more will be added to `content` */
	/* Private. */
	struct buffer line;
	size_t characters;
	bool in_line, skip_line;
};

void line_window_feed(struct line_window *window, const char *text, size_t length);
/* The text has ended. */
void line_window_end(struct line_window *window);
/* True when the bytes that come next could not be in `content`: the line that they belong to
 * is not wanted, or enough of it was kept. */
bool line_window_skips(const struct line_window *window);
void line_window_clear(struct line_window *window);

#endif
