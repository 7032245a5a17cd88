/*
 * UTF-8 as RFC 3629 defines it: no surrogates, no overlong forms, nothing above
 * U+10FFFF. Nothing here allocates but utf8_clean().
 */
#ifndef HERMES_COMMON_UTF8_H
#define HERMES_COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Size in bytes (1 to 4) of the valid sequence at `text`, or 0 when what stands there is
 * not one; a sequence that is cut off by `length` gives 0 too. */
size_t utf8_sequence(const char *text, size_t length);
/* How many bytes one U+FFFD replaces at an invalid place (Unicode 3.9, maximal subpart);
 * at least 1. */
size_t utf8_invalid_length(const char *text, size_t length);
/* True when `text` could be the beginning of a valid sequence that `length` cuts off. */
bool utf8_incomplete(const char *text, size_t length);
/* Bytes at the end of `text` that begin a sequence which is not complete: 0 to 3. */
size_t utf8_cut_tail(const char *text, size_t length);
bool utf8_valid(const char *text, size_t length);
/* The largest n <= limit at which `text` can be cut without splitting a code point. */
size_t utf8_floor(const char *text, size_t length, size_t limit);
/* Number of code points; an invalid byte counts as one. */
size_t utf8_count(const char *text, size_t length);
/* Byte offset of code point `index`, or `length` when there are fewer. */
size_t utf8_offset(const char *text, size_t length, size_t index);
/* Decodes the sequence at `text`; returns its size, 0 when invalid. */
size_t utf8_decode(const char *text, size_t length, uint32_t *code);
/* Encodes `code` into `out` (4 bytes of room); returns the size, 0 for what UTF-8 cannot hold.
 */
size_t utf8_encode(uint32_t code, char *out);
/* A copy with every invalid byte replaced by U+FFFD, NUL-terminated; the caller frees it.
 * NULL when memory ran out. A NUL inside becomes U+FFFD as well. */
char *utf8_clean(const char *text, size_t length, size_t *clean_length);

#endif
