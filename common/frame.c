/*
 * Frame headers to bytes and back. Pure: no input, no output, no judgement.
 */
#include <config.h>

#include "common/frame.h"

static void
put(unsigned char *bytes, uint32_t value, int size)
{
	int i;

	for (i = 0; i < size; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t
get(const unsigned char *bytes, int size)
{
	uint32_t value = 0;
	int i;

	for (i = size - 1; i >= 0; i--)
		value = value << 8 | bytes[i];
	return value;
}

void
frame_encode(const struct frame_header *header, unsigned char bytes[FRAME_HEADER_SIZE])
{
	put(bytes, header->length, 4);
	put(bytes + 4, header->type, 2);
	put(bytes + 6, header->flags, 2);
	put(bytes + 8, header->request, 4);
	put(bytes + 12, header->turn, 4);
	put(bytes + 16, header->generation, 4);
}

void
frame_decode(const unsigned char bytes[FRAME_HEADER_SIZE], struct frame_header *header)
{
	header->length = get(bytes, 4);
	header->type = (uint16_t)get(bytes + 4, 2);
	header->flags = (uint16_t)get(bytes + 6, 2);
	header->request = get(bytes + 8, 4);
	header->turn = get(bytes + 12, 4);
	header->generation = get(bytes + 16, 4);
}
