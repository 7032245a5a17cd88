/*
 * The system prompt: who the agent is, where it works, the project's own notes, and what was
 * remembered of earlier sessions.
 */
#ifndef HERMES_WORKER_AGENT_SYSTEM_PROMPT_H
#define HERMES_WORKER_AGENT_SYSTEM_PROMPT_H

struct agent;

/* Builds the prompt of a session. The caller frees it. */
char *system_prompt_build(const struct agent *agent);

#endif
