/*
 * Building the request. Messages go out as they were given; the key goes into one header and
 * nowhere else.
 */
#include <config.h>

#include "worker/providers/chat_request.h"
#include "worker/config/runtime.h"
#include "common/alloc.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The host within a URL: after "//" and a possible "user@", before port and path. */
static const char *
url_host(const char *url, size_t *length)
{
	const char *start = strstr(url, "://"), *at;
	size_t authority;

	start = start != NULL ? start + 3 : url;
	authority = strcspn(start, "/?#");
	at = memchr(start, '@', authority);
	if (at != NULL) {
		authority -= (size_t)(at + 1 - start);
		start = at + 1;
	}
	*length = *start == '[' ? strcspn(start, "]") + 1 : strcspn(start, ":/?#");
	if (*length > authority)
		*length = authority;
	return start;
}

bool
chat_request_host_is(const char *base_url, const char *domain)
{
	size_t length, domain_length = strlen(domain);
	const char *host = url_host(base_url, &length);

	if (length < domain_length ||
	    strncasecmp(host + length - domain_length, domain, domain_length) != 0)
		return false;
	return length == domain_length || host[length - domain_length - 1] == '.';
}

/* The endpoint below the base URL, before a query ("?api-version=…") if there is one. */
static char *
build_url(const char *base_url)
{
	size_t length = strcspn(base_url, "?#");
	const char *rest = base_url + length;
	static const char path[] = "/chat/completions";

	while (length > 0 && base_url[length - 1] == '/')
		length--;
	if (length >= sizeof path - 1 &&
	    strncmp(base_url + length - (sizeof path - 1), path, sizeof path - 1) == 0)
		return xasprintf("%.*s%s", (int)length, base_url, rest);
	return xasprintf("%.*s%s%s", (int)length, base_url, path, rest);
}

static void
add_header(struct chat_request *built, const char *name, const char *value)
{
	size_t count = 0;

	while (built->headers != NULL && built->headers[count] != NULL)
		count++;
	built->headers = xreallocarray(built->headers, count + 2, sizeof *built->headers);
	built->headers[count] = xasprintf("%s: %s", name, value);
	built->headers[count + 1] = NULL;
}

static bool
has_header(struct json_object *headers, const char *name)
{
	if (!json_object_is_type(headers, json_type_object))
		return false;
	json_object_object_foreach(headers, key, value)
	{
		(void)value;
		if (strcasecmp(key, name) == 0)
			return true;
	}
	return false;
}

static int
add_own_headers(struct chat_request *built, struct json_object *headers, struct buffer *error)
{
	const char *text;

	if (!json_object_is_type(headers, json_type_object))
		return 0;
	json_object_object_foreach(headers, key, value)
	{
		text = value != NULL ? json_object_get_string(value) : NULL;
		if (text == NULL)
			continue;
		if (key[0] == '\0' || strpbrk(key, ": \t\r\n") != NULL ||
		    strpbrk(text, "\r\n") != NULL) {
			buffer_printf(error,
			    "the configured header \"%.40s\" is not a valid header", key);
			return -1;
		}
		add_header(built, key, text);
	}
	return 0;
}

static int
build_headers(const struct runtime *runtime, struct chat_request *built, struct buffer *error)
{
	const char *key = runtime->api_key;

	add_header(built, "Content-Type", "application/json");
	add_header(built, "Accept", "text/event-stream, application/json");
	if (key != NULL && strpbrk(key, "\r\n") != NULL) {
		buffer_printf(error, "the key for %s holds a line break", runtime->provider);
		return -1;
	}
	if (key != NULL && key[0] != '\0' && !has_header(runtime->headers, "Authorization")) {
		char *bearer = xasprintf("Bearer %s", key);

		add_header(built, "Authorization", bearer);
		explicit_bzero(bearer, strlen(bearer));
		free(bearer);
	}
	if (chat_request_host_is(runtime->base_url, "openrouter.ai")) {
		if (!has_header(runtime->headers, "HTTP-Referer"))
			add_header(
			    built, "HTTP-Referer", "https://hermes-agent.nousresearch.com");
		if (!has_header(runtime->headers, "X-Title"))
			add_header(built, "X-Title", "Hermes Agent");
	}
	return add_own_headers(built, runtime->headers, error);
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
	if (chat_request_host_is(runtime->base_url, "openrouter.ai") ||
	    chat_request_host_is(runtime->base_url, "nousresearch.com")) {
		reasoning = json_object_new_object();
		json_set_boolean(reasoning, "enabled", !off);
		if (!off)
			json_set_text(reasoning, "effort", effort);
		json_set(body, "reasoning", reasoning);
		return;
	}
	if (!chat_request_host_is(runtime->base_url, "api.openai.com") ||
	    is_openai_reasoning(runtime->model))
		json_set_text(body, "reasoning_effort", effort);
}

/* The user's own members win; null takes one out. */
static void
merge_extra(struct json_object *body, struct json_object *extra)
{
	if (!json_object_is_type(extra, json_type_object))
		return;
	json_object_object_foreach(extra, key, value)
	{
		if (value == NULL)
			json_object_object_del(body, key);
		else
			json_set(body, key, json_object_get(value));
	}
}

static struct json_object *
build_body(const struct model_request *request)
{
	const struct runtime *runtime = request->runtime;
	struct json_object *body = json_object_new_object(), *options;
	bool openai = chat_request_host_is(runtime->base_url, "api.openai.com");

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
	merge_extra(body, runtime->extra_body);
	return body;
}

int
chat_request_build(
    const struct model_request *request, struct chat_request *built, struct buffer *error)
{
	const struct runtime *runtime = request->runtime;
	struct buffer text = BUFFER_EMPTY;
	struct json_object *body;

	memset(built, 0, sizeof *built);
	if (runtime->base_url == NULL || runtime->base_url[0] == '\0') {
		buffer_printf(error, "no base URL is known for the provider %s",
		    runtime->provider != NULL ? runtime->provider : "(none)");
		return -1;
	}
	if (runtime->model == NULL || runtime->model[0] == '\0') {
		buffer_printf(error, "no model is chosen for the provider %s",
		    runtime->provider != NULL ? runtime->provider : "(none)");
		return -1;
	}
	built->url = build_url(runtime->base_url);
	if (build_headers(runtime, built, error) == -1)
		return -1;
	body = build_body(request);
	json_append_sorted(&text, body);
	json_object_put(body);
	built->body_length = text.length;
	built->body = buffer_take(&text);
	if (built->body == NULL) {
		buffer_append_text(error, "no memory for a request of this size");
		return -1;
	}
	return 0;
}

void
chat_request_clear(struct chat_request *built)
{
	size_t i;

	for (i = 0; built->headers != NULL && built->headers[i] != NULL; i++) {
		explicit_bzero(built->headers[i], strlen(built->headers[i]));
		free(built->headers[i]);
	}
	free(built->headers);
	free(built->url);
	free(built->body);
	memset(built, 0, sizeof *built);
}
