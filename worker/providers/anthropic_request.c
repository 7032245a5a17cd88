/*
 * Building the request of the Messages dialect. What is cached must be marked at places that
 * the next request has again; the marks are at most four, the API's limit.
 */
#include <config.h>

#include "worker/providers/anthropic_request.h"
#include "worker/providers/anthropic_content.h"
#include "worker/providers/anthropic_model.h"
#include "worker/config/runtime.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

#define API_VERSION "2023-06-01"
#define ANSWER_TOKENS_MIN 4096 /* besides those for thinking */
#define BUDGET_MIN 1024	       /* the API's limit */
#define MARKED_MESSAGES 2      /* the newest and the one that was the newest before */

/* The base URL may end in /v1, as for the other dialects, or not, as for Anthropic's own
 * libraries. */
static char *
build_url(const char *base_url)
{
	size_t length = strcspn(base_url, "?#");
	const char *rest = base_url + length;
	char *base, *url;

	while (length > 0 && base_url[length - 1] == '/')
		length--;
	if (length >= 3 && strncmp(base_url + length - 3, "/v1", 3) == 0)
		length -= 3;
	base = xasprintf("%.*s%s", (int)length, base_url, rest);
	url = dialect_request_url(base, "/v1/messages");
	free(base);
	return url;
}

static bool
is_minimax(const char *base_url)
{
	return dialect_request_host_is(base_url, "minimax.io") ||
	       dialect_request_host_is(base_url, "minimaxi.com");
}

/* Tokens of a sign-in; keys of the API begin with sk-ant-api. */
static bool
is_token(const char *key)
{
	return strncmp(key, "sk-ant-oat", 10) == 0 || strncmp(key, "eyJ", 3) == 0;
}

static int
add_key(const struct runtime *runtime, struct dialect_request *built, struct buffer *error)
{
	const char *key = runtime->api_key != NULL ? runtime->api_key : "";

	if (is_token(key) || is_minimax(runtime->base_url))
		return dialect_request_key(built, "Authorization", "Bearer ", runtime, error);
	/* A header of the user's own with a key takes the place of ours. */
	if (dialect_request_has(runtime->headers, "Authorization"))
		return 0;
	return dialect_request_key(built, "x-api-key", "", runtime, error);
}

static void
add_betas(const struct runtime *runtime, struct dialect_request *built)
{
	struct buffer betas = BUFFER_EMPTY;

	if (dialect_request_has(runtime->headers, "anthropic-beta"))
		return;
	buffer_append_text(&betas, "interleaved-thinking-2025-05-14");
	/* MiniMax answers every tool call with an error when it is asked for this. */
	if (!is_minimax(runtime->base_url))
		buffer_append_text(&betas, ",fine-grained-tool-streaming-2025-05-14");
	if (runtime->api_key != NULL && is_token(runtime->api_key) &&
	    dialect_request_host_is(runtime->base_url, "anthropic.com"))
		buffer_append_text(&betas, ",oauth-2025-04-20");
	dialect_request_header(built, "anthropic-beta", buffer_text(&betas));
	buffer_free(&betas);
}

static int
build_headers(
    const struct runtime *runtime, struct dialect_request *built, struct buffer *error)
{
	dialect_request_header(built, "Content-Type", "application/json");
	dialect_request_header(built, "Accept", "text/event-stream, application/json");
	if (!dialect_request_has(runtime->headers, "anthropic-version"))
		dialect_request_header(built, "anthropic-version", API_VERSION);
	add_betas(runtime, built);
	if (add_key(runtime, built, error) == -1)
		return -1;
	return dialect_request_own_headers(built, runtime->headers, error);
}

/* --- the body ---------------------------------------------------------------------------- */

static struct json_object *
last_of(struct json_object *array)
{
	size_t count = json_object_array_length(array);

	return count > 0 ? json_object_array_get_idx(array, count - 1) : NULL;
}

static void
mark(struct json_object *block)
{
	struct json_object *control;

	if (block == NULL)
		return;
	control = json_object_new_object();
	json_set_text(control, "type", "ephemeral");
	json_set(block, "cache_control", control);
}

/* The user's messages end in blocks that may be marked; thinking may not. */
static void
mark_messages(struct json_object *list)
{
	size_t i = json_object_array_length(list), marked = 0;
	struct json_object *message;

	while (i > 0 && marked < MARKED_MESSAGES) {
		message = json_object_array_get_idx(list, --i);
		if (strcmp(json_member_text(message, "role", ""), "user") != 0)
			continue;
		mark(last_of(json_member(message, "content")));
		marked++;
	}
}

static bool
is_type(struct json_object *block, const char *type)
{
	return strcmp(json_member_text(block, "type", ""), type) == 0;
}

/* With a budget, an answer whose calls have just been run must begin with thinking, or the API
 * wants none at all. */
static bool
lacks_thinking(struct json_object *list)
{
	size_t count = json_object_array_length(list);
	struct json_object *results, *blocks, *first;

	if (count < 2)
		return false;
	results = json_member(json_object_array_get_idx(list, count - 1), "content");
	blocks = json_member(json_object_array_get_idx(list, count - 2), "content");
	first = json_object_array_get_idx(blocks, 0);
	return is_type(json_object_array_get_idx(results, 0), "tool_result") &&
	       !is_type(first, "thinking") && !is_type(first, "redacted_thinking");
}

static void
set_budget(struct json_object *body, int64_t most, int64_t *tokens, const char *effort,
    struct json_object *list)
{
	struct json_object *thinking;
	int64_t budget = anthropic_model_budget(effort);

	if (budget > most - ANSWER_TOKENS_MIN)
		budget = most - ANSWER_TOKENS_MIN;
	if (budget < BUDGET_MIN || lacks_thinking(list))
		return;
	thinking = json_object_new_object();
	json_set_text(thinking, "type", "enabled");
	json_set_integer(thinking, "budget_tokens", budget);
	json_set(body, "thinking", thinking);
	if (*tokens < budget + ANSWER_TOKENS_MIN)
		*tokens = budget + ANSWER_TOKENS_MIN;
}

static void
set_adaptive(struct json_object *body, const char *model, const char *effort)
{
	struct json_object *thinking = json_object_new_object();
	struct json_object *output = json_object_new_object();

	json_set_text(thinking, "type", "adaptive");
	/* Newer models leave the text out unless they are asked. */
	json_set_text(thinking, "display", "summarized");
	json_set(body, "thinking", thinking);
	json_set_text(output, "effort", anthropic_model_effort(model, effort));
	json_set(body, "output_config", output);
}

static void
set_thinking(struct json_object *body, const struct runtime *runtime, int64_t most,
    int64_t *tokens, struct json_object *list)
{
	const char *effort = runtime->reasoning_effort;
	struct json_object *thinking;

	if (effort == NULL || effort[0] == '\0')
		return;
	if (strcmp(effort, "none") == 0) {
		if (!anthropic_model_can_disable(runtime->model))
			return;
		thinking = json_object_new_object();
		json_set_text(thinking, "type", "disabled");
		json_set(body, "thinking", thinking);
		return;
	}
	switch (anthropic_model_thinking(runtime->model)) {
	case ANTHROPIC_THINKING_NONE:
		return;
	case ANTHROPIC_THINKING_BUDGET:
		set_budget(body, most, tokens, effort, list);
		return;
	case ANTHROPIC_THINKING_ADAPTIVE:
		set_adaptive(body, runtime->model, effort);
		return;
	}
}

static void
set_tokens(struct json_object *body, const struct runtime *runtime, struct json_object *list)
{
	int64_t most = anthropic_model_output(runtime->model), tokens;

	if (runtime->context_length > 1 && most >= runtime->context_length)
		most = runtime->context_length - 1;
	tokens = runtime->max_tokens > 0 ? runtime->max_tokens : most;
	set_thinking(body, runtime, most, &tokens, list);
	json_set_integer(body, "max_tokens", tokens);
}

static void
set_tools(struct json_object *body, struct json_object *tools)
{
	struct json_object *list;

	if (!json_object_is_type(tools, json_type_array) ||
	    json_object_array_length(tools) == 0)
		return;
	list = anthropic_content_tools(tools);
	mark(last_of(list));
	json_set(body, "tools", list);
}

static struct json_object *
build_body(const struct model_request *request)
{
	const struct runtime *runtime = request->runtime;
	struct json_object *body = json_object_new_object(), *system, *list;
	char *model = anthropic_model_name(runtime->model);

	json_set_text(body, "model", model);
	free(model);
	anthropic_content_build(request->messages, runtime->model, &system, &list);
	mark(last_of(system));
	mark_messages(list);
	if (json_object_array_length(system) > 0)
		json_set(body, "system", system);
	else
		json_object_put(system);
	json_set(body, "messages", list);
	set_tools(body, request->tools);
	set_tokens(body, runtime, list);
	json_set_boolean(body, "stream", true);
	return body;
}

int
anthropic_request_build(
    const struct model_request *request, struct dialect_request *built, struct buffer *error)
{
	const struct runtime *runtime = request->runtime;

	memset(built, 0, sizeof *built);
	if (dialect_request_check(runtime, error) == -1)
		return -1;
	built->url = build_url(runtime->base_url);
	if (build_headers(runtime, built, error) == -1)
		return -1;
	return dialect_request_body(built, build_body(request), runtime->extra_body, error);
}
