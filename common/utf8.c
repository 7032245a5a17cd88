/*
 * UTF-8 checking, cutting and repair. It must never read past `length`.
 */
#include <config.h>

#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Per lead byte: size, and the range of the second byte (RFC 3629 section 4). */
struct lead {
	unsigned char first, last, size, low, high;
};

static const struct lead leads[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf},
    {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f},
    {0xee, 0xef, 3, 0x80, 0xbf},
    {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf},
    {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static const struct lead *
find_lead(unsigned char byte)
{
	size_t i;

	for (i = 0; i < sizeof leads / sizeof leads[0]; i++)
		if (byte >= leads[i].first && byte <= leads[i].last)
			return &leads[i];
	return NULL;
}

/* Length of the longest valid prefix of a multi-byte sequence at `text`. */
static size_t
valid_prefix(const struct lead *lead, const char *text, size_t length)
{
	size_t n = 1;

	if (length > 1 && (unsigned char)text[1] >= lead->low &&
	    (unsigned char)text[1] <= lead->high) {
		n = 2;
		while (n < lead->size && n < length && ((unsigned char)text[n] & 0xc0) == 0x80)
			n++;
	}
	return n;
}

size_t
utf8_sequence(const char *text, size_t length)
{
	const struct lead *lead;

	if (length == 0)
		return 0;
	if ((unsigned char)text[0] < 0x80)
		return 1;
	lead = find_lead((unsigned char)text[0]);
	if (lead == NULL || valid_prefix(lead, text, length) != lead->size)
		return 0;
	return lead->size;
}

size_t
utf8_invalid_length(const char *text, size_t length)
{
	const struct lead *lead;

	if (length == 0)
		return 1;
	lead = find_lead((unsigned char)text[0]);
	return lead == NULL ? 1 : valid_prefix(lead, text, length);
}

bool
utf8_incomplete(const char *text, size_t length)
{
	const struct lead *lead;

	if (length == 0)
		return false;
	lead = find_lead((unsigned char)text[0]);
	return lead != NULL && length < lead->size &&
	       valid_prefix(lead, text, length) == length;
}

size_t
utf8_cut_tail(const char *text, size_t length)
{
	size_t back;

	for (back = 1; back <= 3 && back <= length; back++)
		if (utf8_incomplete(text + length - back, back))
			return back;
	return 0;
}

bool
utf8_valid(const char *text, size_t length)
{
	size_t at = 0, size;

	while (at < length) {
		size = utf8_sequence(text + at, length - at);
		if (size == 0)
			return false;
		at += size;
	}
	return true;
}

size_t
utf8_floor(const char *text, size_t length, size_t limit)
{
	size_t back;

	if (limit >= length)
		return length;
	for (back = 0; back < 4 && back <= limit; back++)
		if (((unsigned char)text[limit - back] & 0xc0) != 0x80)
			return limit - back;
	return limit;
}

size_t
utf8_count(const char *text, size_t length)
{
	size_t at = 0, count = 0, size;

	while (at < length) {
		size = utf8_sequence(text + at, length - at);
		at += size ? size : 1;
		count++;
	}
	return count;
}

size_t
utf8_offset(const char *text, size_t length, size_t index)
{
	size_t at = 0, size;

	while (at < length && index > 0) {
		size = utf8_sequence(text + at, length - at);
		at += size ? size : 1;
		index--;
	}
	return at;
}

size_t
utf8_decode(const char *text, size_t length, uint32_t *code)
{
	static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	size_t size = utf8_sequence(text, length), i;
	uint32_t value;

	if (size == 0)
		return 0;
	value = (unsigned char)text[0] & masks[size];
	for (i = 1; i < size; i++)
		value = value << 6 | ((unsigned char)text[i] & 0x3f);
	*code = value;
	return size;
}

size_t
utf8_encode(uint32_t code, char *out)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code >= 0xd800 && code < 0xe000)
		return 0;
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	if (code > 0x10ffff)
		return 0;
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

char *
utf8_clean(const char *text, size_t length, size_t *clean_length)
{
	size_t at = 0, used = 0, size;
	char *clean;

	if (length > ((size_t)-1) / 4)
		return NULL;
	clean = malloc(length * 3 + 1);
	if (clean == NULL)
		return NULL;
	while (at < length) {
		size = text[at] == '\0' ? 0 : utf8_sequence(text + at, length - at);
		if (size > 0) {
			memcpy(clean + used, text + at, size);
			used += size;
			at += size;
			continue;
		}
		memcpy(clean + used, UTF8_REPLACEMENT, 3);
		used += 3;
		at += text[at] == '\0' ? 1 : utf8_invalid_length(text + at, length - at);
	}
	clean[used] = '\0';
	if (clean_length != NULL)
		*clean_length = used;
	return clean;
}
