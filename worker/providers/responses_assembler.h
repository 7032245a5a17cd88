/*
 * The answer of a Responses server, put together from the events of a stream or from one whole
 * object. Text and thoughts are passed on as they come; calls, sealed thoughts, usage and the
 * end are kept for the answer. It knows nothing of HTTP.
 */
#ifndef HERMES_WORKER_PROVIDERS_RESPONSES_ASSEMBLER_H
#define HERMES_WORKER_PROVIDERS_RESPONSES_ASSEMBLER_H

#include "worker/providers/chat_output.h"
#include "worker/providers/dialect.h"
#include "worker/providers/provider.h"

struct responses_assembler;

/* Who seals the thoughts (responses_issuer()); stored with them. It is copied. */
void responses_assembler_issuer(struct responses_assembler *assembler, const char *issuer);

/* As the functions of struct dialect, which see. */
void *responses_assembler_new(const char *label, const struct chat_sink *sink);
void responses_assembler_free(void *state);
bool responses_assembler_event(void *state, const char *name, const char *data, size_t length);
const char *responses_assembler_body(void *state, const char *data, size_t length);
void responses_assembler_flush(void *state);
bool responses_assembler_finishing(const void *state);
enum answer_state responses_assembler_end(void *state, struct model_answer *answer);

#endif
