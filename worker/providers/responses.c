/*
 * The dialect of OpenAI's Responses: which functions it consists of, and nothing else.
 */
#include <config.h>

#include "worker/providers/responses.h"
#include "worker/providers/dialect.h"
#include "worker/providers/responses_assembler.h"
#include "worker/providers/responses_body.h"
#include "worker/providers/responses_input.h"
#include "worker/config/runtime.h"

#include <stdlib.h>
#include <string.h>

int
responses_request_build(
    const struct model_request *request, struct dialect_request *built, struct buffer *error)
{
	const struct runtime *runtime = request->runtime;

	memset(built, 0, sizeof *built);
	if (dialect_request_check(runtime, error) == -1)
		return -1;
	built->url = dialect_request_url(runtime->base_url, "/responses");
	dialect_request_header(built, "Content-Type", "application/json");
	dialect_request_header(built, "Accept", "text/event-stream, application/json");
	if (dialect_request_key(built, "Authorization", "Bearer ", runtime, error) == -1 ||
	    dialect_request_own_headers(built, runtime->headers, error) == -1)
		return -1;
	return dialect_request_body(built, responses_body(request), runtime->extra_body, error);
}

static void *
new_assembler(const char *label, const struct chat_sink *sink)
{
	return responses_assembler_new(label, sink);
}

/* Thoughts are stored with the name of the server that sealed them. */
static void
asked(void *assembler, const struct model_request *request)
{
	char *issuer;

	if (request->runtime->base_url == NULL)
		return;
	issuer = responses_issuer(request->runtime->base_url);
	responses_assembler_issuer(assembler, issuer);
	free(issuer);
}

static void
free_assembler(void *assembler)
{
	responses_assembler_free(assembler);
}

static bool
take_event(void *assembler, const char *name, const char *data, size_t length)
{
	return responses_assembler_event(assembler, name, data, length);
}

static const char *
take_body(void *assembler, const char *data, size_t length)
{
	return responses_assembler_body(assembler, data, length);
}

static void
flush(void *assembler)
{
	responses_assembler_flush(assembler);
}

static bool
is_finishing(const void *assembler)
{
	return responses_assembler_finishing(assembler);
}

static enum answer_state
end(void *assembler, struct model_answer *answer)
{
	return responses_assembler_end(assembler, answer);
}

const struct dialect dialect_responses = {
    .last = "response.completed",
    .build = responses_request_build,
    .assembler_new = new_assembler,
    .asked = asked,
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
	return dialect_start(&dialect_responses, base, request, callbacks, arg);
}

const struct api_mode api_mode_codex_responses = {
    .name = "codex_responses",
    .start = start,
    .pause = dialect_pause,
    .cancel = dialect_free,
    .release = dialect_free,
};
