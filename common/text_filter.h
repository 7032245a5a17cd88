/*
 * Makes text from outside harmless for a terminal.
 */
#ifndef HERMES_COMMON_TEXT_FILTER_H
#define HERMES_COMMON_TEXT_FILTER_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sequence can be cut anywhere between two chunks, so the place in it is kept. */
struct text_filter {
	enum {
		FILTER_TEXT,
		FILTER_ESCAPE,
		FILTER_CONTROL,
		FILTER_STRING,
		FILTER_STRING_ESCAPE
	} state;
	enum { FILTER_ANY, FILTER_RETURN } last;
};

#define TEXT_FILTER_START                                                                      \
	{                                                                                      \
		FILTER_TEXT, FILTER_ANY                                                        \
	}

/* True when the character does nothing to a terminal but stand there. */
bool text_filter_harmless(uint32_t code);
/* Appends `text` without escape sequences, control characters (but newline and tab) and
 * characters that reorder text; CR LF and a lone CR become a newline, invalid UTF-8 U+FFFD. */
void text_filter_append(
    struct text_filter *filter, const char *text, size_t length, struct buffer *out);
/* The same for one whole text that must stay on one line: newlines and tabs become blanks,
 * and what is longer than `limit` bytes is cut and marked with dots. */
void text_filter_line(const char *text, size_t limit, struct buffer *out);

#endif
