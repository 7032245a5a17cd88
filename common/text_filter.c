/*
 * The terminal filter. Nothing that comes from outside may move the cursor, change colours,
 * set titles, answer queries or hide what is asked; so only text and newlines pass.
 */
#include <config.h>

#include "common/text_filter.h"

#include "common/utf8.h"

#include <string.h>

#define ESCAPE 0x1b
#define BELL 0x07
#define C1_FIRST 0x80
#define C1_CONTROL 0x9b /* the same as ESC [ */
#define C1_STRING_END 0x9c
#define C1_LAST 0x9f

/* Starts of strings that last until BEL or ST: DCS, SOS, OSC, PM, APC (ECMA-48 5.6). */
static bool
starts_string(uint32_t code)
{
	return code == 0x90 || code == 0x98 || code == 0x9d || code == 0x9e || code == 0x9f;
}

/* Marks, embeddings, overrides and isolates: they make a line read as another one. */
static bool
reorders(uint32_t code)
{
	return code == 0x200e || code == 0x200f || code == 0x061c ||
	       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

bool
text_filter_harmless(uint32_t code)
{
	return code >= 0x20 && code != 0x7f && (code < C1_FIRST || code > C1_LAST) &&
	       !reorders(code);
}

static void
enter_control(struct text_filter *filter, uint32_t code)
{
	if (code == C1_CONTROL)
		filter->state = FILTER_CONTROL;
	else if (starts_string(code))
		filter->state = FILTER_STRING;
	else
		filter->state = FILTER_TEXT;
}

static void
after_escape(struct text_filter *filter, uint32_t code)
{
	if (code == ESCAPE || (code >= 0x20 && code <= 0x2f))
		return; /* intermediate bytes: the sequence goes on */
	if (code >= 0x40 && code <= 0x5f)
		enter_control(filter, code + 0x40); /* ESC [ is C1 9B and so on */
	else
		filter->state = FILTER_TEXT;
}

/* True when the character was part of a sequence. */
static bool
swallowed(struct text_filter *filter, uint32_t code)
{
	/* No sequence goes over the end of a line, so that none can swallow a whole answer. */
	if (code == '\n' || code == '\r')
		filter->state = FILTER_TEXT;
	switch (filter->state) {
	case FILTER_TEXT:
		return false;
	case FILTER_ESCAPE:
		after_escape(filter, code);
		return true;
	case FILTER_CONTROL:
		if (code == ESCAPE)
			filter->state = FILTER_ESCAPE;
		else if (code >= 0x40)
			filter->state = FILTER_TEXT;
		return true;
	case FILTER_STRING:
		if (code == ESCAPE)
			filter->state = FILTER_STRING_ESCAPE;
		else if (code == BELL || code == C1_STRING_END)
			filter->state = FILTER_TEXT;
		return true;
	case FILTER_STRING_ESCAPE:
		filter->state = FILTER_ESCAPE;
		after_escape(filter, code);
		return true;
	}
	return false;
}

static void
put(struct text_filter *filter, uint32_t code, const char *bytes, size_t size,
    struct buffer *out)
{
	bool after_return = filter->last == FILTER_RETURN;

	filter->last = code == '\r' ? FILTER_RETURN : FILTER_ANY;
	if (code == ESCAPE)
		filter->state = FILTER_ESCAPE;
	else if (code >= C1_FIRST && code <= C1_LAST)
		enter_control(filter, code);
	else if (code == '\r')
		buffer_append_byte(out, '\n');
	else if (code == '\n' && after_return)
		return;
	else if (text_filter_harmless(code) || code == '\n' || code == '\t')
		buffer_append(out, bytes, size);
}

void
text_filter_append(
    struct text_filter *filter, const char *text, size_t length, struct buffer *out)
{
	uint32_t code;
	size_t size;

	while (length > 0) {
		size = utf8_decode(text, length, &code);
		if (size == 0) {
			size = utf8_invalid_length(text, length);
			if (!swallowed(filter, 0xfffd))
				buffer_append_text(out, UTF8_REPLACEMENT);
		} else if (!swallowed(filter, code)) {
			put(filter, code, text, size, out);
		}
		text += size;
		length -= size;
	}
}

void
text_filter_line(const char *text, size_t limit, struct buffer *out)
{
	struct text_filter filter = TEXT_FILTER_START;
	struct buffer clean = BUFFER_EMPTY;
	size_t i, length;

	text_filter_append(&filter, text, strlen(text), &clean);
	for (i = 0; i < clean.length; i++)
		if (clean.data[i] == '\n' || clean.data[i] == '\t')
			clean.data[i] = ' ';
	length =
	    clean.length <= limit ? clean.length : utf8_floor(clean.data, clean.length, limit);
	buffer_append(out, buffer_text(&clean), length);
	if (length < clean.length)
		buffer_append_text(out, "...");
	buffer_free(&clean);
}
