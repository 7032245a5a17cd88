/*
 * The entries of a memory file: a list of texts, in the file divided by lines with a section
 * sign. It knows no file and no limit.
 */
#ifndef HERMES_WORKER_TOOLS_MEMORY_ENTRIES_H
#define HERMES_WORKER_TOOLS_MEMORY_ENTRIES_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>

#define MEMORY_DELIMITER "\n\xc2\xa7\n"

struct memory_entries {
	char **items;
	size_t count;
};

/* How many entries have a text in them. */
enum memory_match { MEMORY_MATCH_NONE, MEMORY_MATCH_ONE, MEMORY_MATCH_SEVERAL };

/* Takes the entries of a file's text: white space around them goes, empty ones and second
 * copies are left out. `entries` must be empty. */
void memory_entries_parse(struct memory_entries *entries, const char *text, size_t length);
void memory_entries_clear(struct memory_entries *entries);
/* Appends the text of the file. */
void memory_entries_join(const struct memory_entries *entries, struct buffer *text);
/* Characters of that text. */
size_t memory_entries_characters(const struct memory_entries *entries);
/* Characters of the longest entry. */
size_t memory_entries_longest(const struct memory_entries *entries);
bool memory_entries_has(const struct memory_entries *entries, const char *content);
/* The entry that `part` stands in. Entries are never equal, so that several means different
 * ones; *index is the first. */
enum memory_match
memory_entries_find(const struct memory_entries *entries, const char *part, size_t *index);
/* All copy `content`. An entry that is there already is not there twice afterwards. */
void memory_entries_add(struct memory_entries *entries, const char *content);
void memory_entries_replace(struct memory_entries *entries, size_t index, const char *content);
void memory_entries_remove(struct memory_entries *entries, size_t index);
/* A copy without white space around it; the caller frees it. */
char *memory_trimmed(const char *text, size_t length);

#endif
