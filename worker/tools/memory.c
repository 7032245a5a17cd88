/*
 * The settings of memory in a session. It touches no file.
 */
#include <config.h>

#include "worker/tools/memory.h"

#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_MAX 100000

struct memory {
	char *folder;
	struct memory_options options;
	unsigned failures;
};

static const struct {
	const char *name, *file;
	int64_t limit;
} targets[MEMORY_TARGETS] = {
    [MEMORY_NOTES] = {"memory", "MEMORY.md", MEMORY_NOTES_LIMIT},
    [MEMORY_USER] = {"user", "USER.md", MEMORY_USER_LIMIT},
};

struct memory *
memory_new(const char *home, const struct memory_options *options)
{
	struct memory *memory = xcalloc(1, sizeof *memory);
	int i;

	memory->folder = xasprintf("%s/memories", home);
	memory->options = *options;
	for (i = 0; i < MEMORY_TARGETS; i++)
		if (options->limits[i] < 1 || options->limits[i] > LIMIT_MAX)
			memory->options.limits[i] = targets[i].limit;
	return memory;
}

void
memory_free(struct memory *memory)
{
	if (memory == NULL)
		return;
	free(memory->folder);
	free(memory);
}

bool
memory_target_parse(const char *name, enum memory_target *target)
{
	int i;

	for (i = 0; i < MEMORY_TARGETS; i++)
		if (strcmp(name, targets[i].name) == 0) {
			*target = (enum memory_target)i;
			return true;
		}
	return false;
}

const char *
memory_target_name(enum memory_target target)
{
	return targets[target].name;
}

bool
memory_enabled(const struct memory *memory, enum memory_target target)
{
	return memory != NULL && memory->options.enabled[target];
}

bool
memory_asks(const struct memory *memory)
{
	return memory->options.ask;
}

size_t
memory_limit(const struct memory *memory, enum memory_target target)
{
	return (size_t)memory->options.limits[target];
}

const char *
memory_folder(const struct memory *memory)
{
	return memory->folder;
}

const char *
memory_file_name(enum memory_target target)
{
	return targets[target].file;
}

void
memory_turn_began(struct memory *memory)
{
	if (memory != NULL)
		memory->failures = 0;
}

void
memory_succeeded(struct memory *memory)
{
	memory->failures = 0;
}

unsigned
memory_failed(struct memory *memory)
{
	return ++memory->failures;
}

void
memory_append_number(struct buffer *text, size_t number)
{
	if (number >= 1000) {
		memory_append_number(text, number / 1000);
		buffer_printf(text, ",%03zu", number % 1000);
	} else {
		buffer_printf(text, "%zu", number);
	}
}

unsigned
memory_percent(size_t characters, size_t limit)
{
	return characters >= limit ? 100 : (unsigned)(characters * 100 / limit);
}
