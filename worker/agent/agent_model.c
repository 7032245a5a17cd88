/*
 * The agent's two runtimes, and what of its requests depends on the model: pictures, earlier
 * thoughts. What was learned of one model (it takes no pictures) must not hold for the next.
 */
#include <config.h>

#include "worker/agent/agent.h"
#include "worker/agent/agent_model.h"
#include "worker/config/credential_pool.h"
#include "worker/config/model_table.h"
#include "common/alloc.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>

/* What the configuration says about earlier thoughts, else what the provider wants. */
static enum request_reasoning
reasoning_of(const struct agent *agent, const struct runtime *runtime)
{
	enum request_reasoning normal =
	    request_reasoning_default(runtime->provider, runtime->api_mode);

	switch (agent->reasoning_echo) {
	case REASONING_ECHO_OFF:
		return REQUEST_REASONING_NONE;
	case REASONING_ECHO_ON:
		/* These two are the only form in which their dialects take any. */
		return normal == REQUEST_REASONING_BLOCKS || normal == REQUEST_REASONING_ITEMS
			   ? normal
			   : REQUEST_REASONING_ALL;
	case REASONING_ECHO_DEFAULT:
		break;
	}
	return normal;
}

static bool
is_same_model(const struct runtime *one, const struct runtime *other)
{
	return one->provider != NULL && strcmp(one->provider, other->provider) == 0 &&
	       strcmp(one->model, other->model) == 0 &&
	       strcmp(one->base_url, other->base_url) == 0 &&
	       strcmp(one->api_mode, other->api_mode) == 0;
}

void
agent_use_model(struct agent *agent, const struct runtime *runtime)
{
	const struct model_row *row;
	struct runtime copy;

	if (!is_same_model(&agent->runtime, runtime)) {
		row = model_table_find(runtime->provider, runtime->model);
		agent->images = row == NULL || row->images;
		agent->reasoning = reasoning_of(agent, runtime);
	}
	runtime_copy(&copy, runtime); /* may be the agent's own */
	runtime_clear(&agent->runtime);
	agent->runtime = copy;
}

bool
agent_uses_model(const struct agent *agent, const struct runtime *runtime)
{
	return is_same_model(&agent->runtime, runtime);
}

void
agent_use_chosen_model(struct agent *agent)
{
	agent_use_model(agent, &agent->chosen);
}

void
agent_set_window(struct agent *agent, int64_t tokens)
{
	agent->chosen.context_length = tokens;
	if (is_same_model(&agent->runtime, &agent->chosen))
		agent->runtime.context_length = tokens;
}

static void
set_effort(struct runtime *runtime, const char *level)
{
	free(runtime->reasoning_effort);
	runtime->reasoning_effort = xstrdup(level);
}

void
agent_set_effort(struct agent *agent, const char *level)
{
	if (is_same_model(&agent->runtime, &agent->chosen))
		set_effort(&agent->runtime, level);
	set_effort(&agent->chosen, level);
}

/* That the next session does not learn of this one is no harm. */
void
agent_note_credential(const struct agent *agent)
{
	const struct runtime *runtime = &agent->chosen;
	struct buffer error = BUFFER_EMPTY;

	if (credential_pool_taken(runtime->pool, runtime->credential, &error) == -1)
		log_info("model", "the choice of a key is not saved: %s", buffer_text(&error));
	buffer_free(&error);
}

void
agent_keep_credential(struct agent *agent, const struct runtime *used)
{
	struct runtime *runtime = &agent->runtime;

	if (used->pool != NULL && used->pool == runtime->pool &&
	    used->credential != runtime->credential)
		runtime_use_credential(runtime, used->credential);
}

void
agent_choose_model(struct agent *agent, struct runtime *runtime)
{
	runtime_clear(&agent->chosen);
	agent->chosen = *runtime;
	memset(runtime, 0, sizeof *runtime);
	agent_use_chosen_model(agent);
}

void
agent_clear_models(struct agent *agent)
{
	runtime_clear(&agent->runtime);
	runtime_clear(&agent->chosen);
}
