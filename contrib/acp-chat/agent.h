/*
 * The agent's process.
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_AGENT_H
#define HERMES_CONTRIB_ACP_CHAT_AGENT_H

#include "common/buffer.h"

#include <stdbool.h>
#include <sys/types.h>

struct agent {
	pid_t pid;    /* 0 = none */
	int to, from; /* its stdin and stdout; non-blocking */
	bool reaped;
	int wait_status;
};

/* Starts it in a process group of its own, so that Ctrl-C does not reach it; stderr is ours.
 * 0, or -1 with the reason in `error`. */
int agent_start(struct agent *agent, char *const *command, struct buffer *error);
/* Looks whether it has ended; true when it has. Never waits. */
bool agent_reap(struct agent *agent);
/* Sends a signal to its process group. */
void agent_signal(const struct agent *agent, int number);
/* How it ended, without a full stop. */
void agent_describe_end(const struct agent *agent, struct buffer *text);

#endif
