/*
 * Titles of sessions.
 */
#include <config.h>

#include "worker/store/state_title.h"
#include "common/alloc.h"
#include "common/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DERIVED_MAX 48 /* characters (as in Hermes) */
#define NUMBER_MAX 100000

static bool
is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == '\v' ||
	       byte == '\f';
}

/* Appends the line with every run of blanks as one space. */
static void
collapse(struct buffer *line, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		if (!is_blank(text[i]))
			buffer_append_byte(line, text[i]);
		else if (line->length > 0 && line->data[line->length - 1] != ' ')
			buffer_append_byte(line, ' ');
	}
	while (line->length > 0 && line->data[line->length - 1] == ' ')
		line->length--;
}

/* Cuts to the limit, at a space where one is not too far back. */
static void
shorten(struct buffer *line)
{
	size_t cut, space;

	if (utf8_count(line->data, line->length) <= DERIVED_MAX)
		return;
	cut = utf8_offset(line->data, line->length, DERIVED_MAX - 1);
	for (space = cut; space > 0 && line->data[space] != ' '; space--)
		continue;
	line->length = space > cut / 2 ? space : cut;
	while (line->length > 0 && strchr(" ,;:.-", line->data[line->length - 1]) != NULL)
		line->length--;
	buffer_append_text(line, "\xe2\x80\xa6");
}

char *
state_title_derive(const char *text, size_t length)
{
	struct buffer line = BUFFER_EMPTY;
	const char *end = text + length, *newline;
	char *title = NULL;

	while (line.length == 0 && text < end) {
		newline = memchr(text, '\n', (size_t)(end - text));
		if (newline == NULL)
			newline = end;
		collapse(&line, text, (size_t)(newline - text));
		text = newline < end ? newline + 1 : end;
	}
	if (line.length > 0) {
		shorten(&line);
		title = utf8_clean(line.data, line.length, NULL);
	}
	buffer_free(&line);
	return title;
}

static int
rank(const char *source)
{
	static const char *const ranks[] = {
	    "branch", "branch_fallback", "derived", "llm", "user"};
	size_t i;

	for (i = 0; source != NULL && i < sizeof ranks / sizeof ranks[0]; i++)
		if (strcmp(source, ranks[i]) == 0)
			return (int)i;
	return (int)(sizeof ranks / sizeof ranks[0]) - 1; /* unknown: as if a person chose it */
}

/* "Name #3" is number 3 of "Name": length of the name. */
static size_t
base_length(const char *title, unsigned *number)
{
	const char *mark = strrchr(title, '#'), *at;

	*number = 1;
	if (mark == NULL || mark < title + 2 || mark[-1] != ' ' || mark[1] == '\0' ||
	    strlen(mark + 1) > 5)
		return strlen(title);
	for (at = mark + 1; *at != '\0'; at++)
		if (*at < '0' || *at > '9')
			return strlen(title);
	*number = (unsigned)strtoul(mark + 1, NULL, 10);
	return (size_t)(mark - 1 - title);
}

static int
is_taken(struct state *state, const char *id, const char *title, bool *taken)
{
	int64_t value;
	int code = state_sql_integer(state->db, &value,
	    "SELECT 1 FROM sessions WHERE title = ? AND id <> ?", "tt", title, id);

	*taken = code == SQLITE_ROW;
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* The first title of the row "Name", "Name #2", … that is free. */
static int
find_free(struct state *state, const char *id, const char *title, char **unique)
{
	unsigned number;
	size_t base = base_length(title, &number);
	char *name = xstrdup(title);
	bool taken = true;
	int code = is_taken(state, id, name, &taken);

	while (code == SQLITE_OK && taken && number < NUMBER_MAX) {
		free(name);
		name = xasprintf("%.*s #%u", (int)base, title, ++number);
		code = is_taken(state, id, name, &taken);
	}
	*unique = name;
	return code;
}

/* The title that the session has, and whether one of `source` may replace it. */
static int
read_title(struct state *state, const char *id, const char *source, char **title, bool *replace)
{
	char *present = NULL;
	int code = state_sql_text(
	    state->db, title, "SELECT title FROM sessions WHERE id = ?", "t", id);

	if (code == SQLITE_ROW && *title != NULL)
		code = state_sql_text(state->db, &present,
		    "SELECT title_source FROM sessions WHERE id = ?", "t", id);
	*replace = *title == NULL || rank(source) >= rank(present);
	free(present);
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int
state_title_set(
    struct state *state, const char *id, const char *title, const char *source, char **stored)
{
	char *present = NULL, *unique = NULL;
	bool replace;
	int code = read_title(state, id, source, &present, &replace);

	*stored = NULL;
	if (code == SQLITE_OK && replace) {
		if (title != NULL && title[0] != '\0')
			code = find_free(state, id, title, &unique);
		if (code == SQLITE_OK)
			code = state_sql_run(state->db,
			    "UPDATE sessions SET title = ?2, title_source = ?3 WHERE id = ?1",
			    "ttt", id, unique, unique != NULL ? source : NULL);
	}
	if (code == SQLITE_OK)
		*stored = replace ? unique : present;
	if (*stored != unique)
		free(unique);
	if (*stored != present)
		free(present);
	return code;
}
