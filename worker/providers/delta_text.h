/*
 * Text that a model sends in pieces. Some servers cut it at bytes, in the middle of a
 * character or of a pair of surrogates: what a piece leaves open is held back until the next
 * one closes it. What comes out is valid UTF-8; what stays invalid is one U+FFFD.
 */
#ifndef HERMES_WORKER_PROVIDERS_DELTA_TEXT_H
#define HERMES_WORKER_PROVIDERS_DELTA_TEXT_H

#include "common/buffer.h"
#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>

struct delta_text {
	char held[8];
	unsigned char held_length;
};

/* Appends what `bytes` completes to `out`. */
void delta_text_append(
    struct delta_text *text, const char *bytes, size_t length, struct buffer *out);
/* The end of the text: what is still held back is invalid. */
void delta_text_end(struct delta_text *text, struct buffer *out);

/* A JSON text with half characters in its strings is not JSON. This writes it to `out` with
 * every invalid byte and every lone surrogate escape replaced by a private code point
 * (U+10F000 to U+10F8FF), so that it can be parsed. False, with nothing in `out`, when the
 * text has neither. */
bool delta_text_armour(const char *json, size_t length, struct buffer *out);
/* Undoes it for one string of such a text; surrogates come out as three bytes each, which
 * delta_text_append() joins. */
void delta_text_unarmour(const char *text, size_t length, struct buffer *out);
/* json_parse() of such a text, changed where it has to be; *armoured tells whether it was. */
struct json_object *
delta_text_parse(const char *json, size_t length, bool *armoured, const char **reason);
/* Leaves out white space at both ends. */
void delta_text_trim(const char **data, size_t *length);
/* True for what ends the stream of many servers. */
bool delta_text_is_done(const char *data, size_t length);

#endif
