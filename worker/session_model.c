/*
 * The session's model and how much it thinks: what can be chosen, the switch, and how a choice
 * outlives the process. A choice that cannot be used changes nothing.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/acp/encode_v1.h"
#include "worker/agent/agent_model.h"
#include "worker/agent/system_prompt.h"
#include "worker/config/model_choice.h"
#include "worker/model_watch.h"
#include "worker/supervisor_link.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

#define LEVEL_DEFAULT "default"
#define ROWS_MAX 100 /* that /model lists */

static bool
has_level(struct json_object *levels, const char *level)
{
	size_t count = levels != NULL ? json_object_array_length(levels) : 0, i;

	for (i = 0; i < count; i++)
		if (strcmp(json_object_get_string(json_object_array_get_idx(levels, i)),
			level) == 0)
			return true;
	return false;
}

void
session_options(const struct worker *worker, struct option_values *values)
{
	const struct runtime *runtime = &worker->agent.chosen;
	const char *level = runtime->reasoning_effort;

	memset(values, 0, sizeof *values);
	values->mode = worker->agent.tools.mode;
	values->models = model_choice_list(worker->configuration, runtime);
	values->model =
	    json_member_text(json_object_array_get_idx(values->models, 0), "value", "");
	values->levels = model_choice_levels(runtime);
	values->level = level != NULL && *level != '\0' ? level : LEVEL_DEFAULT;
	/* One of the configuration that the table does not have. */
	if (values->levels != NULL && !has_level(values->levels, values->level))
		json_object_array_add(values->levels, json_new_text(values->level));
}

void
session_options_clear(struct option_values *values)
{
	json_object_put(values->models);
	json_object_put(values->levels);
	memset(values, 0, sizeof *values);
}

void
session_tell_options(struct worker *worker)
{
	struct option_values values;
	struct buffer line = BUFFER_EMPTY;

	session_options(worker, &values);
	encode_v1_options(&line, &values);
	session_options_clear(&values);
	link_send(worker->link, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, line.data, line.length);
	buffer_free(&line);
}

/* The level that the user chose stays where the model has it. */
static void
use_level(const struct worker *worker, struct runtime *runtime)
{
	struct json_object *levels;

	if (worker->level == NULL)
		return;
	levels = model_choice_levels(runtime);
	if (has_level(levels, worker->level)) {
		free(runtime->reasoning_effort);
		runtime->reasoning_effort = xstrdup(worker->level);
	}
	json_object_put(levels);
}

void
session_tell_window(struct worker *worker)
{
	const struct agent *agent = &worker->agent;
	struct buffer line = BUFFER_EMPTY;

	encode_v1_usage(
	    &line, agent_context_tokens(agent), agent->chosen.context_length, &agent->usage);
	link_send(worker->link, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, line.data, line.length);
	buffer_free(&line);
}

/* The choice is in force: the prompt tells the truth, the row and a successor know it, and the
 * client. */
static void
keep_choice(struct worker *worker, bool prompt)
{
	struct agent *agent = &worker->agent;

	worker->model_chosen = true;
	if (prompt && agent->system_prompt != NULL) {
		free(agent->system_prompt);
		agent->system_prompt = system_prompt_build(agent);
	}
	session_tell_state(worker);
	session_save_description(worker);
	session_tell_options(worker);
}

int
session_choose_model(struct worker *worker, const char *name, bool open, struct buffer *error)
{
	const struct runtime *chosen = &worker->agent.chosen;
	struct runtime runtime;
	bool same;

	if (model_choice_resolve(worker->configuration, chosen, name, open, &runtime, error) ==
	    -1)
		return -1;
	same = strcmp(runtime.provider, chosen->provider) == 0 &&
	       strcmp(runtime.model, chosen->model) == 0;
	if (!same) {
		use_level(worker, &runtime);
		agent_choose_model(&worker->agent, &runtime);
		keep_choice(worker, true);
		session_tell_window(worker);
		model_watch_look(worker->model_watch, &worker->agent.chosen);
	}
	runtime_clear(&runtime);
	return 0;
}

/* The level of before the user chose one is the configuration's. */
static char *
configured_level(const struct worker *worker)
{
	const struct runtime *chosen = &worker->agent.chosen;
	struct buffer ignored = BUFFER_EMPTY;
	struct runtime runtime;
	char *level = NULL;

	if (model_choice_restore(worker->configuration, chosen->provider, chosen->model,
		&runtime, &ignored) == 0) {
		level =
		    xstrdup(runtime.reasoning_effort != NULL ? runtime.reasoning_effort : "");
		runtime_clear(&runtime);
	}
	buffer_free(&ignored);
	return level != NULL ? level : xstrdup("");
}

int
session_choose_level(struct worker *worker, const char *level, struct buffer *error)
{
	struct json_object *levels = model_choice_levels(&worker->agent.chosen);
	bool known = has_level(levels, level);
	char *effort;

	json_object_put(levels);
	if (!known) {
		buffer_printf(error, "The model %s has no level of thinking \"%.40s\".",
		    worker->agent.chosen.model, level);
		return -1;
	}
	free(worker->level);
	worker->level = strcmp(level, LEVEL_DEFAULT) == 0 ? NULL : xstrdup(level);
	effort = worker->level != NULL ? xstrdup(level) : configured_level(worker);
	agent_set_effort(&worker->agent, effort);
	free(effort);
	keep_choice(worker, false);
	return 0;
}

/* Why the stored model cannot be used, in `error`; else it is the session's. */
static int
take_back(
    struct worker *worker, struct json_object *config, const char *model, struct buffer *error)
{
	const char *provider = json_member_text(config, "provider", "");
	const char *base = json_member_text(config, "base_url", "");
	struct runtime runtime;

	if (model_choice_restore(worker->configuration, provider, model, &runtime, error) == -1)
		return -1;
	if (strcmp(provider, "custom") == 0 && *base != '\0' &&
	    strcmp(base, runtime.base_url) != 0) {
		buffer_printf(error, "Its endpoint %s is not the configured one.", base);
		runtime_clear(&runtime);
		return -1;
	}
	use_level(worker, &runtime);
	agent_choose_model(&worker->agent, &runtime);
	return 0;
}

static void
restore(struct worker *worker, struct json_object *config, const char *model)
{
	const struct runtime *chosen = &worker->agent.chosen;
	const char *provider = json_member_text(config, "provider", "");
	const char *level = json_member_string(config, "thought_level");
	struct buffer error = BUFFER_EMPTY;

	/* Nobody else is asked while the rehearsal is the model, and no session keeps it. */
	if (*provider == '\0' || *model == '\0' || strcmp(provider, "rehearsal") == 0 ||
	    strcmp(chosen->provider, "rehearsal") == 0)
		return;
	if (level != NULL) {
		free(worker->level);
		worker->level = xstrdup(level);
	}
	if (strcmp(provider, chosen->provider) == 0 && strcmp(model, chosen->model) == 0) {
		use_level(worker, &worker->agent.chosen);
		agent_use_chosen_model(&worker->agent);
	} else if (take_back(worker, config, model, &error) == -1) {
		buffer_printf(&worker->notes,
		    "The model of this session, %s of %s, cannot be used any more: %s It goes "
		    "on with %s.\n",
		    model, provider, buffer_text(&error), chosen->model);
	}
	buffer_free(&error);
}

void
session_take_choice(struct worker *worker, struct json_object *state)
{
	struct json_object *choice = json_member_object(state, "choice");

	if (choice == NULL)
		return;
	worker->model_chosen = true;
	restore(worker, choice, json_member_text(choice, "model", ""));
}

void
session_restore_model(struct worker *worker, struct json_object *session)
{
	if (!worker->model_chosen)
		restore(worker, json_member_object(session, "config"),
		    json_member_text(session, "model", ""));
}

static void
list_models(const struct worker *worker, struct buffer *reply)
{
	struct json_object *rows =
	    model_choice_list(worker->configuration, &worker->agent.chosen);
	size_t count = json_object_array_length(rows), i;

	buffer_append_text(reply, "\nSwitch with `/model NAME`:\n\n");
	for (i = 0; i < count && i < ROWS_MAX; i++)
		buffer_printf(reply, "- `%s`\n",
		    json_member_text(json_object_array_get_idx(rows, i), "value", ""));
	if (count > ROWS_MAX)
		buffer_printf(reply, "- and %zu more\n", count - ROWS_MAX);
	json_object_put(rows);
}

bool
session_on_model(const char *name, struct buffer *reply, void *arg)
{
	struct worker *worker = arg;

	if (*name == '\0') {
		list_models(worker, reply);
		return true;
	}
	return session_choose_model(worker, name, true, reply) == 0;
}
