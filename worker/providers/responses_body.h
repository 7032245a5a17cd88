/*
 * The body of a request in the dialect of OpenAI's Responses.
 */
#ifndef HERMES_WORKER_PROVIDERS_RESPONSES_BODY_H
#define HERMES_WORKER_PROVIDERS_RESPONSES_BODY_H

#include "worker/providers/provider.h"

/* One object, owned by the caller; the same for the same request. */
struct json_object *responses_body(const struct model_request *request);

#endif
