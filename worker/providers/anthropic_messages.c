/*
 * The dialect of Anthropic's Messages API: which functions it
 * consists of, and nothing else.
 */
#include <config.h>

#include "worker/providers/anthropic_messages.h"
#include "worker/providers/anthropic_assembler.h"
#include "worker/providers/anthropic_request.h"

const struct dialect dialect_anthropic_messages = {
    .last = "a stop reason",
    .build = anthropic_request_build,
    .assembler_new = anthropic_assembler_new,
    .assembler_free = anthropic_assembler_free,
    .event = anthropic_assembler_event,
    .body = anthropic_assembler_body,
    .flush = anthropic_assembler_flush,
    .finishing = anthropic_assembler_finishing,
    .end = anthropic_assembler_end,
};

static void *
start(struct event_base *base, const struct model_request *request,
    const struct model_callbacks *callbacks, void *arg)
{
	return dialect_start(&dialect_anthropic_messages, base, request, callbacks, arg);
}

const struct api_mode api_mode_anthropic_messages =
    DIALECT_API_MODE("anthropic_messages", start);
