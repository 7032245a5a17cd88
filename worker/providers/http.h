/*
 * HTTP requests on the event loop. One transfer is one exchange: its body arrives in pieces,
 * its end is told once. Certificates are checked, redirects not followed, proxies taken from
 * the environment (https_proxy, all_proxy, no_proxy …), certificates from HERMES_CA_BUNDLE,
 * CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR when they are set. The
 * process must ignore SIGPIPE.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_H
#define HERMES_WORKER_PROVIDERS_HTTP_H

#include "worker/providers/http_request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct http_recording;
struct http_transfer;

struct http_handlers {
	/* A piece of the body. */
	void (*data)(const char *bytes, size_t length, void *arg);
	/* The end, once; `message` says what went wrong, without secrets; "" when nothing
	 * did. */
	void (*finished)(enum http_end end, const char *message, void *arg);
};

/* Starts a transfer. Never NULL: what fails at once ends by finished() on the next turn of
 * the loop; no handler is called from within. The caller frees it by http_free(). */
struct http_transfer *http_start(struct event_base *base, const struct http_request *request,
    const struct http_handlers *handlers, void *arg);
/* A transfer that never starts: it ends as HTTP_END_REQUEST with `message`. */
struct http_transfer *http_fail(struct event_base *base, const char *message,
    const struct http_handlers *handlers, void *arg);
/* An exchange that was recorded, in place of one with a server. `recording` is taken over. */
struct http_transfer *http_play(struct event_base *base, struct http_recording *recording,
    int64_t silence_ms, const struct http_handlers *handlers, void *arg);
/* Ends the transfer if it runs, at once and without a handler, and frees it. May be called
 * from a handler. */
void http_free(struct http_transfer *transfer);
/* Like http_free(), but lets the rest of the answer come in for up to a second, so that the
 * connection can be used again. */
void http_release(struct http_transfer *transfer);
/* Stops reading, or goes on. While paused silence does not count. */
void http_pause(struct http_transfer *transfer, bool pause);
/* Something that counts came: starts the limit for silence again. */
void http_alive(struct http_transfer *transfer);
/* Sets another limit for silence, counted from now. */
void http_set_silence(struct http_transfer *transfer, int64_t milliseconds);
/* The status, 0 while no answer has begun. */
int http_status(const struct http_transfer *transfer);
/* The value of a header of the answer, by its name in lower case; NULL when it is absent.
 * Borrowed, valid within a handler. */
const char *http_header(const struct http_transfer *transfer, const char *name);

#endif
