/*
 * What a request is and how it can end: shared by http.c and http_setup.c.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_REQUEST_H
#define HERMES_WORKER_PROVIDERS_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a transfer ended. */
enum http_end {
	HTTP_END_DONE,	  /* the whole answer came, whatever its status */
	HTTP_END_REQUEST, /* it could not be sent: a bad URL, no libcurl */
	HTTP_END_CONNECT, /* no connection: name, network, TLS, the limit for connecting */
	HTTP_END_CUT,	  /* the connection broke before the end of the answer */
	HTTP_END_SILENT,  /* nothing that counts came for too long */
	HTTP_END_TIME,	  /* the limit for the whole transfer */
	HTTP_END_GARBLED  /* what came is not HTTP, or its encoding is broken */
};

struct http_request {
	const char *method; /* "POST", "GET", "DELETE" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL at the end; copied */
	char *body;		    /* malloc()ed; taken over, also on failure; may be NULL */
	size_t body_length;
	/* Limits in milliseconds, 0 = none. Silence counts from the last http_alive(). */
	int64_t connect_timeout_ms, silence_timeout_ms, total_timeout_ms;
	const char *ca_file; /* certificates to trust; NULL = those of the system. Copied */
	bool fresh; /* takes no connection that is already open */
	/* For records only, NULL = not known: what is spoken, and beside what conversation. */
	const char *dialect, *task;
};

#endif
