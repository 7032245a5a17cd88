/*
 * Building the request. Messages go out as they were given; nothing is added that a server
 * may refuse.
 */
#include <config.h>

#include "worker/providers/chat_request.h"
#include "worker/config/runtime.h"
#include "common/json.h"

#include <string.h>

static int
build_headers(
    const struct runtime *runtime, struct dialect_request *built, struct buffer *error)
{
	dialect_request_header(built, "Content-Type", "application/json");
	dialect_request_header(built, "Accept", "text/event-stream, application/json");
	if (dialect_request_key(built, "Authorization", "Bearer ", runtime, error) == -1)
		return -1;
	if (dialect_request_host_is(runtime->base_url, "openrouter.ai")) {
		if (!dialect_request_has(runtime->headers, "HTTP-Referer"))
			dialect_request_header(
			    built, "HTTP-Referer", "https://hermes-agent.nousresearch.com");
		if (!dialect_request_has(runtime->headers, "X-Title"))
			dialect_request_header(built, "X-Title", "Hermes Agent");
	}
	return dialect_request_own_headers(built, runtime->headers, error);
}

/* Models of OpenAI's own endpoint that take an effort; others refuse the member. */
static bool
is_openai_reasoning(const char *model)
{
	return (model[0] == 'o' && model[1] >= '1' && model[1] <= '9') ||
	       strncmp(model, "gpt-5", 5) == 0 || strstr(model, "codex") != NULL;
}

static void
set_effort(struct json_object *body, const struct runtime *runtime)
{
	const char *effort = runtime->reasoning_effort;
	struct json_object *reasoning;
	bool off;

	if (effort == NULL || effort[0] == '\0')
		return;
	off = strcmp(effort, "none") == 0;
	if (dialect_request_host_is(runtime->base_url, "openrouter.ai") ||
	    dialect_request_host_is(runtime->base_url, "nousresearch.com")) {
		reasoning = json_object_new_object();
		json_set_boolean(reasoning, "enabled", !off);
		if (!off)
			json_set_text(reasoning, "effort", effort);
		json_set(body, "reasoning", reasoning);
		return;
	}
	if (!dialect_request_host_is(runtime->base_url, "api.openai.com") ||
	    is_openai_reasoning(runtime->model))
		json_set_text(body, "reasoning_effort", effort);
}

static struct json_object *
build_body(const struct model_request *request)
{
	const struct runtime *runtime = request->runtime;
	struct json_object *body = json_object_new_object(), *options;
	bool openai = dialect_request_host_is(runtime->base_url, "api.openai.com");

	json_set_text(body, "model", runtime->model);
	json_set(body, "messages", json_object_get(request->messages));
	if (json_object_is_type(request->tools, json_type_array) &&
	    json_object_array_length(request->tools) > 0)
		json_set(body, "tools", json_object_get(request->tools));
	json_set_boolean(body, "stream", true);
	options = json_object_new_object();
	json_set_boolean(options, "include_usage", true);
	json_set(body, "stream_options", options);
	if (runtime->max_tokens > 0)
		json_set_integer(
		    body, openai ? "max_completion_tokens" : "max_tokens", runtime->max_tokens);
	set_effort(body, runtime);
	return body;
}

int
chat_request_build(
    const struct model_request *request, struct dialect_request *built, struct buffer *error)
{
	const struct runtime *runtime = request->runtime;

	memset(built, 0, sizeof *built);
	if (dialect_request_check(runtime, error) == -1)
		return -1;
	built->url = dialect_request_url(runtime->base_url, "/chat/completions");
	if (build_headers(runtime, built, error) == -1)
		return -1;
	return dialect_request_body(built, build_body(request), runtime->extra_body, error);
}
