/*
 * Asking for /models. The key goes to the host of the runtime's base URL and nowhere else; what
 * comes back is bounded and believed in nothing but ids and sizes.
 */
#include <config.h>

#include "worker/providers/model_list.h"
#include "worker/config/model_cache.h"
#include "worker/config/runtime.h"
#include "worker/providers/dialect_request.h"
#include "worker/providers/http.h"
#include "common/alloc.h"
#include "common/buffer.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MAX ((size_t)2 << 20)
#define MODELS_MAX 2000

struct model_list_call {
	struct http_transfer *transfer;
	struct buffer body;
	bool too_much;
	void (*done)(const struct model_list_answer *answer, void *arg);
	void *arg;
};

static void
on_data(const char *bytes, size_t length, void *arg)
{
	struct model_list_call *call = arg;

	call->too_much = call->too_much || call->body.length + length > BODY_MAX;
	if (!call->too_much)
		buffer_append(&call->body, bytes, length);
}

/* What a model can hold, by the first of the names that servers use. */
static int64_t
context_of(struct json_object *model)
{
	static const struct {
		const char *block, *name;
	} places[] = {{NULL, "loaded_context_length"}, {NULL, "context_length"},
	    {NULL, "context_window"}, {NULL, "max_model_len"}, {NULL, "max_context_length"},
	    {NULL, "max_input_tokens"}, {"top_provider", "context_length"}};
	struct json_object *block;
	int64_t tokens;
	size_t i;

	for (i = 0; i < sizeof places / sizeof *places; i++) {
		block = places[i].block != NULL ? json_member_object(model, places[i].block)
						: model;
		if (json_member_integer(block, places[i].name, &tokens) && tokens > 0 &&
		    tokens <= INT32_MAX)
			return tokens;
	}
	return 0;
}

/* NULL when the answer is no list. */
static struct json_object *
read_models(const struct buffer *body)
{
	const char *reason;
	struct json_object *value = json_parse(buffer_text(body), body->length, &reason);
	struct json_object *list = json_member_array(value, "data"), *models, *model, *entry;
	const char *id;
	size_t i;

	if (list == NULL)
		list = json_member_array(value, "models");
	models = list != NULL ? json_object_new_array() : NULL;
	for (i = 0; list != NULL && i < json_object_array_length(list) && i < MODELS_MAX; i++) {
		model = json_object_array_get_idx(list, i);
		id = json_member_text(model, "id", "");
		if (!model_cache_name_fits(id))
			continue;
		entry = json_object_new_object();
		json_set_text(entry, "id", id);
		json_set_integer(entry, "context_length", context_of(model));
		json_object_array_add(models, entry);
	}
	json_object_put(value);
	return models;
}

static const char *
judge(struct model_list_call *call, struct model_list_answer *answer)
{
	if (answer->status == 401 || answer->status == 403)
		return "the server does not accept the key";
	if (answer->status < 200 || answer->status > 299)
		return "the server answered with an error";
	if (call->too_much)
		return "the list of models is too long";
	answer->models = read_models(&call->body);
	return answer->models != NULL ? NULL : "the answer is not a list of models";
}

static void
on_finished(enum http_end end, const char *message, void *arg)
{
	struct model_list_call *call = arg;
	struct model_list_answer answer = {.status = http_status(call->transfer)};

	answer.error = end == HTTP_END_DONE ? judge(call, &answer) : message;
	buffer_free(&call->body);
	call->done(&answer, call->arg);
	json_object_put(answer.models);
}

/* The Messages API has its own address and headers. */
static int
build(struct dialect_request *built, const struct runtime *runtime, struct buffer *error)
{
	bool messages = strcmp(runtime->api_mode, "anthropic_messages") == 0;
	bool token =
	    runtime->api_key != NULL && strncmp(runtime->api_key, "sk-ant-oat", 10) == 0;

	if (dialect_request_check(runtime, error) == -1)
		return -1;
	built->url = dialect_request_url(
	    runtime->base_url, messages ? "/v1/models?limit=1000" : "/models");
	if (messages)
		dialect_request_header(built, "anthropic-version", "2023-06-01");
	if (dialect_request_own_headers(built, runtime->headers, error) == -1)
		return -1;
	return messages && !token
		   ? dialect_request_key(built, "x-api-key", "", runtime, error)
		   : dialect_request_key(built, "Authorization", "Bearer ", runtime, error);
}

struct model_list_call *
model_list_start(struct event_base *base, const struct runtime *runtime, int64_t timeout_ms,
    void (*done)(const struct model_list_answer *answer, void *arg), void *arg)
{
	static const struct http_handlers handlers = {on_data, on_finished};
	struct model_list_call *call = xcalloc(1, sizeof *call);
	struct dialect_request built = {0};
	struct http_request request = {.ca_file = runtime->ca_file,
	    .method = "GET",
	    .connect_timeout_ms = timeout_ms,
	    .total_timeout_ms = timeout_ms};
	struct buffer error = BUFFER_EMPTY;

	call->done = done;
	call->arg = arg;
	if (build(&built, runtime, &error) == -1) {
		call->transfer = http_fail(base, buffer_text(&error), &handlers, call);
	} else {
		request.url = built.url;
		request.headers = (const char *const *)built.headers;
		call->transfer = http_start(base, &request, &handlers, call);
	}
	dialect_request_clear(&built);
	buffer_free(&error);
	return call;
}

void
model_list_free(struct model_list_call *call)
{
	if (call == NULL)
		return;
	http_free(call->transfer);
	buffer_free(&call->body);
	free(call);
}
