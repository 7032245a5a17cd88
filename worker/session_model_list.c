/*
 * What the session makes of the list of its provider's server: more to choose from, and the
 * window of its model. The client is told what differs from what it was shown.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/agent/agent_model.h"
#include "worker/config/model_choice.h"
#include "worker/model_watch.h"

#include <stdlib.h>
#include <string.h>

/* The window of the session's model by what is known now. */
static void
take_window(struct worker *worker)
{
	const struct runtime *chosen = &worker->agent.chosen;
	struct buffer ignored = BUFFER_EMPTY;
	struct runtime runtime;

	if (model_choice_restore(worker->configuration, chosen->provider, chosen->model,
		&runtime, &ignored) == 0) {
		if (strcmp(runtime.base_url, chosen->base_url) == 0 &&
		    runtime.context_length != chosen->context_length) {
			agent_set_window(&worker->agent, runtime.context_length);
			session_tell_window(worker);
		}
		runtime_clear(&runtime);
	}
	buffer_free(&ignored);
}

static void
on_changed(void *arg)
{
	struct worker *worker = arg;

	if (worker->ending)
		return;
	take_window(worker);
	session_tell_options(worker);
	session_tell_state(worker);
}

/* A process that another one of the session has left its place to may know more than that. */
static void
tell_missed(struct worker *worker)
{
	char *shown = session_models_shown(worker);

	if (worker->models_shown != NULL && worker->opening == SESSION_OPEN_REVIVE &&
	    strcmp(worker->models_shown, shown) != 0) {
		session_tell_options(worker);
		session_tell_window(worker);
	}
	free(shown);
	free(worker->models_shown);
	worker->models_shown = NULL;
}

void
session_look_for_models(struct worker *worker)
{
	tell_missed(worker);
	if (worker->model_watch == NULL)
		worker->model_watch =
		    model_watch_new(worker->base, worker->configuration, on_changed, worker);
	model_watch_look(worker->model_watch, &worker->agent.chosen);
}
