/*
 * file: URIs as clients write them: percent-encoded or not, with a line range or without.
 */
#ifndef HERMES_WORKER_AGENT_FILE_URI_H
#define HERMES_WORKER_AGENT_FILE_URI_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

struct file_uri {
	char *path;		      /* absolute */
	size_t first_line, last_line; /* 1-based, inclusive; 0 = the whole file */
};

/* Takes a file: URI of this machine or a path (a relative one below `cwd`). False for
 * anything else. The path as it stands is preferred when it exists, else it is decoded. */
bool file_uri_parse(const char *text, const char *cwd, struct file_uri *uri);
void file_uri_clear(struct file_uri *uri);
/* Appends the range's lines as "number|line". */
void file_uri_append_lines(
    const struct file_uri *uri, const char *text, size_t length, struct buffer *out);

#endif
