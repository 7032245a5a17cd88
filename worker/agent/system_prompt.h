/*
 * The system prompt: who the agent is, where it works, the project's own notes, and what was
 * remembered of earlier sessions.
 */
#ifndef HERMES_WORKER_AGENT_SYSTEM_PROMPT_H
#define HERMES_WORKER_AGENT_SYSTEM_PROMPT_H

#include <stdbool.h>

struct agent;

/* Builds the prompt of a session. The caller frees it. */
char *system_prompt_build(const struct agent *agent);
/* True when this prompt of an earlier process still tells the truth about folders and model. It
 * is used again then, to the letter: what a provider has cached of the conversation counts. */
bool system_prompt_fits(const struct agent *agent, const char *prompt);

#endif
