/*
 * The answer of a Chat Completions server, put together from the events of a stream or from
 * one whole object. Text and thoughts are passed on as they come; calls, reasoning, usage and
 * the reason for the end are kept for the answer. It knows nothing of HTTP.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_ASSEMBLER_H
#define HERMES_WORKER_PROVIDERS_CHAT_ASSEMBLER_H

#include "worker/providers/dialect.h"

struct chat_assembler;

/* `label` names the server in errors; it is copied. */
struct chat_assembler *chat_assembler_new(const char *label, const struct chat_sink *sink);
void chat_assembler_free(struct chat_assembler *assembler);

/* Takes one event of the stream. False when nothing more is wanted: [DONE] or an error. */
bool chat_assembler_event(
    struct chat_assembler *assembler, const char *name, const char *data, size_t length);
/* Takes a whole answer that is no stream. Why it is not JSON, or NULL. */
const char *
chat_assembler_body(struct chat_assembler *assembler, const char *data, size_t length);
/* Passes on what has been collected; to be called after each network read. */
void chat_assembler_flush(struct chat_assembler *assembler);
/* True once a finish reason was seen: only usage can follow. */
bool chat_assembler_finishing(const struct chat_assembler *assembler);

/* Ends the answer: what was held back is passed on, `answer` filled (the caller clears it).
 * With ANSWER_NOTHING and ANSWER_PART it is FINISH_ERROR, and the error is for the caller to
 * set; what there is of calls may be cut off. */
enum answer_state
chat_assembler_end(struct chat_assembler *assembler, struct model_answer *answer);

#endif
