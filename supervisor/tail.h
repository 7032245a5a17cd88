/*
 * The part of a turn that the client has seen but the worker has not saved yet: the streamed
 * chunks. A successor gets it, or it is committed, when the worker dies.
 */
#ifndef HERMES_SUPERVISOR_TAIL_H
#define HERMES_SUPERVISOR_TAIL_H

#include "common/buffer.h"

#include <stddef.h>
#include <stdint.h>

/* Most bytes that are kept; the oldest go first. A worker saves every 1 MiB (ARCHITECTURE.md).
 */
#define TAIL_MAX (4u * 1024 * 1024)

struct tail {
	struct buffer chunks; /* each: u32 length, then the update's JSON */
	uint64_t first;	      /* number in the turn of the first chunk that is kept */
	uint64_t next;	      /* number of the next chunk to come */
};

/* Adds a chunk that went to the client. 0, or -1 when memory is out. */
int tail_add(struct tail *tail, const void *chunk, size_t length);
/* The worker has saved the first `count` chunks of the turn. */
void tail_saved(struct tail *tail, uint64_t count);
/* Forgets everything: a new turn. */
void tail_clear(struct tail *tail);

#endif
