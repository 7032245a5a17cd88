/*
 * The chain of models. Each is tried once a turn at most. It must never take another model for
 * a failure that is the request's own fault, while the session's model is the one that is used.
 */
#include <config.h>

#include "worker/agent/model_route.h"
#include "worker/config/configuration.h"
#include "worker/config/runtime.h"
#include "worker/providers/provider.h"
#include "common/alloc.h"
#include "common/json.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>

struct model_route {
	struct json_object
	    *entries; /* array of blocks, each with provider or base_url and model */
	size_t place; /* the next entry to be tried */
	size_t failures;
	struct json_object *failed; /* names of those that were asked, as made by name_of() */
	struct buffer told;	    /* one sentence per failure */
};

/* What another model may heal: why, for people. The rest speaks of the request. */
static const struct {
	enum model_error kind;
	const char *why;
} reasons[] = {
    {MODEL_ERROR_CONNECT, "it cannot be reached"},
    {MODEL_ERROR_INTERRUPTED, "its answer was cut off"},
    {MODEL_ERROR_SILENT, "it does not answer"},
    {MODEL_ERROR_AUTH, "its key was refused"},
    {MODEL_ERROR_BILLING, "its account has no credits left"},
    {MODEL_ERROR_RATE_LIMIT, "its rate limit is reached"},
    {MODEL_ERROR_OVERLOADED, "it is overloaded"},
    {MODEL_ERROR_SERVER, "its server has an error"},
};

static const char *
reason_of(enum model_error kind)
{
	size_t i;

	for (i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].kind == kind)
			return reasons[i].why;
	return NULL;
}

struct model_route *
model_route_new(const struct configuration *configuration)
{
	struct model_route *route = xcalloc(1, sizeof *route);

	route->entries = runtime_fallbacks(configuration);
	route->failed = json_object_new_object();
	return route;
}

void
model_route_free(struct model_route *route)
{
	if (route == NULL)
		return;
	json_object_put(route->entries);
	json_object_put(route->failed);
	buffer_free(&route->told);
	free(route);
}

void
model_route_restart(struct model_route *route)
{
	if (route == NULL)
		return;
	route->place = 0;
	route->failures = 0;
	json_object_put(route->failed);
	route->failed = json_object_new_object();
	buffer_clear(&route->told);
}

static void
tell_failure(struct model_route *route, const char *model, const char *by, const char *reason)
{
	size_t length = strlen(reason);

	buffer_printf(&route->told, "%s%s (%s): %s%s", route->failures > 0 ? " Then " : "",
	    model, by, reason, length > 0 && reason[length - 1] == '.' ? "" : ".");
	route->failures++;
}

/* With `key` a model by this very key, else one by whatever key. The caller frees it. */
static char *
name_of(const struct runtime *runtime, bool key)
{
	return xasprintf("%s\n%s\n%s\n%s", runtime->provider, runtime->model, runtime->base_url,
	    key && runtime->api_key != NULL ? runtime->api_key : "");
}

static void
mark_failed(struct model_route *route, const struct runtime *runtime)
{
	char *names[] = {name_of(runtime, false), name_of(runtime, true)};
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		json_set_boolean(route->failed, names[i], true);
		free(names[i]);
	}
}

/* An entry with a key of its own is another than the same model by another key. */
static bool
has_failed(
    const struct model_route *route, const struct runtime *runtime, struct json_object *entry)
{
	char *name = name_of(runtime, json_has(entry, "api_key") || json_has(entry, "key_env"));
	bool found = json_has(route->failed, name);

	free(name);
	return found;
}

/* The next model that can be asked; those that cannot are told of. */
static bool
take_next(struct model_route *route, struct runtime *next)
{
	struct buffer error = BUFFER_EMPTY;
	struct json_object *entry;
	bool found = false;

	while (!found && route->place < json_object_array_length(route->entries)) {
		entry = json_object_array_get_idx(route->entries, route->place++);
		buffer_clear(&error);
		if (runtime_resolve_block(entry, next, &error) == -1) {
			tell_failure(route, json_member_text(entry, "model", "?"),
			    json_member_text(entry, "provider", "no provider"),
			    buffer_text(&error));
		} else if (has_failed(route, next, entry)) {
			runtime_clear(next);
		} else {
			found = true;
		}
	}
	buffer_free(&error);
	return found;
}

bool
model_route_next(struct model_route *route, const struct runtime *failed,
    const struct model_answer *answer, struct runtime *next, struct buffer *notice)
{
	const char *why = reason_of(answer->error);

	/* A rehearsal must call nobody. */
	if (route == NULL || strcmp(failed->provider, "rehearsal") == 0)
		return false;
	/* A fallback that does not know its model, or is too small, is passed over as well. */
	if (why == NULL && route->failures == 0)
		return false;
	if (why == NULL)
		why = "it did not take the request";
	tell_failure(route, failed->model, failed->label,
	    answer->message != NULL ? answer->message : why);
	mark_failed(route, failed);
	if (!take_next(route, next))
		return false;
	buffer_printf(notice, "%s (%s) gave no answer: %s. Going on with %s (%s) in this turn.",
	    failed->model, failed->label, why, next->model, next->label);
	log_warning("model", "%s", buffer_text(notice));
	return true;
}

void
model_route_failures(const struct model_route *route, struct buffer *text)
{
	if (route != NULL && route->failures > 1)
		buffer_append(text, route->told.data, route->told.length);
}
