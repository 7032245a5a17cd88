/*
 * A conversation with an agent, from its start to its end.
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_CHAT_H
#define HERMES_CONTRIB_ACP_CHAT_CHAT_H

#include "contrib/acp-chat/ask.h"

#include <stdbool.h>

/* Exit statuses that tell how the last turn ended; others are in common/exit_cause.h. */
enum {
	CHAT_END_TURN = 0,
	CHAT_ERROR = 1,
	CHAT_MAX_TOKENS = 2,
	CHAT_MAX_TURN_REQUESTS = 3,
	CHAT_REFUSAL = 4,
	CHAT_CANCELLED = 5
};

struct chat_options {
	char *const *command; /* the agent; ends with NULL */
	const char *folder;   /* absolute */
	const char *prompt;   /* the only one, or NULL to read prompts from stdin */
	const char *auth;     /* way to sign in, or NULL */
	enum ask_policy policy;
	bool verbose;
};

/* Returns the exit status. */
int chat_run(const struct chat_options *options);

#endif
