/*
 * Growable byte buffer. It must never exit and never lose what was appended
 * before an allocation failed.
 */
#include <config.h>

#include "common/buffer.h"
#include "common/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
buffer_reserve(struct buffer *buffer, size_t more)
{
	size_t needed, capacity;
	char *grown;

	if (buffer->failed)
		return -1;
	if (more > SIZE_MAX / 4 - buffer->length)
		goto failed;
	needed = buffer->length + more + 1;
	if (needed <= buffer->capacity)
		return 0;
	capacity = buffer->capacity ? buffer->capacity : 64;
	while (capacity < needed)
		capacity *= 2;
	grown = realloc(buffer->data, capacity);
	if (grown == NULL)
		goto failed;
	buffer->data = grown;
	buffer->capacity = capacity;
	return 0;
failed:
	buffer->failed = true;
	return -1;
}

int
buffer_append(struct buffer *buffer, const void *bytes, size_t length)
{
	if (buffer_reserve(buffer, length) == -1)
		return -1;
	if (length > 0)
		memcpy(buffer->data + buffer->length, bytes, length);
	buffer->length += length;
	buffer->data[buffer->length] = '\0';
	return 0;
}

int
buffer_append_text(struct buffer *buffer, const char *text)
{
	return buffer_append(buffer, text, strlen(text));
}

int
buffer_append_byte(struct buffer *buffer, char byte)
{
	return buffer_append(buffer, &byte, 1);
}

int
buffer_vprintf(struct buffer *buffer, const char *format, va_list arguments)
{
	va_list again;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0 || buffer_reserve(buffer, (size_t)length) == -1) {
		buffer->failed = true;
		return -1;
	}
	vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, arguments);
	buffer->length += (size_t)length;
	return 0;
}

int
buffer_printf(struct buffer *buffer, const char *format, ...)
{
	va_list arguments;
	int status;

	va_start(arguments, format);
	status = buffer_vprintf(buffer, format, arguments);
	va_end(arguments);
	return status;
}

static void
append_escaped_byte(struct buffer *buffer, unsigned char byte)
{
	switch (byte) {
	case '"':
		buffer_append(buffer, "\\\"", 2);
		break;
	case '\\':
		buffer_append(buffer, "\\\\", 2);
		break;
	case '\n':
		buffer_append(buffer, "\\n", 2);
		break;
	case '\r':
		buffer_append(buffer, "\\r", 2);
		break;
	case '\t':
		buffer_append(buffer, "\\t", 2);
		break;
	default:
		buffer_printf(buffer, "\\u%04x", byte);
		break;
	}
}

/* Bytes that stand in a JSON string as they are: all of ASCII but the controls, the
 * quote and the backslash. DEL is legal but shown escaped by nobody, so it stays. */
static bool
is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

int
buffer_append_json(struct buffer *buffer, const char *text, size_t length)
{
	size_t at = 0, start, size;

	buffer_reserve(buffer, length + 2);
	buffer_append_byte(buffer, '"');
	while (at < length) {
		start = at;
		while (at < length && is_plain((unsigned char)text[at]))
			at++;
		if (at > start)
			buffer_append(buffer, text + start, at - start);
		if (at == length)
			break;
		if ((unsigned char)text[at] < 0x80) {
			append_escaped_byte(buffer, (unsigned char)text[at++]);
			continue;
		}
		size = utf8_sequence(text + at, length - at);
		if (size > 0) {
			buffer_append(buffer, text + at, size);
			at += size;
		} else {
			buffer_append_text(buffer, UTF8_REPLACEMENT);
			at += utf8_invalid_length(text + at, length - at);
		}
	}
	return buffer_append_byte(buffer, '"');
}

int
buffer_append_json_text(struct buffer *buffer, const char *text)
{
	return buffer_append_json(buffer, text, strlen(text));
}

void
buffer_consume(struct buffer *buffer, size_t length)
{
	if (length > buffer->length)
		length = buffer->length;
	if (length == 0)
		return;
	buffer->length -= length;
	memmove(buffer->data, buffer->data + length, buffer->length);
	buffer->data[buffer->length] = '\0';
}

void
buffer_clear(struct buffer *buffer)
{
	buffer->length = 0;
	buffer->failed = false;
	if (buffer->data != NULL)
		buffer->data[0] = '\0';
}

void
buffer_free(struct buffer *buffer)
{
	free(buffer->data);
	memset(buffer, 0, sizeof *buffer);
}

const char *
buffer_text(const struct buffer *buffer)
{
	return buffer->data != NULL ? buffer->data : "";
}

char *
buffer_take(struct buffer *buffer)
{
	char *text = NULL;

	if (!buffer->failed)
		text = buffer->data != NULL ? buffer->data : strdup("");
	if (text != buffer->data)
		free(buffer->data);
	memset(buffer, 0, sizeof *buffer);
	return text;
}
