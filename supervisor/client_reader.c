/*
 * Standard input to lines. It must never end on what the client sends: a line that is no
 * JSON or too long is reported and the next one counts.
 */
#include <config.h>

#include "supervisor/client_reader.h"
#include "common/buffer.h"
#include "common/json.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE (64 * 1024)
#define KEEP_CAPACITY (1024 * 1024) /* a bigger buffer is given back after its line */

struct client_reader {
	struct event *readable;
	int fd;
	struct client_reader_callbacks callbacks;
	void *arg;
	size_t limit;	    /* longest line */
	struct buffer line; /* the line so far */
	struct buffer rest; /* bytes that were read but not taken before a pause */
	struct event *again;
	struct json_scan scan;
	struct json_watch parts[PART_COUNT];
	bool skipping; /* a line that is too long */
	bool blank;    /* nothing but blanks so far */
	bool paused;
	bool over; /* the end was told */
};

static const struct {
	const char *parent, *key;
} part_names[PART_COUNT] = {
    [PART_JSONRPC] = {NULL, "jsonrpc"},
    [PART_ID] = {NULL, "id"},
    [PART_METHOD] = {NULL, "method"},
    [PART_PARAMS] = {NULL, "params"},
    [PART_RESULT] = {NULL, "result"},
    [PART_ERROR] = {NULL, "error"},
    [PART_SESSION_ID] = {"params", "sessionId"},
    [PART_REQUEST_ID] = {"params", "requestId"},
    [PART_PROMPT] = {"params", "prompt"},
};

static void
start_line(struct client_reader *reader)
{
	int i;

	for (i = 0; i < PART_COUNT; i++) {
		reader->parts[i].parent = part_names[i].parent;
		reader->parts[i].key = part_names[i].key;
	}
	json_scan_start(&reader->scan, JSON_DEPTH_MAX, false, reader->parts, PART_COUNT);
	if (reader->line.capacity > KEEP_CAPACITY)
		buffer_free(&reader->line);
	else
		buffer_clear(&reader->line);
	reader->skipping = false;
	reader->blank = true;
}

static bool
all_blank(const char *bytes, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r')
			return false;
	return true;
}

/* Takes a piece of a line. Once the text is refused the rest of the line is still kept (up
 * to the limit) so that an id that stood in front can be answered. */
static void
add_piece(struct client_reader *reader, const char *bytes, size_t length)
{
	if (reader->skipping || length == 0)
		return;
	if (reader->line.length + length > reader->limit) {
		reader->skipping = true;
		buffer_free(&reader->line);
		reader->callbacks.too_long(reader->arg);
		return;
	}
	if (reader->blank)
		reader->blank = all_blank(bytes, length);
	if (buffer_append(&reader->line, bytes, length) == -1) {
		reader->skipping = true;
		buffer_free(&reader->line);
		reader->callbacks.too_long(reader->arg);
		return;
	}
	if (reader->scan.error == NULL)
		json_scan_feed(&reader->scan, bytes, length);
}

static void
end_line(struct client_reader *reader)
{
	struct client_line line;

	if (!reader->skipping && !reader->blank) {
		if (reader->scan.error == NULL)
			json_scan_end(&reader->scan);
		line.text = reader->line.data;
		line.length = reader->line.length;
		line.error = reader->scan.error;
		line.parts = reader->parts;
		reader->callbacks.line(&line, reader->arg);
	}
	start_line(reader);
}

/* Takes lines until a handler pauses the reader. Returns how many bytes were taken. */
static size_t
take_bytes(struct client_reader *reader, const char *bytes, size_t length)
{
	const char *newline, *start = bytes;
	size_t size;

	while (length > 0 && !reader->paused) {
		newline = memchr(bytes, '\n', length);
		size = newline != NULL ? (size_t)(newline - bytes) : length;
		add_piece(reader, bytes, size);
		bytes += size;
		length -= size;
		if (newline == NULL)
			break;
		bytes++;
		length--;
		end_line(reader);
	}
	return (size_t)(bytes - start);
}

/* What a pause left over comes first. */
static void
on_again(int fd, short events, void *arg)
{
	struct client_reader *reader = arg;

	(void)fd;
	(void)events;
	buffer_consume(
	    &reader->rest, take_bytes(reader, buffer_text(&reader->rest), reader->rest.length));
	if (reader->rest.length == 0 && !reader->paused && !reader->over)
		event_add(reader->readable, NULL);
}

static void
on_readable(int fd, short events, void *arg)
{
	struct client_reader *reader = arg;
	char bytes[READ_SIZE];
	ssize_t n;

	(void)events;
	n = read(fd, bytes, sizeof bytes);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		size_t taken = take_bytes(reader, bytes, (size_t)n);

		buffer_append(&reader->rest, bytes + taken, (size_t)n - taken);
		return;
	}
	event_del(reader->readable);
	reader->over = true;
	end_line(reader); /* a last line without a newline counts */
	reader->callbacks.ended(reader->arg);
}

struct client_reader *
client_reader_new(
    struct event_base *base, int fd, const struct client_reader_callbacks *callbacks, void *arg)
{
	struct client_reader *reader = calloc(1, sizeof *reader);

	if (reader == NULL)
		return NULL;
	reader->fd = fd;
	reader->limit = CLIENT_LINE_MAX;
	reader->callbacks = *callbacks;
	reader->arg = arg;
	start_line(reader);
	reader->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, reader);
	reader->again = event_new(base, -1, 0, on_again, reader);
	if (reader->again == NULL || reader->readable == NULL ||
	    event_add(reader->readable, NULL) == -1) {
		client_reader_free(reader);
		return NULL;
	}
	return reader;
}

void
client_reader_free(struct client_reader *reader)
{
	if (reader == NULL)
		return;
	if (reader->readable != NULL)
		event_free(reader->readable);
	if (reader->again != NULL)
		event_free(reader->again);
	buffer_free(&reader->line);
	buffer_free(&reader->rest);
	close(reader->fd);
	free(reader);
}

void
client_reader_set_limit(struct client_reader *reader, size_t bytes)
{
	reader->limit = bytes;
}

void
client_reader_pause(struct client_reader *reader, bool pause)
{
	if (reader->paused == pause)
		return;
	reader->paused = pause;
	if (pause)
		event_del(reader->readable);
	else
		event_active(reader->again, EV_TIMEOUT, 0);
}

const char *
client_line_part(const struct client_line *line, enum client_part part, size_t *length)
{
	const struct json_watch *watch = &line->parts[part];

	*length = 0;
	if (watch->seen == 0 || watch->length == 0)
		return NULL;
	*length = watch->length;
	return line->text + watch->offset;
}

char *
client_line_string(const struct client_line *line, enum client_part part)
{
	struct json_object *value;
	const char *text, *reason;
	char *copy = NULL;
	size_t length;

	text = client_line_part(line, part, &length);
	if (text == NULL || text[0] != '"' || length > CLIENT_PARSE_MAX)
		return NULL;
	value = json_parse(text, length, &reason);
	if (json_object_is_type(value, json_type_string) &&
	    strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value))
		copy = strdup(json_object_get_string(value));
	json_object_put(value);
	return copy;
}
