/*
 * The answer of a Chat Completions server, put together from the events of a stream or from
 * one whole object. Text and thoughts are passed on as they come; calls, reasoning, usage and
 * the reason for the end are kept for the answer. It knows nothing of HTTP.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_ASSEMBLER_H
#define HERMES_WORKER_PROVIDERS_CHAT_ASSEMBLER_H

#include "worker/providers/dialect.h"

/* As the functions of struct dialect, which see. */
void *chat_assembler_new(const char *label, const struct chat_sink *sink);
void chat_assembler_free(void *state);
bool chat_assembler_event(void *state, const char *name, const char *data, size_t length);
const char *chat_assembler_body(void *state, const char *data, size_t length);
void chat_assembler_flush(void *state);
bool chat_assembler_finishing(const void *state);
enum answer_state chat_assembler_end(void *state, struct model_answer *answer);

#endif
