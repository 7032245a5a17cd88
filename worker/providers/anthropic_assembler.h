/*
 * The answer of a server that speaks the Messages API, put together from the events of a
 * stream or from one whole message. It knows nothing of HTTP.
 */
#ifndef HERMES_WORKER_PROVIDERS_ANTHROPIC_ASSEMBLER_H
#define HERMES_WORKER_PROVIDERS_ANTHROPIC_ASSEMBLER_H

#include "worker/providers/dialect.h"

/* As the functions of struct dialect, which see. */
void *anthropic_assembler_new(const char *label, const struct chat_sink *sink);
void anthropic_assembler_free(void *state);
bool anthropic_assembler_event(void *state, const char *name, const char *data, size_t length);
const char *anthropic_assembler_body(void *state, const char *data, size_t length);
void anthropic_assembler_flush(void *state);
bool anthropic_assembler_finishing(const void *state);
enum answer_state anthropic_assembler_end(void *state, struct model_answer *answer);

#endif
