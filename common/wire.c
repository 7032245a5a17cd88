/*
 * Payload encoding. Reading must never go past the payload, whatever the lengths in it say.
 */
#include <config.h>

#include "common/wire.h"

void
wire_put_u8(struct buffer *buffer, uint8_t value)
{
	buffer_append(buffer, &value, 1);
}

void
wire_put_u32(struct buffer *buffer, uint32_t value)
{
	unsigned char bytes[4];
	int i;

	for (i = 0; i < 4; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	buffer_append(buffer, bytes, sizeof bytes);
}

void
wire_put_u64(struct buffer *buffer, uint64_t value)
{
	wire_put_u32(buffer, (uint32_t)value);
	wire_put_u32(buffer, (uint32_t)(value >> 32));
}

void
wire_put_text(struct buffer *buffer, const char *text, size_t length)
{
	wire_put_u32(buffer, (uint32_t)length);
	buffer_append(buffer, text, length);
}

void
wire_start(struct wire_cursor *cursor, const void *payload, size_t length)
{
	cursor->at = payload;
	cursor->left = length;
	cursor->failed = false;
}

static const unsigned char *
take(struct wire_cursor *cursor, size_t length)
{
	const unsigned char *bytes = cursor->at;

	if (cursor->failed || length > cursor->left) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += length;
	cursor->left -= length;
	return bytes;
}

uint8_t
wire_get_u8(struct wire_cursor *cursor)
{
	const unsigned char *bytes = take(cursor, 1);

	return bytes != NULL ? bytes[0] : 0;
}

uint32_t
wire_get_u32(struct wire_cursor *cursor)
{
	const unsigned char *bytes = take(cursor, 4);

	if (bytes == NULL)
		return 0;
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

uint64_t
wire_get_u64(struct wire_cursor *cursor)
{
	uint64_t low = wire_get_u32(cursor);

	return low | (uint64_t)wire_get_u32(cursor) << 32;
}

const char *
wire_get_text(struct wire_cursor *cursor, size_t *length)
{
	uint32_t size = wire_get_u32(cursor);
	const unsigned char *bytes = take(cursor, size);

	*length = bytes != NULL ? size : 0;
	return (const char *)bytes;
}

const char *
wire_get_rest(struct wire_cursor *cursor, size_t *length)
{
	*length = cursor->failed ? 0 : cursor->left;
	return (const char *)take(cursor, *length);
}

int
wire_end(const struct wire_cursor *cursor)
{
	return cursor->failed || cursor->left > 0 ? -1 : 0;
}
