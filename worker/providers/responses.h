/*
 * The row of struct api_mode for OpenAI's Responses; Hermes calls the mode codex_responses.
 */
#ifndef HERMES_WORKER_PROVIDERS_RESPONSES_H
#define HERMES_WORKER_PROVIDERS_RESPONSES_H

#include "common/buffer.h"
#include "worker/providers/dialect.h"
#include "worker/providers/provider.h"

extern const struct api_mode api_mode_codex_responses;
extern const struct dialect dialect_responses;

/* As `build` of struct dialect. */
int responses_request_build(
    const struct model_request *request, struct dialect_request *built, struct buffer *error);

#endif
