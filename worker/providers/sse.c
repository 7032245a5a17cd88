/*
 * Event-stream framing. An event that lies whole within the bytes fed is handed on without
 * a copy. It must never hold more than its limits, whatever arrives.
 */
#include <config.h>

#include "worker/providers/sse.h"

#include <string.h>

void
sse_start(struct sse *sse, sse_event event, void *arg)
{
	memset(sse, 0, sizeof *sse);
	sse->event = event;
	sse->arg = arg;
}

void
sse_free(struct sse *sse)
{
	buffer_free(&sse->line);
	buffer_free(&sse->data);
}

static void
fail(struct sse *sse, const char *error)
{
	sse->error = error;
	sse->stopped = true;
}

/* Copies the view, because more follows or its bytes go away. */
static void
keep_view(struct sse *sse)
{
	if (sse->view == NULL)
		return;
	buffer_append(&sse->data, sse->view, sse->view_length);
	sse->view = NULL;
}

static void
add_data(struct sse *sse, const char *value, size_t length)
{
	if (!sse->has_data) {
		sse->has_data = true;
		sse->view = value;
		sse->view_length = length;
		return;
	}
	keep_view(sse);
	if (sse->data.length + length > SSE_EVENT_MAX) {
		fail(sse, "an event of the stream is longer than 32 MiB");
		return;
	}
	buffer_append_byte(&sse->data, '\n');
	if (buffer_append(&sse->data, value, length) == -1)
		fail(sse, "out of memory");
}

static void
dispatch(struct sse *sse)
{
	const char *data = sse->view != NULL ? sse->view : buffer_text(&sse->data);
	size_t length = sse->view != NULL ? sse->view_length : sse->data.length;

	if (sse->has_data || sse->name[0] != '\0') {
		sse->events++;
		if (!sse->event(sse->name, data, length, sse->arg))
			sse->stopped = true;
	}
	sse->view = NULL;
	sse->has_data = false;
	sse->name[0] = '\0';
	if (sse->data.capacity > 65536)
		buffer_free(&sse->data);
	else
		buffer_clear(&sse->data);
}

static bool
is_field(const char *line, size_t name_length, const char *name)
{
	return name_length == strlen(name) && memcmp(line, name, name_length) == 0;
}

static void
take_field(struct sse *sse, const char *line, size_t length)
{
	const char *colon = memchr(line, ':', length);
	size_t name_length = colon != NULL ? (size_t)(colon - line) : length;
	const char *value = line + name_length;
	size_t value_length;

	if (colon != NULL)
		value++;
	if (value < line + length && *value == ' ')
		value++;
	value_length = (size_t)(line + length - value);
	if (is_field(line, name_length, "data")) {
		add_data(sse, value, value_length);
	} else if (is_field(line, name_length, "event")) {
		if (value_length >= sizeof sse->name)
			value_length = sizeof sse->name - 1;
		memcpy(sse->name, value, value_length);
		sse->name[value_length] = '\0';
	} /* id, retry and unknown fields mean nothing here */
}

static void
take_line(struct sse *sse, const char *line, size_t length)
{
	if (!sse->started) {
		sse->started = true;
		if (length >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
			line += 3;
			length -= 3;
		}
	}
	if (length == 0)
		dispatch(sse);
	else if (line[0] == ':')
		sse->comments++;
	else
		take_field(sse, line, length);
}

/* Where the first line end is, or NULL. LF is looked for first: most streams have no CR,
 * and then both searches run at full speed. */
static const char *
line_end(const char *bytes, size_t length)
{
	const char *newline = memchr(bytes, '\n', length);
	const char *carriage =
	    memchr(bytes, '\r', newline != NULL ? (size_t)(newline - bytes) : length);

	return carriage != NULL ? carriage : newline;
}

/* A line whose beginning came with earlier bytes. */
static void
take_split_line(struct sse *sse, const char *bytes, size_t length)
{
	struct buffer line = sse->line;

	memset(&sse->line, 0, sizeof sse->line);
	buffer_append(&line, bytes, length);
	if (line.failed)
		fail(sse, "out of memory");
	else
		take_line(sse, buffer_text(&line), line.length);
	keep_view(sse);
	if (line.capacity > 65536 || sse->line.data != NULL) {
		buffer_free(&line);
	} else {
		buffer_clear(&line);
		sse->line = line;
	}
}

static void
keep_rest(struct sse *sse, const char *bytes, size_t length)
{
	if (sse->line.length + length > SSE_LINE_MAX)
		fail(sse, "a line of the stream is longer than 16 MiB");
	else if (buffer_append(&sse->line, bytes, length) == -1)
		fail(sse, "out of memory");
}

void
sse_feed(struct sse *sse, const char *bytes, size_t length)
{
	const char *end = bytes + length, *stop;
	size_t size;

	while (bytes < end && !sse->stopped) {
		if (sse->skip_newline) {
			sse->skip_newline = false;
			if (*bytes == '\n') {
				bytes++;
				continue;
			}
		}
		stop = line_end(bytes, (size_t)(end - bytes));
		size = (size_t)((stop != NULL ? stop : end) - bytes);
		if (stop == NULL || sse->line.length + size > SSE_LINE_MAX) {
			keep_rest(sse, bytes, size);
			break;
		}
		sse->skip_newline = *stop == '\r';
		if (sse->line.length > 0)
			take_split_line(sse, bytes, size);
		else
			take_line(sse, bytes, size);
		bytes = stop + 1;
	}
	keep_view(sse);
}

void
sse_end(struct sse *sse)
{
	if (!sse->stopped && sse->line.length > 0)
		take_split_line(sse, "", 0);
	if (!sse->stopped)
		dispatch(sse);
}
