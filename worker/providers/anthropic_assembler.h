/*
 * The answer of a server that speaks the Messages API, put together from the events of a
 * stream or from one whole message. It knows nothing of HTTP.
 */
#ifndef HERMES_WORKER_PROVIDERS_ANTHROPIC_ASSEMBLER_H
#define HERMES_WORKER_PROVIDERS_ANTHROPIC_ASSEMBLER_H

#include "worker/providers/dialect.h"

struct anthropic_assembler;

/* As the functions of struct dialect, which see. */
struct anthropic_assembler *
anthropic_assembler_new(const char *label, const struct chat_sink *sink);
void anthropic_assembler_free(struct anthropic_assembler *assembler);
bool anthropic_assembler_event(
    struct anthropic_assembler *assembler, const char *name, const char *data, size_t length);
const char *anthropic_assembler_body(
    struct anthropic_assembler *assembler, const char *data, size_t length);
void anthropic_assembler_flush(struct anthropic_assembler *assembler);
bool anthropic_assembler_finishing(const struct anthropic_assembler *assembler);
enum answer_state
anthropic_assembler_end(struct anthropic_assembler *assembler, struct model_answer *answer);

#endif
