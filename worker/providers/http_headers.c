/*
 * Keeping headers. It must never keep more than its limit, whatever a server sends.
 */
#include <config.h>

#include "worker/providers/http_headers.h"

#include <string.h>

static void
take_status(struct http_headers *headers, const char *line, size_t length)
{
	const char *space = memchr(line, ' ', length);

	buffer_clear(&headers->lines);
	headers->status = 0;
	while (space != NULL && ++space < line + length && *space >= '0' && *space <= '9' &&
	       headers->status < 1000)
		headers->status = headers->status * 10 + (*space - '0');
}

static void
take_header(struct http_headers *headers, const char *line, size_t length)
{
	const char *colon = memchr(line, ':', length), *value, *end = line + length;
	size_t i;

	if (colon == NULL || headers->lines.length + length > HTTP_HEADERS_MAX ||
	    memchr(line, '\0', length) != NULL)
		return;
	for (i = 0; line + i < colon; i++)
		buffer_append_byte(&headers->lines,
		    (char)(line[i] >= 'A' && line[i] <= 'Z' ? line[i] | 0x20 : line[i]));
	buffer_append_byte(&headers->lines, '\0');
	value = colon + 1;
	while (value < end && (*value == ' ' || *value == '\t'))
		value++;
	while (end > value && (unsigned char)end[-1] <= ' ')
		end--;
	buffer_append(&headers->lines, value, (size_t)(end - value));
	buffer_append_byte(&headers->lines, '\0');
}

void
http_headers_take(struct http_headers *headers, const char *line, size_t length)
{
	if (length > 5 && memcmp(line, "HTTP/", 5) == 0)
		take_status(headers, line, length);
	else
		take_header(headers, line, length);
}

const char *
http_headers_find(const struct http_headers *headers, const char *name)
{
	const char *at = headers->lines.data, *value;
	const char *end = at != NULL ? at + headers->lines.length : NULL;

	while (at != NULL && at < end) {
		value = at + strlen(at) + 1;
		if (strcmp(at, name) == 0)
			return value;
		at = value + strlen(value) + 1;
	}
	return NULL;
}

void
http_headers_free(struct http_headers *headers)
{
	buffer_free(&headers->lines);
	headers->status = 0;
}
