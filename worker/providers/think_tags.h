/*
 * Thoughts that a model writes into its text between tags (<think> … </think>), taken out
 * again while the text streams; a tag may be cut anywhere.
 */
#ifndef HERMES_WORKER_PROVIDERS_THINK_TAGS_H
#define HERMES_WORKER_PROVIDERS_THINK_TAGS_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* Gets the text in order; `thought` says on which side of a tag it stood. */
typedef void (*think_tags_emit)(bool thought, const char *bytes, size_t length, void *arg);

struct think_tags {
	think_tags_emit emit;
	void *arg;
	int tag;	    /* the block that is open, -1 = none */
	bool skip_newlines; /* line ends next to a tag belong to the tag */
	bool boundary;	    /* a tag may open here */
	bool blank_line;    /* nothing but blanks stands on this line so far */
	bool keep;	    /* the block opened within a line: see think_tags_end() */
	struct buffer held; /* what may be the beginning of a tag */
	struct buffer unclosed;
};

void think_tags_start(struct think_tags *tags, think_tags_emit emit, void *arg);
/* `bytes` is valid UTF-8. */
void think_tags_feed(struct think_tags *tags, const char *bytes, size_t length);
/* The end of the text. A block that opened in the middle of a line and was never closed was
 * no block: somebody wrote about the tag, and its text is emitted as visible text too. */
void think_tags_end(struct think_tags *tags);
void think_tags_free(struct think_tags *tags);

#endif
