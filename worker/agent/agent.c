/*
 * Facts about an agent.
 */
#include <config.h>

#include "worker/agent/agent.h"

#include <string.h>

int64_t
agent_context_tokens(const struct agent *agent)
{
	if (agent->context_tokens > 0)
		return agent->context_tokens;
	return (int64_t)(conversation_characters(agent->conversation) / 4 +
			 (agent->system_prompt != NULL ? strlen(agent->system_prompt) / 4 : 0));
}
