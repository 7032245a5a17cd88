/*
 * The check that talks to the configured server. It asks for the list of models, which costs
 * nothing, and never for an answer of a model.
 */
#include <config.h>

#include "worker/check_online.h"

#include "worker/config/runtime.h"
#include "worker/providers/model_list.h"
#include "common/json.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#define TIMEOUT_MS 15000

struct probe {
	FILE *out;
	struct event_base *base;
	const struct runtime *runtime;
	int64_t started;
	int problems;
};

static void
say(struct probe *probe, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One line, without secrets. */
static void
say(struct probe *probe, const char *format, ...)
{
	struct buffer text = BUFFER_EMPTY;
	va_list arguments;

	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	if (text.data != NULL)
		secret_mask(text.data);
	fputs(buffer_text(&text), probe->out);
	buffer_free(&text);
}

static struct json_object *
find_model(struct json_object *models, const char *id)
{
	size_t i;

	for (i = 0; i < json_object_array_length(models); i++)
		if (strcmp(json_member_text(json_object_array_get_idx(models, i), "id", ""),
			id) == 0)
			return json_object_array_get_idx(models, i);
	return NULL;
}

static void
say_model(struct probe *probe, struct json_object *models)
{
	struct json_object *model = find_model(models, probe->runtime->model);
	int64_t told = 0;

	if (model == NULL) {
		say(probe,
		    "problem  model: %s is not among the %zu models of the server; correct "
		    "model.default in config.yaml\n",
		    probe->runtime->model, json_object_array_length(models));
		probe->problems++;
		return;
	}
	say(probe, "ok       model: %s is among the %zu models of the server\n",
	    probe->runtime->model, json_object_array_length(models));
	json_member_integer(model, "context_length", &told);
	if (told > 0 && told < probe->runtime->context_length)
		say(probe,
		    "note     context: the server tells %" PRId64 " tokens, %" PRId64
		    " are used; set model.context_length\n",
		    told, probe->runtime->context_length);
	else
		say(probe, "ok       context: %" PRId64 " tokens\n",
		    probe->runtime->context_length);
}

static void
on_answer(const struct model_list_answer *answer, void *arg)
{
	struct probe *probe = arg;
	int64_t milliseconds = monotonic_ms() - probe->started;
	/* Some servers have no list. */
	bool absent = answer->status == 404 || answer->status == 405 || answer->status == 501;

	if (answer->models != NULL) {
		say(probe, "ok       server: %s answered in %" PRId64 " ms%s\n",
		    probe->runtime->base_url, milliseconds,
		    probe->runtime->api_key != NULL ? ", the key is accepted" : "");
		say_model(probe, answer->models);
	} else if (absent) {
		say(probe,
		    "note     server: %s answered in %" PRId64
		    " ms and has no list of models; key and model were not checked\n",
		    probe->runtime->base_url, milliseconds);
	} else {
		say(probe, "problem  server: %s: %s", probe->runtime->base_url, answer->error);
		if (answer->status != 0)
			say(probe, " (HTTP status %d)", answer->status);
		say(probe, "\n");
		probe->problems++;
	}
	event_base_loopbreak(probe->base);
}

static int
ask(FILE *out, const struct runtime *runtime)
{
	struct probe probe = {.out = out, .runtime = runtime};
	struct model_list_call *call;

	signal(SIGPIPE, SIG_IGN);
	probe.base = event_base_new();
	if (probe.base == NULL)
		return 1;
	probe.started = monotonic_ms();
	call = model_list_start(probe.base, runtime, TIMEOUT_MS, on_answer, &probe);
	event_base_dispatch(probe.base);
	model_list_free(call);
	return probe.problems > 0 ? 1 : 0;
}

int
check_online(FILE *out)
{
	struct configuration *configuration = configuration_load();
	struct buffer error = BUFFER_EMPTY;
	struct runtime runtime;
	int status = 1; /* check_run() has told why there is none */

	if (runtime_resolve(configuration, NULL, NULL, &runtime, &error) == 0) {
		if (strcmp(runtime.provider, "rehearsal") == 0)
			status = 0;
		else
			status = ask(out, &runtime);
		runtime_clear(&runtime);
	}
	configuration_free(configuration);
	buffer_free(&error);
	return status;
}
