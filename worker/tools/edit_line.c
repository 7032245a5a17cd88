/*
 * Lines of a text that is edited: how they end, and which one a place is in. It never changes
 * anything.
 */
#include <config.h>

#include "worker/tools/edit_line.h"

#include <string.h>

const char *
edit_line_end(const char *text, size_t length)
{
	size_t all = 0, crlf = 0;
	const char *at = text, *end = text + length;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		all++;
		if (at > text && at[-1] == '\r')
			crlf++;
		at++;
	}
	return 2 * crlf > all ? "\r\n" : "\n";
}

size_t
edit_line_number(const char *text, size_t offset)
{
	size_t line = 1;
	const char *at = text, *end = text + offset;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		line++;
		at++;
	}
	return line;
}
