/*
 * What is wrong with the user's files, one line per problem, each with file, line and key
 * where they are known. It must never show a secret or break out of its line.
 */
#ifndef HERMES_WORKER_CONFIG_PROBLEMS_H
#define HERMES_WORKER_CONFIG_PROBLEMS_H

#include "common/buffer.h"

#include <stddef.h>

struct problems {
	struct buffer text; /* lines, each with its newline */
	size_t count;
};

/* Notes a problem; the same line is noted once, and no more than PROBLEMS_MAX of them.
 * `line` 0 and `key` NULL mean not known. `problems` may be NULL: then nothing is noted. */
#define PROBLEMS_MAX 40
void problems_note(struct problems *problems, const char *file, unsigned line, const char *key,
    const char *format, ...) __attribute__((format(printf, 5, 6)));
void problems_clear(struct problems *problems);

#endif
