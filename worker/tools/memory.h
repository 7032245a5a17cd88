/*
 * What an agent remembers from session to session: two small files, MEMORY.md with its own
 * notes and USER.md about the user, in $HERMES_HOME/memories. This is how
 * they are set up in a session.
 */
#ifndef HERMES_WORKER_TOOLS_MEMORY_H
#define HERMES_WORKER_TOOLS_MEMORY_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory;

enum memory_target { MEMORY_NOTES, MEMORY_USER };
#define MEMORY_TARGETS 2

/* Limits in characters (as in Hermes). */
#define MEMORY_NOTES_LIMIT 2200
#define MEMORY_USER_LIMIT 1375

struct memory_options {
	bool enabled[MEMORY_TARGETS];
	int64_t limits[MEMORY_TARGETS]; /* out of 1 … 100,000: the usual one */
	bool ask;			/* the user permits every change */
};

/* `home` is $HERMES_HOME; copied. */
struct memory *memory_new(const char *home, const struct memory_options *options);
void memory_free(struct memory *memory);

/* "memory" or "user"; false for another name. */
bool memory_target_parse(const char *name, enum memory_target *target);
const char *memory_target_name(enum memory_target target);
/* False for both: the tool is not offered. */
bool memory_enabled(const struct memory *memory, enum memory_target target);
bool memory_asks(const struct memory *memory);
size_t memory_limit(const struct memory *memory, enum memory_target target);
const char *memory_folder(const struct memory *memory);
const char *memory_file_name(enum memory_target target);

/* Changes that failed for want of room or of an entry since the turn began or one succeeded.
 * After three the model is told to stop (as in Hermes). */
void memory_turn_began(struct memory *memory);
void memory_succeeded(struct memory *memory);
unsigned memory_failed(struct memory *memory);

/* "1,234" */
void memory_append_number(struct buffer *text, size_t number);
/* Per cent of the limit, at most 100. */
unsigned memory_percent(size_t characters, size_t limit);

#endif
