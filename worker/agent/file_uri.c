/*
 * Parsing file: URIs leniently (RFC 8089 names the strict form).
 */
#include <config.h>

#include "worker/agent/file_uri.h"
#include "common/alloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *
percent_decode(const char *text)
{
	char *decoded = xstrdup(text), *out = decoded;

	while (*text != '\0') {
		if (text[0] == '%' && hex(text[1]) >= 0 && hex(text[2]) >= 0 &&
		    (text[1] != '0' || text[2] != '0')) {
			*out++ = (char)(hex(text[1]) * 16 + hex(text[2]));
			text += 3;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
	return decoded;
}

/* "#L10", "#L10-20", "#L10:20", "#L10-L20". */
static void
parse_range(const char *fragment, struct file_uri *uri)
{
	unsigned long first = 0, last = 0;

	if (sscanf(fragment, "#L%lu-L%lu", &first, &last) < 2 &&
	    sscanf(fragment, "#L%lu-%lu", &first, &last) < 2 &&
	    sscanf(fragment, "#L%lu:%lu", &first, &last) < 2)
		last = first;
	if (first > 0 && last >= first) {
		uri->first_line = first;
		uri->last_line = last;
	}
}

static const char *
skip_scheme(const char *text)
{
	const char *rest;

	if (strncasecmp(text, "file:", 5) != 0)
		return strstr(text, "://") != NULL || strncasecmp(text, "data:", 5) == 0 ? NULL
											 : text;
	rest = text + 5;
	if (strncmp(rest, "//", 2) != 0)
		return rest;
	rest += 2;
	if (strncasecmp(rest, "localhost/", 10) == 0)
		rest += 9;
	return rest[0] == '/' ? rest : NULL;
}

bool
file_uri_parse(const char *text, const char *cwd, struct file_uri *uri)
{
	const char *rest = skip_scheme(text);
	char *raw, *decoded, *fragment;

	memset(uri, 0, sizeof *uri);
	if (rest == NULL || rest[0] == '\0')
		return false;
	raw = rest[0] == '/' ? xstrdup(rest) : xasprintf("%s/%s", cwd, rest);
	if (access(raw, F_OK) == 0) {
		uri->path = raw;
		return true;
	}
	fragment = strchr(raw, '#');
	if (fragment != NULL) {
		parse_range(fragment, uri);
		*fragment = '\0';
	}
	if (access(raw, F_OK) == 0) {
		uri->path = raw;
		return true;
	}
	decoded = percent_decode(raw);
	free(raw);
	uri->path = decoded;
	return true;
}

void
file_uri_clear(struct file_uri *uri)
{
	free(uri->path);
	uri->path = NULL;
}

void
file_uri_append_lines(
    const struct file_uri *uri, const char *text, size_t length, struct buffer *out)
{
	const char *at = text, *end = text + length, *newline;
	size_t number = 1;

	while (at < end && number <= uri->last_line) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (newline == NULL)
			newline = end;
		if (number >= uri->first_line) {
			buffer_printf(out, "%zu|", number);
			buffer_append(out, at, (size_t)(newline - at));
			buffer_append_byte(out, '\n');
		}
		at = newline + 1;
		number++;
	}
	if (number <= uri->first_line)
		buffer_printf(out, "[The file has only %zu lines.]", number - 1);
}
