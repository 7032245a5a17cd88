/*
 * What curl is told about one request, and what its result codes mean. Private to http.c.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_SETUP_H
#define HERMES_WORKER_PROVIDERS_HTTP_SETUP_H

#include "worker/providers/curl_library.h"
#include "worker/providers/http_request.h"

/* Must stay where it is while the transfer runs. */
struct http_setup {
	char *body;
	struct curl_slist *headers;
	int64_t total_timeout_ms;
	const char *bundle; /* the file of certificates that was left aside, or NULL */
	char error[CURL_ERROR_SIZE];
};

/* Sets everything but the callbacks; 0, or -1 with a sentence in `error`. */
int http_setup_apply(struct http_setup *setup, const struct curl_library *curl, CURL *easy,
    const struct http_request *request, struct buffer *error);
/* Takes the whole file of certificates instead of the folder; false when that was done or
 * when the user chose the certificates. */
bool http_setup_bundle(struct http_setup *setup, const struct curl_library *curl, CURL *easy);
void http_setup_free(struct http_setup *setup, const struct curl_library *curl);
/* How a transfer with this result ended; `connected` tells whether the request was sent. */
enum http_end http_setup_end(const struct http_setup *setup, const struct curl_library *curl,
    CURLcode code, bool connected, struct buffer *message);

#endif
