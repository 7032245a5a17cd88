/*
 * The dialect of OpenAI's Chat Completions, which most servers speak: which functions it
 * consists of, and nothing else.
 */
#include <config.h>

#include "worker/providers/chat_completions.h"
#include "worker/providers/chat_assembler.h"
#include "worker/providers/chat_request.h"
#include "worker/providers/dialect.h"

static void *
new_assembler(const char *label, const struct chat_sink *sink)
{
	return chat_assembler_new(label, sink);
}

static void
free_assembler(void *assembler)
{
	chat_assembler_free(assembler);
}

static bool
take_event(void *assembler, const char *name, const char *data, size_t length)
{
	return chat_assembler_event(assembler, name, data, length);
}

static const char *
take_body(void *assembler, const char *data, size_t length)
{
	return chat_assembler_body(assembler, data, length);
}

static void
flush(void *assembler)
{
	chat_assembler_flush(assembler);
}

static bool
is_finishing(const void *assembler)
{
	return chat_assembler_finishing(assembler);
}

static enum answer_state
end(void *assembler, struct model_answer *answer)
{
	return chat_assembler_end(assembler, answer);
}

static const struct dialect dialect = {
    .last = "a finish reason",
    .build = chat_request_build,
    .assembler_new = new_assembler,
    .assembler_free = free_assembler,
    .event = take_event,
    .body = take_body,
    .flush = flush,
    .finishing = is_finishing,
    .end = end,
};

static void *
start(struct event_base *base, const struct model_request *request,
    const struct model_callbacks *callbacks, void *arg)
{
	return dialect_start(&dialect, base, request, callbacks, arg);
}

const struct api_mode api_mode_chat_completions = {
    .name = "chat_completions",
    .start = start,
    .pause = dialect_pause,
    .cancel = dialect_free,
    .release = dialect_free,
};
