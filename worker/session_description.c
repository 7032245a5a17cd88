/*
 * What the row of a session in the database tells about it, and what a successor has to know of
 * its model.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/config/live_models.h"
#include "worker/store/state_hash.h"
#include "worker/store/state_queue.h"
#include "worker/store/store_sqlite.h"
#include "worker/supervisor_link.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

/* The folders beside the first; null when there are none, which takes away what is stored. */
static struct json_object *
additional_directories(const struct worker *worker)
{
	struct json_object *list;
	size_t i;

	if (worker->roots == NULL || worker->roots[0] == NULL || worker->roots[1] == NULL)
		return NULL;
	list = json_object_new_array();
	for (i = 1; worker->roots[i] != NULL; i++)
		json_object_array_add(list, json_new_text(worker->roots[i]));
	return list;
}

void
session_describe(const struct worker *worker, struct store_session_info *info)
{
	const struct runtime *runtime = &worker->agent.chosen;

	memset(info, 0, sizeof *info);
	info->session_id = worker->session_id;
	info->cwd = worker->cwd;
	info->model = runtime->model;
	info->provider = runtime->provider;
	info->base_url = runtime->base_url;
	info->api_mode = runtime->api_mode;
	info->system_prompt = worker->agent.system_prompt;
	info->config = json_object_new_object();
	json_set_text(info->config, "mode", session_mode_name(worker->agent.tools.mode));
	json_set(info->config, "thought_level",
	    worker->level != NULL ? json_new_text(worker->level) : NULL);
	json_set(info->config, "additional_directories", additional_directories(worker));
}

void
session_describe_choice(const struct worker *worker, struct json_object *state)
{
	struct json_object *choice;

	if (!worker->model_chosen)
		return;
	choice = json_object_new_object();
	json_set_text(choice, "provider", worker->agent.chosen.provider);
	json_set_text(choice, "model", worker->agent.chosen.model);
	json_set_text(choice, "base_url", worker->agent.chosen.base_url);
	if (worker->level != NULL)
		json_set_text(choice, "thought_level", worker->level);
	json_set(state, "choice", choice);
}

char *
session_models_shown(const struct worker *worker)
{
	const struct runtime *chosen = &worker->agent.chosen;
	struct json_object *models =
	    live_models_list(worker->configuration, chosen->provider, chosen->base_url);
	char hash[STATE_HASH_SIZE] = "";
	const char *text;
	size_t length;

	if (models != NULL) {
		text = json_text(models, &length);
		state_hash(text, length, hash);
	}
	return xstrdup(hash);
}

void
session_save_description(struct worker *worker)
{
	struct store_session_info info;

	if (!worker->durable)
		return;
	session_describe(worker, &info);
	store_sqlite_describe(worker->agent.store, &info, NULL, NULL);
	json_object_put(info.config);
}

struct answer {
	struct worker *worker;
	uint32_t request;
	struct buffer payload;
};

static int
run_nothing(struct state *state, void *arg, struct buffer *error)
{
	(void)state;
	(void)arg;
	(void)error;
	return SQLITE_OK;
}

static void
on_reached(int code, const char *error, void *arg)
{
	struct answer *answer = arg;

	(void)error;
	if (code != SQLITE_ABORT)
		link_send(answer->worker->link, TO_SUPERVISOR_RESPONSE, answer->request, 0,
		    answer->payload.data, answer->payload.length);
	buffer_free(&answer->payload);
	free(answer);
}

void
session_answer_saved(struct worker *worker, uint32_t request, const char *json, size_t length)
{
	struct answer *answer;

	if (!worker->durable) {
		link_send(worker->link, TO_SUPERVISOR_RESPONSE, request, 0, json, length);
		return;
	}
	answer = xcalloc(1, sizeof *answer);
	answer->worker = worker;
	answer->request = request;
	buffer_append(&answer->payload, json, length);
	state_queue_read(worker->agent.tools.sessions, STATE_PATIENCE_WRITE, run_nothing,
	    on_reached, answer);
}
