/*
 * Writing records. No secret may get into one: headers of the request are shown by a list of
 * harmless names, and every known secret is blotted out wherever it stands, also where two
 * pieces meet. What cannot be written must never disturb the exchange.
 */
#include <config.h>

#include "worker/providers/http_record.h"
#include "worker/providers/http_record_file.h"
#include "worker/providers/http_record_mask.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BODY_MAX (8u << 20)   /* bytes of a request or an answer that are kept */
#define MASK_MORE (64u << 10) /* behind that, so that a secret is seen whole before the cut */

/* A piece of the answer: where it ends in the body, and when it came. */
struct piece {
	size_t end;
	int64_t ms;
};

struct http_record {
	int fd;
	int64_t started_ms;
	struct buffer body; /* of the answer */
	struct piece *pieces;
	size_t piece_count, piece_room;
	bool cut; /* more came than is kept */
};

static const char *const end_names[] = {
    [HTTP_END_DONE] = "done",
    [HTTP_END_REQUEST] = "request",
    [HTTP_END_CONNECT] = "connect",
    [HTTP_END_CUT] = "cut",
    [HTTP_END_SILENT] = "silent",
    [HTTP_END_TIME] = "time",
    [HTTP_END_GARBLED] = "garbled",
};

const char *
http_end_name(enum http_end end)
{
	return end_names[end];
}

bool
http_end_find(const char *name, enum http_end *end)
{
	size_t i;

	for (i = 0; i < sizeof end_names / sizeof end_names[0]; i++)
		if (strcmp(end_names[i], name) == 0) {
			*end = (enum http_end)i;
			return true;
		}
	return false;
}

static void
member(struct buffer *line, const char *name, const char *text)
{
	if (text == NULL)
		return;
	buffer_printf(line, ",\"%s\":", name);
	buffer_append_json_text(line, text);
}

/* Text as it is; what is no UTF-8 as one character per byte, U+0000 to U+00FF. */
static void
append_bytes(struct buffer *line, const char *bytes, size_t length)
{
	struct buffer wide = BUFFER_EMPTY;
	char code[4];
	size_t i;

	if (utf8_valid(bytes, length)) {
		buffer_append_text(line, ",\"text\":");
		buffer_append_json(line, bytes, length);
		return;
	}
	for (i = 0; i < length; i++)
		buffer_append(&wide, code, utf8_encode((unsigned char)bytes[i], code));
	buffer_append_text(line, ",\"bytes\":");
	buffer_append_json(line, buffer_text(&wide), wide.length);
	buffer_free(&wide);
}

static void
append_body(struct buffer *line, const struct http_request *request)
{
	size_t length = request->body_length < BODY_MAX ? request->body_length : BODY_MAX;
	char *copy;

	if (request->body == NULL)
		return;
	copy = xcalloc(1, request->body_length + 1);
	memcpy(copy, request->body, request->body_length);
	http_record_mask(copy, request->body_length);
	if (length < request->body_length)
		length -= utf8_cut_tail(copy, length);
	append_bytes(line, copy, length);
	if (length < request->body_length)
		buffer_append_text(line, ",\"cut\":true");
	free(copy);
}

static void
append_time(struct buffer *line)
{
	char text[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	member(line, "time", text);
}

static void
append_request_headers(struct buffer *line, const char *const *headers)
{
	const char *colon, *value;
	bool first = true;
	char *name;

	buffer_append_text(line, ",\"headers\":[");
	for (; headers != NULL && *headers != NULL; headers++) {
		colon = strchr(*headers, ':');
		if (colon == NULL)
			continue;
		name = xstrndup(*headers, (size_t)(colon - *headers));
		value = colon + 1 + strspn(colon + 1, " \t");
		buffer_append_text(line, first ? "[" : ",[");
		buffer_append_json_text(line, name);
		buffer_append_byte(line, ',');
		http_record_mask_header(line, name, value, true);
		buffer_append_byte(line, ']');
		free(name);
		first = false;
	}
	buffer_append_byte(line, ']');
}

struct http_record *
http_record_start(const struct http_request *request)
{
	struct buffer line = BUFFER_EMPTY;
	struct http_record *record = NULL;
	char *url;
	int fd = request->dialect != NULL ? http_record_file_open() : -1;

	if (fd == -1)
		return NULL;
	url = http_record_mask_url(request->url);
	buffer_append_text(&line, "{\"record\":\"request\",\"version\":1");
	append_time(&line);
	member(&line, "method", request->method);
	member(&line, "url", url);
	member(&line, "dialect", request->dialect);
	member(&line, "task", request->task);
	append_request_headers(&line, request->headers);
	append_body(&line, request);
	buffer_append_text(&line, "}\n");
	free(url);
	if (http_record_file_write(fd, &line)) {
		record = xcalloc(1, sizeof *record);
		record->fd = fd;
		record->started_ms = monotonic_ms();
	} else {
		http_record_file_close(fd);
	}
	buffer_free(&line);
	return record;
}

void
http_record_data(struct http_record *record, const char *bytes, size_t length)
{
	size_t room;

	if (record == NULL)
		return;
	record->cut |= length > BODY_MAX || record->body.length > BODY_MAX - length;
	room = BODY_MAX + MASK_MORE - record->body.length;
	if (length > room)
		length = room;
	if (length == 0 || buffer_append(&record->body, bytes, length) == -1)
		return;
	if (record->piece_count == record->piece_room) {
		record->piece_room = record->piece_room > 0 ? 2 * record->piece_room : 64;
		record->pieces =
		    xreallocarray(record->pieces, record->piece_room, sizeof *record->pieces);
	}
	record->pieces[record->piece_count].end = record->body.length;
	record->pieces[record->piece_count++].ms = monotonic_ms() - record->started_ms;
}

static void
append_response(struct buffer *out, const struct http_headers *headers)
{
	const char *at = headers->lines.data, *value;
	const char *end = at != NULL ? at + headers->lines.length : NULL;
	bool first = true;

	if (headers->status == 0)
		return;
	buffer_printf(
	    out, "{\"record\":\"response\",\"status\":%d,\"headers\":[", headers->status);
	for (; at != NULL && at < end; at = value + strlen(value) + 1) {
		value = at + strlen(at) + 1;
		buffer_append_text(out, first ? "[" : ",[");
		buffer_append_json_text(out, at);
		buffer_append_byte(out, ',');
		http_record_mask_header(out, at, value, false);
		buffer_append_byte(out, ']');
		first = false;
	}
	buffer_append_text(out, "]}\n");
}

static void
append_pieces(struct buffer *out, struct http_record *record)
{
	size_t i, from = 0, end;

	if (record->body.length > 0)
		http_record_mask(record->body.data, record->body.length);
	for (i = 0; i < record->piece_count && from < BODY_MAX; i++) {
		end = record->pieces[i].end < BODY_MAX ? record->pieces[i].end : BODY_MAX;
		buffer_printf(
		    out, "{\"record\":\"data\",\"ms\":%lld", (long long)record->pieces[i].ms);
		append_bytes(out, record->body.data + from, end - from);
		buffer_append_text(out, "}\n");
		from = end;
	}
}

void
http_record_finish(struct http_record *record, const struct http_headers *headers,
    const char *end, const char *message)
{
	struct buffer out = BUFFER_EMPTY;

	if (record == NULL)
		return;
	append_response(&out, headers);
	append_pieces(&out, record);
	buffer_printf(&out, "{\"record\":\"end\",\"ms\":%lld",
	    (long long)(monotonic_ms() - record->started_ms));
	member(&out, "end", end);
	member(&out, "message", message);
	buffer_append_text(&out, record->cut ? ",\"cut\":true}\n" : "}\n");
	http_record_file_write(record->fd, &out);
	http_record_file_close(record->fd);
	buffer_free(&out);
	buffer_free(&record->body);
	free(record->pieces);
	free(record);
}
