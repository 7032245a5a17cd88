/*
 * What is asked of a Responses server. It stores nothing: all that it needs to know is in
 * each request, sealed thoughts included. A member that some servers refuse is sent only to
 * those that are known to take it.
 */
#include <config.h>

#include "worker/providers/responses_body.h"
#include "worker/providers/responses_input.h"
#include "worker/config/endpoint.h"
#include "worker/config/runtime.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_KEY_MAX 64

/* What is known of the server and the model. */
struct traits {
	bool openai;	   /* api.openai.com */
	bool xai;	   /* it says of itself how much it thinks, and refuses to be told */
	bool openai_model; /* one of OpenAI's that think, wherever it runs */
};

static struct traits
traits_of(const struct runtime *runtime)
{
	const char *name = strrchr(runtime->model, '/');
	char host[ENDPOINT_HOST_SIZE];
	struct traits traits;

	name = name != NULL ? name + 1 : runtime->model;
	endpoint_host(runtime->base_url, host);
	traits.openai = endpoint_host_within(host, "api.openai.com");
	traits.xai = endpoint_host_within(host, "x.ai");
	traits.openai_model = (name[0] == 'o' && name[1] >= '1' && name[1] <= '9') ||
			      (strncmp(name, "gpt-", 4) == 0 && name[4] >= '5' &&
				  name[4] <= '9' && strstr(name, "-chat") == NULL) ||
			      strstr(name, "codex") != NULL;
	return traits;
}

/* Efforts that a server does not know, and the nearest below that it does. */
static const struct {
	const char *effort, *openai, *xai;
} efforts[] = {
    {"none", "none", NULL},
    {"minimal", "minimal", "low"},
    {"xhigh", "xhigh", "high"},
    {"max", "xhigh", "high"},
    {"ultra", "xhigh", "high"},
};

/* NULL: not sent. */
static const char *
effort_of(const struct runtime *runtime, const struct traits *traits)
{
	const char *effort = runtime->reasoning_effort;
	size_t i;

	if (effort == NULL || effort[0] == '\0')
		return NULL;
	for (i = 0; i < sizeof efforts / sizeof efforts[0]; i++)
		if (strcmp(efforts[i].effort, effort) == 0 && (traits->openai || traits->xai))
			return traits->xai ? efforts[i].xai : efforts[i].openai;
	return effort;
}

/* Thoughts: how many, a summary for the user, and the sealed form for the next request. */
static void
set_reasoning(
    struct json_object *body, const struct runtime *runtime, const struct traits *traits)
{
	const char *effort = effort_of(runtime, traits);
	bool wanted = effort != NULL;
	struct json_object *reasoning, *include;

	if (!traits->openai_model && !traits->xai && (!wanted || traits->openai))
		return;
	reasoning = json_object_new_object();
	if (wanted)
		json_set_text(reasoning, "effort", effort);
	if (!traits->xai)
		json_set_text(reasoning, "summary", "auto");
	if (json_object_object_length(reasoning) > 0)
		json_set(body, "reasoning", reasoning);
	else
		json_object_put(reasoning);
	include = json_object_new_array();
	json_object_array_add(include, json_new_text("reasoning.encrypted_content"));
	json_set(body, "include", include);
}

/* A tool without its wrapper. Unless told otherwise the schema would be a strict one, in which
 * every property is required. */
static struct json_object *
flat_tool(struct json_object *tool)
{
	struct json_object *function = json_member_object(tool, "function");
	struct json_object *flat = json_object_new_object();

	if (function != NULL) {
		json_object_object_foreach(function, key, value)
		{
			json_set(flat, key, json_object_get(value));
		}
	}
	json_set_text(flat, "type", "function");
	if (!json_has(flat, "strict"))
		json_set_boolean(flat, "strict", false);
	return flat;
}

static void
set_tools(struct json_object *body, struct json_object *tools)
{
	struct json_object *list;
	size_t count, i;

	count =
	    json_object_is_type(tools, json_type_array) ? json_object_array_length(tools) : 0;
	if (count == 0)
		return;
	list = json_object_new_array();
	for (i = 0; i < count; i++)
		json_object_array_add(list, flat_tool(json_object_array_get_idx(tools, i)));
	json_set(body, "tools", list);
}

static void
set_conversation(
    struct json_object *body, const struct model_request *request, bool openai_model)
{
	char *issuer = responses_issuer(request->runtime->base_url);
	struct responses_echo echo = {.issuer = issuer, .phase = openai_model};
	struct buffer instructions = BUFFER_EMPTY;

	json_set(body, "input", responses_input(request->messages, &echo, &instructions));
	if (instructions.length > 0)
		json_set(body, "instructions",
		    json_new_bytes(instructions.data, instructions.length));
	buffer_free(&instructions);
	free(issuer);
}

struct json_object *
responses_body(const struct model_request *request)
{
	const struct runtime *runtime = request->runtime;
	struct json_object *body = json_object_new_object(), *options;
	struct traits traits = traits_of(runtime);

	json_set_text(body, "model", runtime->model);
	set_conversation(body, request, traits.openai_model);
	set_tools(body, request->tools);
	json_set_boolean(body, "store", false);
	json_set_boolean(body, "stream", true);
	if (traits.openai) {
		/* Padding against listeners, which doubles the stream. */
		options = json_object_new_object();
		json_set_boolean(options, "include_obfuscation", false);
		json_set(body, "stream_options", options);
	}
	if (runtime->max_tokens > 0)
		json_set_integer(body, "max_output_tokens", runtime->max_tokens);
	if (request->session_id != NULL && request->session_id[0] != '\0' &&
	    strlen(request->session_id) <= CACHE_KEY_MAX)
		json_set_text(body, "prompt_cache_key", request->session_id);
	set_reasoning(body, runtime, &traits);
	return body;
}
