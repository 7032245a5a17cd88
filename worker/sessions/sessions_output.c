/*
 * Output of the sessions commands.
 */
#include <config.h>

#include "worker/sessions/sessions_output.h"
#include "common/alloc.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/text_filter.h"
#include "common/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So much is written at once. */
#define FLUSH_AT (64 * 1024)
/* A name of a person's size; what is longer is no name. */
#define LINE_MAX_BYTES 4096

struct sessions_output {
	int fd, error;
	char *name;
	struct buffer text;
};

void
sessions_output_complain(const char *format, ...)
{
	struct buffer text = BUFFER_EMPTY, line = BUFFER_EMPTY;
	va_list arguments;

	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	sessions_output_line(&line, buffer_text(&text));
	fprintf(stderr, "hermes-acp: %s\n", buffer_text(&line));
	buffer_free(&text);
	buffer_free(&line);
}

/* A record is "[LEVEL] program[pid] subsystem: text\n". */
static void
log_sink_complain(enum log_level level, const char *record, size_t length, void *arg)
{
	const char *text = memmem(record, length, ": ", 2);

	(void)level;
	(void)arg;
	if (text != NULL && length > 0)
		sessions_output_complain(
		    "%.*s", (int)(record + length - 1 - (text + 2)), text + 2);
}

void
sessions_output_catch_log(void)
{
	log_open("hermes-acp", LOG_LEVEL_WARNING, log_sink_complain, NULL);
}

/* Outside of ASCII a character can stand only in a string, where it can be written so. */
static void
append_escaped(struct buffer *line, const char *text, size_t length)
{
	uint32_t code;
	size_t size, begin = 0, at = 0;

	while (at < length) {
		size = utf8_decode(text + at, length - at, &code);
		if (size == 0 || text_filter_harmless(code) || code > 0xffff) {
			at += size > 0 ? size : 1;
			continue;
		}
		buffer_append(line, text + begin, at - begin);
		buffer_printf(line, "\\u%04" PRIx32, code);
		at += size;
		begin = at;
	}
	buffer_append(line, text + begin, length - begin);
}

void
sessions_output_json(struct sessions_output *output, struct json_object *object)
{
	const char *text;
	size_t length;

	json_object_object_foreach(object, key, value)
	{
		(void)value;
		if (key[0] == '_')
			json_object_object_del(object, key);
	}
	text = json_text(object, &length);
	append_escaped(&output->text, text, length);
	buffer_append_byte(&output->text, '\n');
}

static void
append_line(
    struct buffer *out, const char *prefix, const char *text, size_t length, size_t width)
{
	size_t shown = width > 0 ? utf8_offset(text, length, width) : length;

	buffer_append_text(out, prefix);
	buffer_append(out, text, shown);
	buffer_append_text(out, shown < length ? " ...\n" : "\n");
}

static size_t
count_lines(const char *text, const char *end)
{
	size_t count = 0;

	for (; text != NULL && text < end; count++) {
		text = memchr(text, '\n', (size_t)(end - text));
		if (text != NULL)
			text++;
	}
	return count;
}

void
sessions_output_text(struct buffer *out, const char *prefix, const char *text, size_t length,
    size_t lines, size_t width)
{
	struct text_filter filter = TEXT_FILTER_START;
	struct buffer clean = BUFFER_EMPTY;
	const char *at, *end, *stop;
	size_t count = 0;

	text_filter_append(&filter, text, length, &clean);
	while (clean.length > 0 && strchr(" \t\n", clean.data[clean.length - 1]) != NULL)
		clean.length--;
	at = clean.data;
	end = at != NULL ? at + clean.length : NULL;
	while (at < end && (lines == 0 || count < lines)) {
		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop != NULL ? stop : end;
		append_line(out, prefix, at, (size_t)(stop - at), width);
		at = stop < end ? stop + 1 : end;
		count++;
	}
	if (at < end)
		buffer_printf(out, "%s... (%zu more lines)\n", prefix, count_lines(at, end));
	buffer_free(&clean);
}

void
sessions_output_line(struct buffer *out, const char *text)
{
	text_filter_line(text, LINE_MAX_BYTES, out);
}

void
sessions_output_time(char text[SESSIONS_TIME_SIZE], double time, bool seconds)
{
	struct tm local;
	time_t whole = time >= 0 && time < 253402300799.0 ? (time_t)time : 0;

	if (localtime_r(&whole, &local) == NULL ||
	    strftime(text, SESSIONS_TIME_SIZE, seconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M",
		&local) == 0)
		strcpy(text, "?");
}

struct sessions_output *
sessions_output_new(int fd, const char *name)
{
	struct sessions_output *output = xcalloc(1, sizeof *output);

	output->fd = fd;
	output->name = xstrdup(name);
	return output;
}

struct buffer *
sessions_output_buffer(struct sessions_output *output)
{
	return &output->text;
}

static void
write_out(struct sessions_output *output)
{
	if (output->text.failed)
		output->error = ENOMEM;
	if (output->error == 0 && output->text.length > 0 &&
	    fd_write_all(output->fd, output->text.data, output->text.length) == -1)
		output->error = errno;
	buffer_clear(&output->text);
}

bool
sessions_output_flush(struct sessions_output *output)
{
	if (output->text.length >= FLUSH_AT || output->text.failed)
		write_out(output);
	return output->error == 0;
}

int
sessions_output_end(struct sessions_output *output)
{
	int result = 0;

	write_out(output);
	if (output->error != 0 && output->error != EPIPE) {
		sessions_output_complain("%s: %s", output->name, strerror(output->error));
		result = -1;
	}
	buffer_free(&output->text);
	free(output->name);
	free(output);
	return result;
}
