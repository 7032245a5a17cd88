/*
 * Half characters put together. It must never let an invalid byte through and never hold
 * back more than one character.
 */
#include <config.h>

#include "worker/providers/delta_text.h"
#include "common/utf8.h"

#include <stdint.h>
#include <string.h>

#define ARMOUR_SURROGATE 0x10f000u /* + surrogate - 0xd800 */
#define ARMOUR_BYTE 0x10f800u	   /* + byte */

/* The surrogate whose three-byte form stands at `text`, or 0. */
static uint32_t
surrogate_at(const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;

	if (length < 3 || bytes[0] != 0xed || bytes[1] < 0xa0 || bytes[1] > 0xbf ||
	    (bytes[2] & 0xc0) != 0x80)
		return 0;
	return 0xd000u | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
}

static bool
is_high(uint32_t surrogate)
{
	return surrogate >= 0xd800 && surrogate < 0xdc00;
}

static bool
is_low(uint32_t surrogate)
{
	return surrogate >= 0xdc00 && surrogate < 0xe000;
}

/* Handles the surrogate at `text`: returns the bytes used, 0 when it must wait for more. */
static size_t
take_surrogate(uint32_t high, const char *text, size_t length, struct buffer *out)
{
	uint32_t low = surrogate_at(text + 3, length - 3);
	char encoded[4];
	size_t size;

	if (is_high(high) && length == 3)
		return 0;
	if (!is_high(high) || !is_low(low)) {
		buffer_append_text(out, UTF8_REPLACEMENT);
		return 3;
	}
	size = utf8_encode(0x10000u + ((high - 0xd800u) << 10) + (low - 0xdc00u), encoded);
	buffer_append(out, encoded, size);
	return 6;
}

/* Handles what stands at `text` and is not a plain character; 0 = wait for more. */
static size_t
take_odd(const char *text, size_t length, struct buffer *out)
{
	uint32_t surrogate = surrogate_at(text, length);

	if (surrogate != 0)
		return take_surrogate(surrogate, text, length, out);
	if (text[0] != '\0' && utf8_incomplete(text, length))
		return 0;
	buffer_append_text(out, UTF8_REPLACEMENT);
	return text[0] == '\0' ? 1 : utf8_invalid_length(text, length);
}

/* Appends what is complete; returns how much of the text was used. */
static size_t
take(const char *text, size_t length, struct buffer *out)
{
	size_t at = 0, start = 0, size;

	while (at < length) {
		size = text[at] == '\0' ? 0 : utf8_sequence(text + at, length - at);
		if (size > 0) {
			at += size;
			continue;
		}
		buffer_append(out, text + start, at - start);
		size = take_odd(text + at, length - at, out);
		if (size == 0)
			return at;
		at += size;
		start = at;
	}
	buffer_append(out, text + start, at - start);
	return at;
}

void
delta_text_append(struct delta_text *text, const char *bytes, size_t length, struct buffer *out)
{
	struct buffer joined = BUFFER_EMPTY;
	size_t used;

	if (text->held_length > 0) {
		buffer_append(&joined, text->held, text->held_length);
		buffer_append(&joined, bytes, length);
		if (joined.failed) {
			out->failed = true;
			return;
		}
		bytes = joined.data;
		length = joined.length;
	}
	used = take(bytes, length, out);
	text->held_length = (unsigned char)(length - used);
	if (text->held_length > 0)
		memcpy(text->held, bytes + used, text->held_length);
	buffer_free(&joined);
}

void
delta_text_end(struct delta_text *text, struct buffer *out)
{
	if (text->held_length > 0)
		buffer_append_text(out, UTF8_REPLACEMENT);
	text->held_length = 0;
}

static int
hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* The value of the \uXXXX at `text`, or 0 when there is none. */
static uint32_t
escape_at(const char *text, size_t length)
{
	uint32_t code = 0;
	int i, digit;

	if (length < 6 || text[0] != '\\' || text[1] != 'u')
		return 0;
	for (i = 2; i < 6; i++) {
		digit = hex_digit(text[i]);
		if (digit == -1)
			return 0;
		code = code << 4 | (uint32_t)digit;
	}
	return code;
}

static void
append_code(struct buffer *out, uint32_t code)
{
	char encoded[4];

	buffer_append(out, encoded, utf8_encode(code, encoded));
}

/* An escape at `text`: a lone surrogate is replaced, anything else copied. Returns the bytes
 * used. */
static size_t
armour_escape(const char *text, size_t length, struct buffer *out, bool *changed)
{
	uint32_t code = escape_at(text, length);
	size_t size = length < 2 || (unsigned char)text[1] >= 0x80 ? 1 : 2;

	if (is_high(code) && is_low(escape_at(text + 6, length - 6))) {
		size = 12;
	} else if (is_high(code) || is_low(code)) {
		append_code(out, ARMOUR_SURROGATE + code - 0xd800u);
		*changed = true;
		return 6;
	}
	buffer_append(out, text, size);
	return size;
}

bool
delta_text_armour(const char *json, size_t length, struct buffer *out)
{
	bool changed = false;
	size_t at = 0, size, i;

	while (at < length) {
		if (json[at] == '\\') {
			at += armour_escape(json + at, length - at, out, &changed);
			continue;
		}
		size = utf8_sequence(json + at, length - at);
		if (size > 0) {
			buffer_append(out, json + at, size);
			at += size;
			continue;
		}
		size = utf8_invalid_length(json + at, length - at);
		for (i = 0; i < size; i++)
			append_code(out, ARMOUR_BYTE + (unsigned char)json[at + i]);
		at += size;
		changed = true;
	}
	if (!changed)
		buffer_clear(out);
	return changed;
}

void
delta_text_unarmour(const char *text, size_t length, struct buffer *out)
{
	size_t at = 0, size;
	uint32_t code, offset;
	char bytes[3];

	while (at < length) {
		size = utf8_decode(text + at, length - at, &code);
		if (size != 4 || code < ARMOUR_SURROGATE || code > ARMOUR_BYTE + 0xff) {
			size = size > 0 ? size : 1;
			buffer_append(out, text + at, size);
		} else if (code >= ARMOUR_BYTE) {
			buffer_append_byte(out, (char)(code - ARMOUR_BYTE));
		} else {
			offset = code - ARMOUR_SURROGATE; /* 0 to 0x7ff */
			bytes[0] = (char)0xed;
			bytes[1] = (char)(0xa0u | offset >> 6);
			bytes[2] = (char)(0x80u | (offset & 0x3fu));
			buffer_append(out, bytes, 3);
		}
		at += size;
	}
}

struct json_object *
delta_text_parse(const char *json, size_t length, bool *armoured, const char **reason)
{
	struct buffer armour = BUFFER_EMPTY;
	struct json_object *object;

	*armoured = delta_text_armour(json, length, &armour);
	if (*armoured) {
		json = armour.data;
		length = armour.length;
	}
	object = json_parse(json, length, reason);
	buffer_free(&armour);
	return object;
}

void
delta_text_trim(const char **data, size_t *length)
{
	while (*length > 0 && strchr(" \t\n", (*data)[*length - 1]) != NULL)
		(*length)--;
	while (*length > 0 && strchr(" \t\n", **data) != NULL) {
		(*data)++;
		(*length)--;
	}
}

bool
delta_text_is_done(const char *data, size_t length)
{
	return length == 6 && memcmp(data, "[DONE]", 6) == 0;
}
