/*
 * A record of an exchange with a model's server, for the search of faults: made where
 * HERMES_ACP_RECORD_PROVIDER names a folder, played back by replay.c. The format stands in
 * hermes-acp-rehearsal(5).
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_RECORD_H
#define HERMES_WORKER_PROVIDERS_HTTP_RECORD_H

#include "worker/providers/http_headers.h"
#include "worker/providers/http_request.h"

struct http_record;

/* Begins the record of a request to a model; NULL for others (lists of models), and when none
 * is wanted or it cannot be written, which is a warning in the log and nothing else. */
struct http_record *http_record_start(const struct http_request *request);
/* A piece of the answer's body as it came. `record` may be NULL. */
void http_record_data(struct http_record *record, const char *bytes, size_t length);
/* Writes the answer and frees the record, which may be NULL. `end`: a name of an end; `message`
 * has no secrets. */
void http_record_finish(struct http_record *record, const struct http_headers *headers,
    const char *end, const char *message);

/* The name of an end in a record. */
const char *http_end_name(enum http_end end);
/* The end by its name; false for one that is none: nobody waited for it. */
bool http_end_find(const char *name, enum http_end *end);

#endif
