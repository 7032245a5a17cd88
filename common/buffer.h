/*
 * A growable byte buffer, the one way in which text is put together. It never
 * exits: an allocation that fails latches `failed`, later appends do nothing,
 * and the caller looks once at the end.
 */
#ifndef HERMES_COMMON_BUFFER_H
#define HERMES_COMMON_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *data; /* NUL-terminated once anything was appended, else NULL */
	size_t length;
	size_t capacity;
	bool failed;
};

#define BUFFER_EMPTY                                                                           \
	{                                                                                      \
		NULL, 0, 0, false                                                              \
	}

/* Appends bytes; 0, or -1 when memory ran out now or earlier. */
int buffer_append(struct buffer *buffer, const void *bytes, size_t length);
int buffer_append_text(struct buffer *buffer, const char *text);
int buffer_append_byte(struct buffer *buffer, char byte);
int buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int buffer_vprintf(struct buffer *buffer, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Appends a JSON string, quotes included. What is not UTF-8 becomes U+FFFD, so the
 * result is always valid JSON on one line (RFC 8259 section 7). */
int buffer_append_json(struct buffer *buffer, const char *text, size_t length);
int buffer_append_json_text(struct buffer *buffer, const char *text);

/* Makes room for `more` further bytes. */
int buffer_reserve(struct buffer *buffer, size_t more);
/* Removes the first `length` bytes. */
void buffer_consume(struct buffer *buffer, size_t length);
/* Empties the buffer and keeps its memory. */
void buffer_clear(struct buffer *buffer);
void buffer_free(struct buffer *buffer);
/* The text, never NULL; borrowed. */
const char *buffer_text(const struct buffer *buffer);
/* Hands the text to the caller, who frees it; NULL when memory ran out. */
char *buffer_take(struct buffer *buffer);

#endif
