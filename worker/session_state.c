/*
 * What the next process of a session has to know. An idle one gives itself back: what neither
 * the database nor the set-up holds goes to the supervisor and from there to the successor;
 * what cannot be handed over keeps the process alive. Nobody may notice but by the list of
 * processes.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/agent/agent_model.h"
#include "worker/allow_list.h"
#include "worker/store/state_queue.h"
#include "worker/supervisor_link.h"
#include "worker/tools/file_stamps.h"
#include "worker/tools/grants.h"
#include "worker/tools/shell_state.h"
#include "common/alloc.h"
#include "common/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are handed over at most: SESSION_STATE may have 256 KiB. */
#define CARRIED_MAX (240 * 1024)

static struct json_object *
state_of(const struct worker *worker)
{
	struct json_object *state = json_object_new_object();
	char *shown = session_models_shown(worker);

	json_set_text(state, "mode", session_mode_name(worker->agent.tools.mode));
	session_describe_choice(worker, state);
	json_set_boolean(state, "titled", worker->titled);
	json_set_boolean(state, "noted", worker->noted);
	json_set_text(state, "models", shown);
	free(shown);
	return state;
}

void
session_tell_state(struct worker *worker)
{
	struct json_object *state = state_of(worker);

	link_send_json(worker->link, TO_SUPERVISOR_SESSION_STATE, 0, 0, state);
	json_object_put(state);
}

/* Why the process is still needed, NULL when it is not. */
static const char *
reason_to_stay(const struct worker *worker)
{
	const struct agent *agent = &worker->agent;

	if (agent->turn != NULL || agent->undo != NULL)
		return "a turn runs";
	if (worker->title_call != NULL)
		return "the title is being made";
	if (shell_state_running(agent->tools.shell))
		return "a command still runs";
	if (!worker->durable && conversation_length(agent->conversation) > 0)
		return "the conversation is in memory only";
	if (worker->durable && state_queue_length(agent->tools.sessions) > 0)
		return "something is not saved yet";
	/* Those that a successor would find again do not count. */
	if ((worker->noted || worker->store_noted) && worker->notes.length > 0)
		return "the user is to be told something";
	if (allow_list_waits(worker->allowed))
		return "a permission is not saved yet";
	return NULL;
}

/* NULL when something of it cannot be handed over. */
static struct json_object *
carry(const struct worker *worker)
{
	const struct agent *agent = &worker->agent;
	struct json_object *shell = shell_state_describe(agent->tools.shell), *carried;

	if (shell == NULL)
		return NULL;
	carried = json_object_new_object();
	json_set(carried, "shell", shell);
	json_set(carried, "grants", grants_describe(agent->tools.grants));
	json_set(carried, "files", file_stamps_describe(agent->tools.stamps));
	json_set_text(carried, "provider", agent->chosen.provider);
	json_set_text(carried, "model", agent->chosen.model);
	json_set_integer(carried, "contextTokens", agent->context_tokens);
	if (agent->system_prompt != NULL)
		json_set_text(carried, "systemPrompt", agent->system_prompt);
	return carried;
}

/* Hands over what there is; false when it cannot be done. */
static bool
hand_over(struct worker *worker)
{
	struct json_object *state, *carried = carry(worker);
	size_t length;
	bool fits;

	if (carried == NULL)
		return false;
	state = state_of(worker);
	json_set(state, "carried", carried);
	json_text(state, &length);
	fits = length <= CARRIED_MAX;
	if (fits)
		link_send_json(worker->link, TO_SUPERVISOR_SESSION_STATE, 0, 0, state);
	json_object_put(state);
	return fits;
}

bool
session_retire(struct worker *worker)
{
	const char *reason = reason_to_stay(worker);

	if (reason == NULL && !hand_over(worker))
		reason = "there is too much to hand over";
	if (reason == NULL) {
		log_debug("worker", "idle: the process is given back");
		return true;
	}
	log_debug("worker", "idle, but %s", reason);
	link_send(worker->link, TO_SUPERVISOR_BUSY, 0, 0, NULL, 0);
	return false;
}

/* The model of before, as long as its provider is still the one that is configured. */
static void
keep_model(struct worker *worker, struct json_object *carried)
{
	const struct runtime *runtime = &worker->agent.chosen;
	struct runtime other;
	const char *model = json_member_text(carried, "model", "");
	struct buffer error = BUFFER_EMPTY;

	if (strcmp(model, runtime->model) == 0 ||
	    strcmp(json_member_text(carried, "provider", ""), runtime->provider) != 0)
		return;
	if (runtime_resolve(worker->configuration, NULL, model, &other, &error) == 0)
		agent_choose_model(&worker->agent, &other);
	buffer_free(&error);
}

void
session_take_carried(struct worker *worker, struct json_object *carried)
{
	struct agent *agent = &worker->agent;
	const char *prompt = json_member_string(carried, "systemPrompt");

	if (carried == NULL)
		return;
	worker->carried = true;
	if (worker->opening != SESSION_OPEN_REVIVE)
		return; /* the client opens it as it was stored */
	keep_model(worker, carried);
	if (shell_state_restore(agent->tools.shell, worker->scratch,
		json_member_object(carried, "shell")) == -1)
		log_warning("worker", "the exports of the session's commands are lost: %s",
		    strerror(errno));
	grants_restore(agent->tools.grants, json_member_object(carried, "grants"));
	file_stamps_restore(agent->tools.stamps, json_member_array(carried, "files"));
	json_member_integer(carried, "contextTokens", &agent->context_tokens);
	if (prompt != NULL)
		agent->system_prompt = xstrdup(prompt);
}
