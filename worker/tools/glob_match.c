/*
 * File name patterns. Components are compared one by one; it must never go back further than
 * to the last star, or a hostile pattern would never end.
 */
#include <config.h>

#include "worker/tools/glob_match.h"

#include "common/alloc.h"
#include "common/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALTERNATIVES_MAX 256 /* patterns that braces may stand for */
#define PATTERN_MAX 4096

/* Some text that is not NUL-terminated. */
struct piece {
	const char *text;
	size_t length;
};

struct glob {
	char **patterns; /* braces expanded */
	size_t count;
};

bool
glob_is_pattern(const char *text)
{
	return strpbrk(text, "*?[{\\") != NULL;
}

static uint32_t
character_at(const char *text, size_t length, size_t *size)
{
	uint32_t code;

	*size = utf8_decode(text, length, &code);
	if (*size > 0)
		return code;
	*size = 1;
	return (unsigned char)*text;
}

/* Bytes of the class that begins at `text` with "[", 0 when it has no end. */
static size_t
class_length(struct piece pattern)
{
	size_t at = 1;

	if (at < pattern.length && (pattern.text[at] == '!' || pattern.text[at] == '^'))
		at++;
	if (at < pattern.length && pattern.text[at] == ']')
		at++;
	for (; at < pattern.length; at++) {
		if (pattern.text[at] == '\\' && at + 1 < pattern.length)
			at++;
		else if (pattern.text[at] == ']')
			return at + 1;
	}
	return 0;
}

/* One character of a class, "\" taken off. */
static uint32_t
class_character(const char *text, size_t length, size_t *at)
{
	uint32_t code;
	size_t size;

	if (text[*at] == '\\' && *at + 1 < length)
		++*at;
	code = character_at(text + *at, length - *at, &size);
	*at += size;
	return code;
}

/* `text` is what stands between the brackets. */
static bool
in_class(const char *text, size_t length, uint32_t code)
{
	bool negated = length > 0 && (*text == '!' || *text == '^'), found = false;
	size_t at = negated ? 1 : 0;
	uint32_t low, high;

	while (at < length) {
		low = high = class_character(text, length, &at);
		if (at + 1 < length && text[at] == '-') {
			at++;
			high = class_character(text, length, &at);
		}
		found = found || (low <= code && code <= high);
	}
	return found != negated;
}

/* Compares what stands first in the pattern, not a star, with the first character; the bytes
 * that were used, in the pattern and (by `size`) in the name, or 0. */
static size_t
match_one(struct piece pattern, struct piece name, size_t *size)
{
	uint32_t code = character_at(name.text, name.length, size);
	size_t length;

	if (*pattern.text == '?')
		return 1;
	if (*pattern.text == '[' && (length = class_length(pattern)) > 0)
		return in_class(pattern.text + 1, length - 2, code) ? length : 0;
	length = *pattern.text == '\\' && pattern.length > 1 ? 2 : 1;
	*size = 1;
	return pattern.text[length - 1] == *name.text ? length : 0;
}

static struct piece
from(struct piece piece, size_t at)
{
	struct piece rest = {piece.text + at, piece.length - at};

	return rest;
}

/* One component of a pattern against one of a path. */
static bool
match_name(struct piece pattern, struct piece name)
{
	struct piece star = {NULL, 0}, retry = {NULL, 0};
	size_t used, size;

	while (name.length > 0) {
		if (pattern.length > 0 && *pattern.text == '*') {
			pattern = star = from(pattern, 1);
			retry = name;
		} else if (pattern.length > 0 && (used = match_one(pattern, name, &size)) > 0) {
			pattern = from(pattern, used);
			name = from(name, size);
		} else if (star.text != NULL) {
			(void)character_at(retry.text, retry.length, &size);
			name = retry = from(retry, size);
			pattern = star;
		} else {
			return false;
		}
	}
	while (pattern.length > 0 && *pattern.text == '*')
		pattern = from(pattern, 1);
	return pattern.length == 0;
}

static struct piece
component(const char *text)
{
	struct piece piece = {text, strcspn(text, "/")};

	return piece;
}

/* What follows the component that `text` begins with, or NULL at the end. */
static const char *
next_component(const char *text)
{
	text += strcspn(text, "/");
	return *text == '/' ? text + 1 : NULL;
}

static bool
is_any_folders(const char *pattern)
{
	struct piece piece = component(pattern);

	return piece.length == 2 && memcmp(piece.text, "**", 2) == 0;
}

bool
glob_match_path(const char *pattern, const char *path)
{
	const char *star = NULL, *retry = NULL;

	while (path != NULL) {
		if (pattern != NULL && is_any_folders(pattern)) {
			pattern = star = next_component(pattern);
			retry = path;
			if (pattern == NULL)
				return *path != '\0';
		} else if (pattern != NULL && match_name(component(pattern), component(path))) {
			pattern = next_component(pattern);
			path = next_component(path);
		} else if (star != NULL) {
			path = retry = next_component(retry);
			pattern = star;
		} else {
			return false;
		}
	}
	return pattern == NULL;
}

/* Finds the first group of braces that is not escaped or in a class: its "{" and "}", and
 * whether it has both. */
static const char *
find_braces(const char *pattern, const char **close, bool *unclosed)
{
	const char *at, *open = NULL;
	size_t depth = 0, length;

	*unclosed = false;
	for (at = pattern; *at != '\0'; at++) {
		struct piece rest = {at, strlen(at)};

		if (*at == '\\' && at[1] != '\0') {
			at++;
		} else if (*at == '[' && (length = class_length(rest)) > 0) {
			at += length - 1;
		} else if (*at == '{') {
			if (depth++ == 0)
				open = at;
		} else if (*at == '}' && depth > 0 && --depth == 0) {
			*close = at;
			return open;
		}
	}
	*unclosed = depth > 0;
	return NULL;
}

static int expand(struct glob *glob, const char *pattern, struct buffer *error);

/* Expands pattern = head { alternatives } tail, one alternative after the other. */
static int
expand_braces(struct glob *glob, const char *pattern, const char *open, const char *close,
    struct buffer *error)
{
	const char *at, *start = open + 1;
	size_t depth = 0;
	char *one;
	int status = 0;

	for (at = start; status == 0 && at <= close; at++) {
		if (*at == '\\' && at + 1 < close) {
			at++;
			continue;
		}
		if (at != close && *at == '{')
			depth++;
		else if (at != close && *at == '}')
			depth--;
		if (at != close && !(*at == ',' && depth == 0))
			continue;
		one = xasprintf("%.*s%.*s%s", (int)(open - pattern), pattern, (int)(at - start),
		    start, close + 1);
		status = expand(glob, one, error);
		free(one);
		start = at + 1;
	}
	return status;
}

static int
expand(struct glob *glob, const char *pattern, struct buffer *error)
{
	const char *open, *close = NULL;
	bool unclosed;

	open = find_braces(pattern, &close, &unclosed);
	if (open != NULL)
		return expand_braces(glob, pattern, open, close, error);
	if (unclosed) {
		buffer_append_text(error, "a \"{\" has no \"}\"");
		return -1;
	}
	if (glob->count == ALTERNATIVES_MAX) {
		buffer_printf(
		    error, "its braces stand for more than %d patterns", ALTERNATIVES_MAX);
		return -1;
	}
	glob->patterns = xreallocarray(glob->patterns, glob->count + 1, sizeof *glob->patterns);
	glob->patterns[glob->count++] = xstrdup(pattern);
	return 0;
}

/* What is wrong with it, or NULL. */
static const char *
find_fault(const char *pattern)
{
	size_t length = strlen(pattern);
	const char *at;

	if (length == 0)
		return "it is empty";
	if (length > PATTERN_MAX)
		return "it is too long";
	for (at = pattern; *at != '\0'; at++) {
		struct piece rest = {at, strlen(at)};

		if (*at == '\\' && *++at == '\0')
			return "a backslash stands at its end";
		if (*at == '[' && at > pattern && at[-1] == '\\')
			continue;
		if (*at == '[') {
			length = class_length(rest);
			if (length == 0)
				return "a \"[\" has no \"]\"";
			at += length - 1;
		}
	}
	return NULL;
}

struct glob *
glob_new(const char *pattern, struct buffer *error)
{
	const char *fault = find_fault(pattern);
	struct glob *glob;

	if (fault != NULL) {
		buffer_append_text(error, fault);
		return NULL;
	}
	glob = xcalloc(1, sizeof *glob);
	while (strncmp(pattern, "./", 2) == 0)
		pattern += 2;
	if (expand(glob, pattern, error) != 0) {
		glob_free(glob);
		return NULL;
	}
	return glob;
}

void
glob_free(struct glob *glob)
{
	size_t i;

	if (glob == NULL)
		return;
	for (i = 0; i < glob->count; i++)
		free(glob->patterns[i]);
	free(glob->patterns);
	free(glob);
}

bool
glob_matches(const struct glob *glob, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	size_t i;

	for (i = 0; i < glob->count; i++) {
		const char *pattern = glob->patterns[i];

		if (strchr(pattern, '/') == NULL
			? match_name(component(pattern), component(name))
			: glob_match_path(pattern[0] == '/' ? pattern + 1 : pattern, path))
			return true;
	}
	return false;
}
