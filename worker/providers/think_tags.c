/*
 * The filter for thought tags. It must never lose text: what is held back comes out with the
 * next piece or at the end.
 */
#include <config.h>

#include "worker/providers/think_tags.h"

#include <string.h>
#include <strings.h>

static const char *const names[] = {
    "think", "thinking", "reasoning", "thought", "reasoning_scratchpad"};

#define NAME_COUNT ((int)(sizeof names / sizeof names[0]))

enum match { MATCH_NONE, MATCH_PARTIAL, MATCH_FULL };

void
think_tags_start(struct think_tags *tags, think_tags_emit emit, void *arg)
{
	memset(tags, 0, sizeof *tags);
	tags->emit = emit;
	tags->arg = arg;
	tags->tag = -1;
	tags->boundary = tags->blank_line = true;
}

void
think_tags_free(struct think_tags *tags)
{
	buffer_free(&tags->held);
	buffer_free(&tags->unclosed);
}

/* Compares what stands at `text` ("<" or "</", the name, ">") with one tag. */
static enum match
match_tag(const char *text, size_t length, const char *prefix, const char *name, size_t *size)
{
	char tag[32];
	size_t compared;

	*size = strlen(prefix) + strlen(name) + 1;
	memcpy(tag, prefix, strlen(prefix));
	memcpy(tag + strlen(prefix), name, strlen(name));
	tag[*size - 1] = '>';
	compared = length < *size ? length : *size;
	if (strncasecmp(text, tag, compared) != 0)
		return MATCH_NONE;
	return compared == *size ? MATCH_FULL : MATCH_PARTIAL;
}

static enum match
match_open(const char *text, size_t length, int *tag, size_t *size)
{
	enum match best = MATCH_NONE, match;
	int i;

	for (i = 0; i < NAME_COUNT; i++) {
		match = match_tag(text, length, "<", names[i], size);
		if (match == MATCH_FULL) {
			*tag = i;
			return match;
		}
		if (match == MATCH_PARTIAL)
			best = match;
	}
	return best;
}

static bool
is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* Notes what the visible text means for a tag that follows it. */
static void
note_visible(struct think_tags *tags, const char *bytes, size_t length)
{
	size_t i;

	tags->boundary = is_blank(bytes[length - 1]);
	for (i = length; i > 0; i--) {
		if (bytes[i - 1] == '\n') {
			tags->blank_line = true;
			return;
		}
		if (!is_blank(bytes[i - 1])) {
			tags->blank_line = false;
			return;
		}
	}
}

static void
emit(struct think_tags *tags, const char *bytes, size_t length)
{
	while (tags->skip_newlines && length > 0 && (*bytes == '\n' || *bytes == '\r')) {
		bytes++;
		length--;
	}
	if (length == 0)
		return;
	tags->skip_newlines = false;
	if (tags->tag == -1)
		note_visible(tags, bytes, length);
	else if (tags->keep)
		buffer_append(&tags->unclosed, bytes, length);
	tags->emit(tags->tag != -1, bytes, length, tags->arg);
}

static void
open_block(struct think_tags *tags, int tag, const char *text, size_t size)
{
	tags->tag = tag;
	tags->skip_newlines = true;
	tags->keep = !tags->blank_line;
	if (tags->keep)
		buffer_append(&tags->unclosed, text, size);
}

static void
close_block(struct think_tags *tags)
{
	tags->tag = -1;
	tags->boundary = true;
	tags->skip_newlines = !tags->keep;
	tags->keep = false;
	buffer_free(&tags->unclosed);
}

/* Looks at a '<'. Returns how many bytes were dealt with; 0 = more is needed to tell. */
static size_t
take_bracket(struct think_tags *tags, const char *text, size_t length)
{
	enum match match = MATCH_NONE;
	size_t size = 1;
	int tag = tags->tag;

	if (tag != -1)
		match = match_tag(text, length, "</", names[tag], &size);
	else if (tags->boundary)
		match = match_open(text, length, &tag, &size);
	if (match == MATCH_PARTIAL)
		return 0;
	if (match == MATCH_NONE) {
		emit(tags, text, 1);
		return 1;
	}
	if (tags->tag == -1)
		open_block(tags, tag, text, size);
	else
		close_block(tags);
	return size;
}

static void
feed(struct think_tags *tags, const char *bytes, size_t length)
{
	const char *bracket;
	size_t size;

	while (length > 0) {
		bracket = memchr(bytes, '<', length);
		size = bracket != NULL ? (size_t)(bracket - bytes) : length;
		emit(tags, bytes, size);
		bytes += size;
		length -= size;
		if (length == 0)
			break;
		size = take_bracket(tags, bytes, length);
		if (size == 0) {
			buffer_append(&tags->held, bytes, length);
			break;
		}
		bytes += size;
		length -= size;
	}
}

void
think_tags_feed(struct think_tags *tags, const char *bytes, size_t length)
{
	struct buffer joined;

	if (tags->held.length == 0) {
		feed(tags, bytes, length);
		return;
	}
	joined = tags->held;
	memset(&tags->held, 0, sizeof tags->held);
	buffer_append(&joined, bytes, length);
	feed(tags, buffer_text(&joined), joined.length);
	buffer_free(&joined);
}

void
think_tags_end(struct think_tags *tags)
{
	struct buffer rest = tags->held;

	memset(&tags->held, 0, sizeof tags->held);
	emit(tags, buffer_text(&rest), rest.length);
	buffer_free(&rest);
	if (tags->tag != -1 && tags->keep) {
		tags->tag = -1;
		emit(tags, buffer_text(&tags->unclosed), tags->unclosed.length);
	}
	buffer_clear(&tags->unclosed);
}
