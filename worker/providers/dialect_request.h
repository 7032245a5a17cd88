/*
 * A request to a model's server: URL, headers and body, and what all dialects write alike.
 */
#ifndef HERMES_WORKER_PROVIDERS_DIALECT_REQUEST_H
#define HERMES_WORKER_PROVIDERS_DIALECT_REQUEST_H

#include "common/buffer.h"
#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>

struct runtime;

struct dialect_request {
	char *url;
	char **headers; /* "Name: value", NULL at the end; one of them holds the key */
	char *body;	/* one JSON object, keys sorted, the same for the same request */
	size_t body_length;
};

/* 0, or -1 with a sentence in `error` when base URL or model is missing. */
int dialect_request_check(const struct runtime *runtime, struct buffer *error);
/* The endpoint `path` ("/chat/completions") below the base URL, before a query
 * ("?api-version=…") if there is one; a base that ends in it stays. The caller frees it. */
char *dialect_request_url(const char *base_url, const char *path);
void dialect_request_header(struct dialect_request *built, const char *name, const char *value);
/* The header that holds the key, unless there is none or the user set the header. 0, or -1
 * with a sentence in `error`. */
int dialect_request_key(struct dialect_request *built, const char *name, const char *prefix,
    const struct runtime *runtime, struct buffer *error);
/* True when the user's own headers have that name, in upper or lower case. */
bool dialect_request_has(struct json_object *headers, const char *name);
/* Adds the user's own headers. 0, or -1 with a sentence in `error`. */
int dialect_request_own_headers(
    struct dialect_request *built, struct json_object *headers, struct buffer *error);
/* Writes the body, which it frees, with the user's members `extra` merged in. 0, or -1 with a
 * sentence in `error`. */
int dialect_request_body(struct dialect_request *built, struct json_object *body,
    struct json_object *extra, struct buffer *error);
void dialect_request_clear(struct dialect_request *built);
/* True when the base URL's host is `domain` or below it. */
bool dialect_request_host_is(const char *base_url, const char *domain);

#endif
