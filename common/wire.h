/*
 * Typed reading and writing of message payloads. Reading latches the first error, so that a
 * handler checks once, at wire_end(). Little-endian; a text is u32 length and bytes.
 */
#ifndef HERMES_COMMON_WIRE_H
#define HERMES_COMMON_WIRE_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_cursor {
	const unsigned char *at;
	size_t left;
	bool failed;
};

void wire_put_u8(struct buffer *buffer, uint8_t value);
void wire_put_u32(struct buffer *buffer, uint32_t value);
void wire_put_u64(struct buffer *buffer, uint64_t value);
void wire_put_text(struct buffer *buffer, const char *text, size_t length);

void wire_start(struct wire_cursor *cursor, const void *payload, size_t length);
uint8_t wire_get_u8(struct wire_cursor *cursor);
uint32_t wire_get_u32(struct wire_cursor *cursor);
uint64_t wire_get_u64(struct wire_cursor *cursor);
/* Borrowed, not NUL-terminated; NULL after an error. */
const char *wire_get_text(struct wire_cursor *cursor, size_t *length);
/* Everything that is left; borrowed. */
const char *wire_get_rest(struct wire_cursor *cursor, size_t *length);
/* 0 when everything was read and nothing was missing, else -1. */
int wire_end(const struct wire_cursor *cursor);

#endif
