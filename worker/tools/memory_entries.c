/*
 * The entries of a memory file.
 */
#include <config.h>

#include "worker/tools/memory_entries.h"

#include "common/alloc.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n\v\f"

char *
memory_trimmed(const char *text, size_t length)
{
	while (length > 0 && *text != '\0' && strchr(BLANKS, *text) != NULL) {
		text++;
		length--;
	}
	while (
	    length > 0 && text[length - 1] != '\0' && strchr(BLANKS, text[length - 1]) != NULL)
		length--;
	return xstrndup(text, length);
}

/* Takes over `item`. */
static void
append(struct memory_entries *entries, char *item)
{
	if (*item == '\0' || memory_entries_has(entries, item)) {
		free(item);
		return;
	}
	entries->items =
	    xreallocarray(entries->items, entries->count + 1, sizeof *entries->items);
	entries->items[entries->count++] = item;
}

/* Line ends as "\n", and no byte order mark. */
static void
normalise(const char *text, size_t length, struct buffer *out)
{
	size_t i = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	for (; i < length; i++)
		if (text[i] != '\r')
			buffer_append_byte(out, text[i]);
		else if (i + 1 == length || text[i + 1] != '\n')
			buffer_append_byte(out, '\n');
}

void
memory_entries_parse(struct memory_entries *entries, const char *text, size_t length)
{
	struct buffer plain = BUFFER_EMPTY;
	const char *at, *end;

	normalise(text, length, &plain);
	at = buffer_text(&plain);
	while ((end = strstr(at, MEMORY_DELIMITER)) != NULL) {
		append(entries, memory_trimmed(at, (size_t)(end - at)));
		/* The line end behind one delimiter may be the one before the next. */
		at = end + sizeof MEMORY_DELIMITER - 2;
	}
	append(entries, memory_trimmed(at, strlen(at)));
	buffer_free(&plain);
}

void
memory_entries_clear(struct memory_entries *entries)
{
	size_t i;

	for (i = 0; i < entries->count; i++)
		free(entries->items[i]);
	free(entries->items);
	entries->items = NULL;
	entries->count = 0;
}

void
memory_entries_join(const struct memory_entries *entries, struct buffer *text)
{
	size_t i;

	for (i = 0; i < entries->count; i++) {
		if (i > 0)
			buffer_append_text(text, MEMORY_DELIMITER);
		buffer_append_text(text, entries->items[i]);
	}
}

size_t
memory_entries_characters(const struct memory_entries *entries)
{
	size_t characters = 0, i;

	for (i = 0; i < entries->count; i++)
		characters +=
		    (i > 0 ? 3 : 0) + utf8_count(entries->items[i], strlen(entries->items[i]));
	return characters;
}

size_t
memory_entries_longest(const struct memory_entries *entries)
{
	size_t longest = 0, characters, i;

	for (i = 0; i < entries->count; i++) {
		characters = utf8_count(entries->items[i], strlen(entries->items[i]));
		if (characters > longest)
			longest = characters;
	}
	return longest;
}

bool
memory_entries_has(const struct memory_entries *entries, const char *content)
{
	size_t i;

	for (i = 0; i < entries->count; i++)
		if (strcmp(entries->items[i], content) == 0)
			return true;
	return false;
}

enum memory_match
memory_entries_find(const struct memory_entries *entries, const char *part, size_t *index)
{
	enum memory_match match = MEMORY_MATCH_NONE;
	size_t i;

	for (i = 0; i < entries->count && match != MEMORY_MATCH_SEVERAL; i++) {
		if (strstr(entries->items[i], part) == NULL)
			continue;
		if (match == MEMORY_MATCH_NONE)
			*index = i;
		match = match == MEMORY_MATCH_NONE ? MEMORY_MATCH_ONE : MEMORY_MATCH_SEVERAL;
	}
	return match;
}

void
memory_entries_add(struct memory_entries *entries, const char *content)
{
	append(entries, xstrdup(content));
}

void
memory_entries_remove(struct memory_entries *entries, size_t index)
{
	free(entries->items[index]);
	entries->count--;
	memmove(entries->items + index, entries->items + index + 1,
	    (entries->count - index) * sizeof *entries->items);
}

void
memory_entries_replace(struct memory_entries *entries, size_t index, const char *content)
{
	size_t i;

	for (i = 0; i < entries->count; i++)
		if (i != index && strcmp(entries->items[i], content) == 0) {
			memory_entries_remove(entries, index);
			return;
		}
	free(entries->items[index]);
	entries->items[index] = xstrdup(content);
}
