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

const struct dialect dialect_codex_responses = {
    .last = "response.completed",
    .build = responses_request_build,
    .assembler_new = responses_assembler_new,
    .asked = asked,
    .assembler_free = responses_assembler_free,
    .event = responses_assembler_event,
    .body = responses_assembler_body,
    .flush = responses_assembler_flush,
    .finishing = responses_assembler_finishing,
    .end = responses_assembler_end,
};

static void *
start(struct event_base *base, const struct model_request *request,
    const struct model_callbacks *callbacks, void *arg)
{
	return dialect_start(&dialect_codex_responses, base, request, callbacks, arg);
}

const struct api_mode api_mode_codex_responses = DIALECT_API_MODE("codex_responses", start);
