/*
 * The request that the Chat Completions dialect sends: URL, headers and body.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_REQUEST_H
#define HERMES_WORKER_PROVIDERS_CHAT_REQUEST_H

#include "worker/providers/dialect_request.h"
#include "worker/providers/provider.h"

/* 0, or -1 with a sentence in `error` (no key in it). The caller clears it in any case. */
int chat_request_build(
    const struct model_request *request, struct dialect_request *built, struct buffer *error);

#endif
