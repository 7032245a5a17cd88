/*
 * The status and the headers of an answer. Private to http.c.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_HEADERS_H
#define HERMES_WORKER_PROVIDERS_HTTP_HEADERS_H

#include "common/buffer.h"

#define HTTP_HEADERS_MAX 65536 /* bytes that are kept */

struct http_headers {
	int status;	     /* 0 before the first status line */
	struct buffer lines; /* name in lower case, NUL, value, NUL … */
};

/* Takes one line as it came. A status line begins anew: what a proxy or a "100 Continue"
 * said before is forgotten. */
void http_headers_take(struct http_headers *headers, const char *line, size_t length);
/* The value of a header by its name in lower case, or NULL; borrowed. */
const char *http_headers_find(const struct http_headers *headers, const char *name);
void http_headers_free(struct http_headers *headers);

#endif
