/*
 * Texts without their style. Bytes only: no files, no editor.
 */
#include <config.h>

#include "worker/tools/editor_text.h"

#include "worker/tools/text_file.h"

#include <string.h>

#define MARK "\xef\xbb\xbf"
#define MARK_LENGTH 3u

struct span {
	const char *at, *end;
};

static bool
has_mark(const char *text, size_t length)
{
	return length >= MARK_LENGTH && memcmp(text, MARK, MARK_LENGTH) == 0;
}

/* Without byte order mark and without the last line end. */
static struct span
plain(const char *text, size_t length)
{
	size_t mark = has_mark(text, length) ? MARK_LENGTH : 0;
	struct span span = {text + mark, text + length};

	if (span.end > span.at && span.end[-1] == '\n')
		span.end--;
	if (span.end > span.at && span.end[-1] == '\r')
		span.end--;
	return span;
}

/* The next byte, -1 at the end; CR LF counts as LF. */
static int
next(struct span *span)
{
	if (span->at == span->end)
		return -1;
	if (*span->at == '\r' && span->at + 1 < span->end && span->at[1] == '\n')
		span->at++;
	return (unsigned char)*span->at++;
}

bool
editor_text_same(const char *one, size_t length, const char *other, size_t other_length)
{
	struct span first = plain(one, length), second = plain(other, other_length);
	int byte;

	do {
		byte = next(&first);
		if (byte != next(&second))
			return false;
	} while (byte != -1);
	return true;
}

/* FNV-1a */
uint64_t
editor_text_hash(const char *text, size_t length)
{
	struct span span = plain(text, length);
	uint64_t hash = UINT64_C(14695981039346656037);
	int byte;

	while ((byte = next(&span)) != -1)
		hash = (hash ^ (uint64_t)byte) * UINT64_C(1099511628211);
	return hash != 0 ? hash : 1;
}

struct editor_style
editor_style_find(const char *file, size_t file_length, const char *text, size_t length)
{
	struct editor_style style = {
	    .carriage_returns = memchr(text, '\r', length) == NULL &&
				text_ending_detect(file, file_length) == TEXT_ENDING_CRLF,
	    .mark = has_mark(file, file_length) && !has_mark(text, length)};

	return style;
}

void
editor_style_add(struct editor_style style, const char *text, size_t length, struct buffer *out)
{
	const char *end = text + length, *newline;

	if (style.mark)
		(void)buffer_append(out, MARK, MARK_LENGTH);
	while (style.carriage_returns &&
	       (newline = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		(void)buffer_append(out, text, (size_t)(newline - text));
		(void)buffer_append(out, "\r\n", 2);
		text = newline + 1;
	}
	(void)buffer_append(out, text, (size_t)(end - text));
}

void
editor_style_remove(
    struct editor_style style, const char *text, size_t length, struct buffer *out)
{
	const char *end = text + length, *newline, *stop;

	if (style.mark && has_mark(text, length))
		text += MARK_LENGTH;
	while (style.carriage_returns &&
	       (newline = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		stop = newline > text && newline[-1] == '\r' ? newline - 1 : newline;
		(void)buffer_append(out, text, (size_t)(stop - text));
		(void)buffer_append_byte(out, '\n');
		text = newline + 1;
	}
	(void)buffer_append(out, text, (size_t)(end - text));
}
