/*
 * Any bytes as an event stream, without a dialect: the events are the same however it is cut,
 * and no view outlives its bytes.
 */
#include <config.h>

#include "worker/providers/sse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
record(const char *name, const char *data, size_t length, void *arg)
{
	struct buffer *seen = arg;

	buffer_printf(seen, "%s|%zu|", name, length);
	buffer_append(seen, data, length);
	return true;
}

/* In pieces of 1 to 8 bytes, chosen by `seed`; 0 = all at once. */
static void
play(struct buffer *seen, const uint8_t *data, size_t size, uint32_t seed)
{
	size_t at = 0, piece;
	struct sse sse;
	char *copy;

	sse_start(&sse, record, seen);
	while (at < size) {
		piece = seed == 0 ? size : 1 + (seed >> 16) % 8;
		seed = seed == 0 ? 0 : seed * 1103515245u + 12345u;
		if (piece > size - at)
			piece = size - at;
		copy = malloc(piece);
		if (copy == NULL)
			abort();
		memcpy(copy, data + at, piece);
		sse_feed(&sse, copy, piece);
		free(copy);
		at += piece;
	}
	sse_end(&sse);
	buffer_printf(seen, "|%llu events, %llu comments, %s", (unsigned long long)sse.events,
	    (unsigned long long)sse.comments, sse.error != NULL ? sse.error : "");
	sse_free(&sse);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer whole = BUFFER_EMPTY, pieces = BUFFER_EMPTY;
	uint32_t seed = size > 0 ? data[0] * 2654435761u | 1 : 1;

	play(&whole, data, size, 0);
	play(&pieces, data, size, seed);
	if (whole.length != pieces.length ||
	    memcmp(buffer_text(&whole), buffer_text(&pieces), whole.length) != 0)
		abort();
	buffer_free(&whole);
	buffer_free(&pieces);
	return 0;
}
