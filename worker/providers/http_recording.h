/*
 * Reading records of exchanges (http_record.h), to play them in place of a server.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_RECORDING_H
#define HERMES_WORKER_PROVIDERS_HTTP_RECORDING_H

#include "worker/providers/http_headers.h"
#include "worker/providers/http_request.h"

struct http_recording;

/* Reads a file. NULL with a text in `error` that names the file and the line. */
struct http_recording *http_recording_load(const char *file, struct buffer *error);
void http_recording_free(struct http_recording *recording);
/* What the request says of itself; "" when nothing. Borrowed. */
const char *http_recording_dialect(const struct http_recording *recording);
const char *http_recording_task(const struct http_recording *recording);
/* Fills in the status and the headers of the answer; nothing when none had begun. */
void
http_recording_headers(const struct http_recording *recording, struct http_headers *headers);
/* The next piece of the body; false when there is none left. Borrowed until the next call. */
bool http_recording_next(struct http_recording *recording, const char **bytes, size_t *length);
/* How it ended; false when nobody had waited for the end. `message` is borrowed. */
bool http_recording_end(
    const struct http_recording *recording, enum http_end *end, const char **message);

#endif
