/*
 * The request that the Chat Completions dialect sends: URL, headers and body.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_REQUEST_H
#define HERMES_WORKER_PROVIDERS_CHAT_REQUEST_H

#include "common/buffer.h"
#include "worker/providers/provider.h"

struct chat_request {
	char *url;
	char **headers; /* "Name: value", NULL at the end; one of them holds the key */
	char *body;	/* one JSON object, keys sorted, the same for the same request */
	size_t body_length;
};

/* 0, or -1 with a sentence in `error` (no key in it). The caller clears it in any case. */
int chat_request_build(
    const struct model_request *request, struct chat_request *built, struct buffer *error);
void chat_request_clear(struct chat_request *built);
/* True when the base URL's host is `domain` or below it. */
bool chat_request_host_is(const char *base_url, const char *domain);

#endif
