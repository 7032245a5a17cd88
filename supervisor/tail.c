/*
 * Unsaved chunks in order. It must never grow beyond its limit, whatever a worker sends.
 */
#include <config.h>

#include "supervisor/tail.h"
#include "common/wire.h"

#include <string.h>

/* Size of the first chunk with its length field. */
static size_t
first_size(const struct tail *tail)
{
	struct wire_cursor cursor;

	wire_start(&cursor, tail->chunks.data, tail->chunks.length);
	return 4 + (size_t)wire_get_u32(&cursor);
}

int
tail_add(struct tail *tail, const void *chunk, size_t length)
{
	size_t drop = 0, most = TAIL_MAX;

	tail->next++;
	if (length + 4 > TAIL_MAX) {
		buffer_clear(&tail->chunks);
		tail->first = tail->next;
		return 0;
	}
	/* A quarter more than needed, so that not every chunk moves all the others. */
	if (tail->chunks.length + length + 4 > TAIL_MAX)
		most -= TAIL_MAX / 4;
	while (drop < tail->chunks.length && tail->chunks.length - drop + length + 4 > most) {
		struct wire_cursor cursor;

		wire_start(&cursor, tail->chunks.data + drop, tail->chunks.length - drop);
		drop += 4 + (size_t)wire_get_u32(&cursor);
		tail->first++;
	}
	buffer_consume(&tail->chunks, drop);
	wire_put_text(&tail->chunks, chunk, length);
	if (!tail->chunks.failed)
		return 0;
	buffer_free(&tail->chunks);
	tail->first = tail->next;
	return -1;
}

void
tail_saved(struct tail *tail, uint64_t count)
{
	size_t drop = 0;
	struct tail rest = *tail;

	if (count >= tail->next) {
		buffer_clear(&tail->chunks);
		tail->first = tail->next;
		return;
	}
	while (rest.first < count && rest.chunks.length > 0) {
		size_t size = first_size(&rest);

		drop += size;
		rest.chunks.data += size;
		rest.chunks.length -= size;
		rest.first++;
	}
	tail->first = rest.first;
	buffer_consume(&tail->chunks, drop);
}

void
tail_clear(struct tail *tail)
{
	buffer_free(&tail->chunks);
	memset(tail, 0, sizeof *tail);
}
