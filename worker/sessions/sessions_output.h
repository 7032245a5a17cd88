/*
 * What the sessions commands write: harmless lines for a terminal, JSON for programs, and what
 * went wrong. Nothing of a stored text may act on a terminal, and an early end of the reader is
 * no error.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_OUTPUT_H
#define HERMES_WORKER_SESSIONS_SESSIONS_OUTPUT_H

#include "common/buffer.h"
#include "common/json.h"

#include <stddef.h>

#define SESSIONS_TIME_SIZE 32

/* One line on standard error, behind the name of the program. */
void sessions_output_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Warnings of the log as such lines from now on. */
void sessions_output_catch_log(void);

/* Where something is written to: a file or standard output. */
struct sessions_output;

/* `fd` stays the caller's. `name` is for complaints; copied. */
struct sessions_output *sessions_output_new(int fd, const char *name);
/* What is appended here is written in its turn; borrowed. */
struct buffer *sessions_output_buffer(struct sessions_output *output);
/* Call it now and then: writes when there is enough. False when there is no use in going on,
 * because nobody reads it any more or it cannot be written. */
bool sessions_output_flush(struct sessions_output *output);
/* Writes what is left and frees it. 0 when all was written or the reader has gone; -1 after a
 * complaint. */
int sessions_output_end(struct sessions_output *output);

/* One line of JSON. Members of the outermost object that begin with "_" are taken out. */
void sessions_output_json(struct sessions_output *output, struct json_object *object);
/* Appends text with `prefix` before each line, blank lines at the end left out. At most `lines`
 * lines, each at most `width` characters; 0 = no limit. What is left out is said. */
void sessions_output_text(struct buffer *out, const char *prefix, const char *text,
    size_t length, size_t lines, size_t width);
/* Appends text on one line, with nothing that acts on a terminal. */
void sessions_output_line(struct buffer *out, const char *text);
/* Local time, "2026-01-31 14:05:09"; without seconds where `seconds` is false. */
void sessions_output_time(char text[SESSIONS_TIME_SIZE], double time, bool seconds);

#endif
