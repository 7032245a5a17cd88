/*
 * The list of problems. It must never show a secret or break out of its line.
 */
#include <config.h>

#include "worker/config/problems.h"

#include "common/log.h"
#include "common/utf8.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one line; more says nothing to a person. */
#define LINE_MAX_BYTES 1024

static bool
already_noted(const struct problems *problems, const char *line)
{
	size_t length = strlen(line);
	const char *place = buffer_text(&problems->text);

	while ((place = strstr(place, line)) != NULL) {
		if (place == problems->text.data || place[-1] == '\n')
			return true;
		place += length;
	}
	return false;
}

/* Control bytes become blanks, what is not UTF-8 becomes U+FFFD; ends with a newline. */
static char *
one_line(struct buffer *raw)
{
	char *clean, *byte;

	if (raw->length > LINE_MAX_BYTES) {
		raw->length = utf8_floor(raw->data, raw->length, LINE_MAX_BYTES);
		buffer_append_text(raw, "…\n");
	}
	clean = utf8_clean(buffer_text(raw), raw->length, NULL);
	if (clean == NULL)
		return NULL;
	for (byte = clean; *byte != '\0'; byte++)
		if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
			*byte = byte[1] == '\0' ? '\n' : ' ';
	secret_mask(clean);
	return clean;
}

void
problems_note(struct problems *problems, const char *file, unsigned line, const char *key,
    const char *format, ...)
{
	struct buffer raw = BUFFER_EMPTY;
	va_list arguments;
	char *text;

	if (problems == NULL || problems->count > PROBLEMS_MAX)
		return;
	buffer_append_text(&raw, file);
	if (line > 0)
		buffer_printf(&raw, " line %u", line);
	if (key != NULL && *key != '\0')
		buffer_printf(&raw, ", key %s", key);
	buffer_append_text(&raw, ": ");
	va_start(arguments, format);
	buffer_vprintf(&raw, format, arguments);
	va_end(arguments);
	buffer_append_text(&raw, "\n");
	text = one_line(&raw);
	buffer_free(&raw);
	if (text != NULL && !already_noted(problems, text)) {
		if (problems->count++ == PROBLEMS_MAX)
			buffer_append_text(
			    &problems->text, "further problems are not listed\n");
		else
			buffer_append_text(&problems->text, text);
	}
	free(text);
}

void
problems_clear(struct problems *problems)
{
	buffer_free(&problems->text);
	problems->count = 0;
}
