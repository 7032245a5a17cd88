/*
 * The dialect of OpenAI's Chat Completions, which most servers speak: which functions it
 * consists of, and nothing else.
 */
#include <config.h>

#include "worker/providers/chat_completions.h"
#include "worker/providers/chat_assembler.h"
#include "worker/providers/chat_request.h"

const struct dialect dialect_chat_completions = {
    .last = "a finish reason",
    .build = chat_request_build,
    .assembler_new = chat_assembler_new,
    .assembler_free = chat_assembler_free,
    .event = chat_assembler_event,
    .body = chat_assembler_body,
    .flush = chat_assembler_flush,
    .finishing = chat_assembler_finishing,
    .end = chat_assembler_end,
};

static void *
start(struct event_base *base, const struct model_request *request,
    const struct model_callbacks *callbacks, void *arg)
{
	return dialect_start(&dialect_chat_completions, base, request, callbacks, arg);
}

const struct api_mode api_mode_chat_completions = DIALECT_API_MODE("chat_completions", start);
