/*
 * Matching events against the last one. It must never accept what the parser would read in
 * another way: the inside must be a JSON string on its own, else the parser decides.
 */
#include <config.h>

#include "worker/providers/delta_pattern.h"
#include "common/utf8.h"

#include <stdio.h>
#include <string.h>

void
delta_pattern_forget(struct delta_pattern *pattern)
{
	pattern->known = false;
}

void
delta_pattern_free(struct delta_pattern *pattern)
{
	buffer_free(&pattern->before);
	buffer_free(&pattern->after);
	buffer_free(&pattern->text);
	pattern->known = false;
}

/* The value of an escape of one letter, or 0 for \u and what is none. */
static char
unescape(char letter)
{
	static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *found = letter != '\0' ? strchr(letters, letter) : NULL;

	return found != NULL ? values[found - letters] : '\0';
}

/* Length of the plain run at `text`: no quote, backslash, control or non-ASCII byte. */
static size_t
plain_run(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length && (unsigned char)text[at] >= 0x20 &&
	       (unsigned char)text[at] < 0x80 && text[at] != '"' && text[at] != '\\')
		at++;
	return at;
}

/* Decodes the inside of a JSON string; false when it is none or needs the parser. */
static bool
decode(const char *text, size_t length, struct buffer *out)
{
	size_t at = 0, size;
	char value;

	buffer_clear(out);
	while (at < length) {
		size = plain_run(text + at, length - at);
		if (size == 0 && (unsigned char)text[at] >= 0x80)
			size = utf8_sequence(text + at, length - at);
		if (size > 0) {
			buffer_append(out, text + at, size);
			at += size;
			continue;
		}
		if (text[at] != '\\' || at + 1 == length)
			return false;
		value = unescape(text[at + 1]);
		if (value == '\0')
			return false;
		buffer_append_byte(out, value);
		at += 2;
	}
	return !out->failed;
}

/* The end of the string whose inside begins at `text`, or NULL. */
static const char *
string_end(const char *text, const char *end)
{
	for (; text < end; text++) {
		if (*text == '"')
			return text;
		if (*text == '\\')
			text++;
	}
	return NULL;
}

void
delta_pattern_learn(struct delta_pattern *pattern, const char *event, size_t length,
    const char *key, const char *text, size_t text_length)
{
	const char *start, *stop, *end = event + length;
	char member[64];
	int size = snprintf(member, sizeof member, "\"%s\":", key);

	pattern->known = false;
	if (size < 0 || (size_t)size >= sizeof member)
		return;
	/* Such bytes are a key wherever they stand: inside a string the quotes would be
	 * escaped. Twice means that it is not clear which counts. */
	start = memmem(event, length, member, (size_t)size);
	if (start == NULL ||
	    memmem(start + size, (size_t)(end - start - size), member, (size_t)size) != NULL)
		return;
	start += size;
	while (start < end && *start == ' ')
		start++;
	if (start == end || *start++ != '"' || (stop = string_end(start, end)) == NULL)
		return;
	if (!decode(start, (size_t)(stop - start), &pattern->text) ||
	    pattern->text.length != text_length ||
	    memcmp(buffer_text(&pattern->text), text, text_length) != 0)
		return;
	buffer_clear(&pattern->before);
	buffer_clear(&pattern->after);
	buffer_append(&pattern->before, event, (size_t)(start - event));
	buffer_append(&pattern->after, stop, (size_t)(end - stop));
	pattern->known = !pattern->before.failed && !pattern->after.failed;
}

bool
delta_pattern_match(struct delta_pattern *pattern, const char *event, size_t length)
{
	size_t before = pattern->before.length, after = pattern->after.length;

	if (!pattern->known || length < before + after ||
	    memcmp(event, pattern->before.data, before) != 0 ||
	    memcmp(event + length - after, pattern->after.data, after) != 0)
		return false;
	return decode(event + before, length - before - after, &pattern->text);
}
