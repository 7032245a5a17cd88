/*
 * The state of a conversation, shared by the parts of its course: ending.c, turns.c,
 * opening.c and chat.c, each of which calls only those before it.
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_CHAT_STATE_H
#define HERMES_CONTRIB_ACP_CHAT_CHAT_STATE_H

#include "contrib/acp-chat/agent.h"
#include "contrib/acp-chat/ask.h"
#include "contrib/acp-chat/chat.h"
#include "contrib/acp-chat/connection.h"
#include "contrib/acp-chat/input.h"
#include "contrib/acp-chat/update.h"

#include <event2/event.h>

#include <stdint.h>

enum phase { PHASE_OPENING, PHASE_READY, PHASE_ENDING };

struct waiting_line {
	struct waiting_line *next;
	char *text;
};

struct chat {
	const struct chat_options *options;
	struct event_base *base;
	struct event *signals[4], *ticker, *ender;
	struct agent agent;
	struct connection *connection;
	struct render render;
	struct updates updates;
	struct ask ask;
	struct input *input;
	struct waiting_line *lines;
	struct json_object *sign_in_methods;
	char *session_id;
	enum phase phase;
	const char *step; /* what the agent is asked for while the session opens */
	size_t turns;	  /* prompts that are not answered */
	int status;
	int64_t active_at, cancelled_at; /* 0 = not */
	unsigned end_stage, nonsense;
	bool typing; /* stdin is a terminal */
	bool input_ended, output_ended, warned, hinted;
};

/* Ends the conversation: the loop ends when the agent has gone, or soon after. */
void ending_quit(struct chat *chat, int status);
/* Shows what was printed; ends the conversation when nobody can read it. */
void ending_flush(struct chat *chat);
/* The agent's process or its output may have ended. */
void ending_check(struct chat *chat);
void ending_on_closed(const char *reason, void *arg);
void ending_on_timer(evutil_socket_t fd, short what, void *arg);

/* Sends a prompt, beside a running turn too. */
void turns_prompt(struct chat *chat, const char *text);
/* Goes on when no turn runs: next prompt, or the end. */
void turns_next(struct chat *chat);
void turns_cancel(struct chat *chat);
void turns_on_line(const char *line, void *arg);
/* Shows an error answer and makes it the exit status. */
void turns_fail(struct chat *chat, const char *method, struct json_object *error);

/* Sends initialize and what follows, up to the first prompt. */
void opening_start(struct chat *chat);

#endif
