/*
 * Records as they are read. A file may have been edited by hand or come from a stranger: what
 * is wrong with it is said with the line, and nothing in it is trusted.
 */
#include <config.h>

#include "worker/providers/http_recording.h"
#include "worker/providers/http_record.h"
#include "common/alloc.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_SIZE_MAX (64u << 20)

struct http_recording {
	struct json_object *request, *response, *end; /* NULL when there is none */
	struct json_object *pieces;		      /* array of data records */
	size_t next;
	struct buffer bytes; /* of the last piece */
};

static int
read_file(const char *file, struct buffer *text, struct buffer *error)
{
	struct stat status;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), result = -1;

	if (fd == -1 || fstat(fd, &status) == -1)
		buffer_printf(error, "%s: %s", file, strerror(errno));
	else if (!S_ISREG(status.st_mode))
		buffer_printf(error, "%s: not a regular file", file);
	else if (fd_read_all(fd, text, FILE_SIZE_MAX) == -1)
		buffer_printf(error, "%s: %s", file,
		    errno == EFBIG ? "bigger than 64 MiB" : strerror(errno));
	else
		result = 0;
	fd_close(&fd);
	return result;
}

/* Takes over one record; false for what is none. */
static bool
take(struct http_recording *recording, struct json_object *record)
{
	const char *kind = json_member_text(record, "record", "");
	struct json_object **place = strcmp(kind, "request") == 0    ? &recording->request
				     : strcmp(kind, "response") == 0 ? &recording->response
				     : strcmp(kind, "end") == 0	     ? &recording->end
								     : NULL;

	if (place != NULL && *place == NULL) {
		*place = record;
		return true;
	}
	if (strcmp(kind, "data") == 0) {
		json_object_array_add(recording->pieces, record);
		return true;
	}
	json_object_put(record);
	return false;
}

static int
take_lines(struct http_recording *recording, const char *file, const struct buffer *text,
    struct buffer *error)
{
	const char *line = buffer_text(text), *last = line + text->length, *newline, *reason;
	struct json_object *record;
	unsigned number = 0;

	for (; line < last; line = newline + 1) {
		newline = memchr(line, '\n', (size_t)(last - line));
		if (newline == NULL)
			newline = last;
		number++;
		if (newline == line)
			continue;
		record = json_parse(line, (size_t)(newline - line), &reason);
		if (record == NULL || !take(recording, record)) {
			buffer_printf(error, "%s: line %u: %s", file, number,
			    record != NULL || reason == NULL ? "not a record" : reason);
			return -1;
		}
	}
	if (recording->request != NULL)
		return 0;
	buffer_printf(error, "%s: it holds no request", file);
	return -1;
}

struct http_recording *
http_recording_load(const char *file, struct buffer *error)
{
	struct http_recording *recording = xcalloc(1, sizeof *recording);
	struct buffer text = BUFFER_EMPTY;

	recording->pieces = json_object_new_array();
	if (read_file(file, &text, error) == -1 ||
	    take_lines(recording, file, &text, error) == -1) {
		http_recording_free(recording);
		recording = NULL;
	}
	buffer_free(&text);
	return recording;
}

void
http_recording_free(struct http_recording *recording)
{
	if (recording == NULL)
		return;
	json_object_put(recording->request);
	json_object_put(recording->response);
	json_object_put(recording->end);
	json_object_put(recording->pieces);
	buffer_free(&recording->bytes);
	free(recording);
}

const char *
http_recording_dialect(const struct http_recording *recording)
{
	return json_member_text(recording->request, "dialect", "");
}

const char *
http_recording_task(const struct http_recording *recording)
{
	return json_member_text(recording->request, "task", "");
}

void
http_recording_headers(const struct http_recording *recording, struct http_headers *headers)
{
	struct json_object *list = json_member_array(recording->response, "headers"), *pair;
	size_t count = list != NULL ? json_object_array_length(list) : 0, i;
	struct buffer line = BUFFER_EMPTY;
	int64_t status = 0;

	if (!json_member_integer(recording->response, "status", &status) || status < 100 ||
	    status > 999)
		return;
	buffer_printf(&line, "HTTP/1.1 %d", (int)status);
	http_headers_take(headers, line.data, line.length);
	for (i = 0; i < count; i++) {
		pair = json_object_array_get_idx(list, i);
		if (!json_object_is_type(pair, json_type_array) ||
		    json_object_array_length(pair) != 2)
			continue;
		buffer_clear(&line);
		buffer_printf(&line, "%s: %s",
		    json_object_get_string(json_object_array_get_idx(pair, 0)),
		    json_object_get_string(json_object_array_get_idx(pair, 1)));
		http_headers_take(headers, buffer_text(&line), line.length);
	}
	buffer_free(&line);
}

static void
append_narrow(struct buffer *bytes, const char *text, size_t length)
{
	uint32_t code;
	size_t size;

	for (; length > 0; text += size, length -= size) {
		size = utf8_decode(text, length, &code);
		if (size == 0 || code > 0xff)
			return; /* not one of ours */
		buffer_append_byte(bytes, (char)code);
	}
}

bool
http_recording_next(struct http_recording *recording, const char **bytes, size_t *length)
{
	struct json_object *piece, *wide;

	if (recording->next >= json_object_array_length(recording->pieces))
		return false;
	piece = json_object_array_get_idx(recording->pieces, recording->next++);
	wide = json_member(piece, "bytes");
	buffer_clear(&recording->bytes);
	if (json_object_is_type(wide, json_type_string)) {
		append_narrow(&recording->bytes, json_object_get_string(wide),
		    (size_t)json_object_get_string_len(wide));
	} else {
		wide = json_member(piece, "text");
		if (json_object_is_type(wide, json_type_string))
			buffer_append(&recording->bytes, json_object_get_string(wide),
			    (size_t)json_object_get_string_len(wide));
	}
	*bytes = buffer_text(&recording->bytes);
	*length = recording->bytes.length;
	return true;
}

bool
http_recording_end(
    const struct http_recording *recording, enum http_end *end, const char **message)
{
	*message = json_member_text(recording->end, "message", "");
	return http_end_find(json_member_text(recording->end, "end", ""), end);
}
