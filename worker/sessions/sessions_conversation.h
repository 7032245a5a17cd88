/*
 * One stored session: what it is and what was said in it, read at one moment of the database.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_CONVERSATION_H
#define HERMES_WORKER_SESSIONS_SESSIONS_CONVERSATION_H

#include "worker/sessions/sessions_database.h"
#include "common/json.h"

struct sessions_conversation {
	/* {"sessionId", "title", "cwd", "source", "model", "createdAt", "updatedAt", "messages"
	 * (all from state_overview.h), "provider", "mode", "parentSessionId", "endedAt",
	 * "endReason", "holder" (whose turn runs; these where there are any), "prompts",
	 * "toolCalls", "requests", "tokens": {"input", "output", "cacheRead", "cacheWrite",
	 * "reasoning"}, "costUsd", "_started", "_updated"} */
	struct json_object *session;
	/* As of state_messages_load_whole(). */
	struct json_object *messages;
};

/* 0, or -1 after a complaint. Clear it in both cases. */
int sessions_conversation_read(struct sessions_database *database, const char *id,
    struct sessions_conversation *conversation);
void sessions_conversation_clear(struct sessions_conversation *conversation);

#endif
