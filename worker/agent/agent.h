/*
 * The agent of one session: its conversation, its model, its tools and its running turn.
 */
#ifndef HERMES_WORKER_AGENT_AGENT_H
#define HERMES_WORKER_AGENT_AGENT_H

#include "worker/agent/conversation.h"
#include "worker/agent/output.h"
#include "worker/agent/request.h"
#include "worker/agent/usage_total.h"
#include "worker/config/runtime.h"
#include "worker/store/store.h"
#include "worker/tools/tool.h"

#include <stdbool.h>
#include <stdint.h>

struct model_route;
struct model_usage;
struct turn;
struct undo_turn;

struct agent_limits {
	int64_t requests;	   /* model requests in a turn (agent.max_turns, 90) */
	int64_t result_characters; /* of one tool result (as in Hermes: 100,000) */
};

/* Whether a model gets its earlier thoughts back (model.reasoning_echo). */
enum reasoning_echo { REASONING_ECHO_DEFAULT, REASONING_ECHO_OFF, REASONING_ECHO_ON };

struct agent {
	struct event_base *base;
	struct runtime chosen;	   /* the session's model; changed by agent_model.h only */
	struct runtime runtime;	   /* the one that is used now */
	struct model_route *route; /* what is used when that fails; may be NULL */
	struct conversation *conversation;
	struct store *store;
	struct tool_context tools;
	struct agent_limits limits;
	struct output output;
	char *system_prompt; /* built with the first turn */
	struct json_object *tool_list;
	enum reasoning_echo reasoning_echo;
	bool images;			  /* the model takes pictures, as far as we know */
	enum request_reasoning reasoning; /* what is sent back of earlier thoughts */
	struct turn *turn;		  /* the running one, NULL when idle */
	struct undo_turn *undo;		  /* a running /undo, NULL without one */
	bool unsaved;			  /* the user was told that nothing can be saved */
	struct usage_total usage;	  /* of the session */
	int64_t context_tokens;		  /* of the last request and its answer */
	/* One request to `runtime` has ended: it is to be counted; may be NULL. */
	void (*on_usage)(
	    const struct model_usage *usage, const struct runtime *runtime, void *arg);
	/* A turn has ended, was saved and told; may be NULL. */
	void (*on_turn_end)(const struct turn_end *end, void *arg);
	void *on_arg;
	/* The user asks for another model: false with the reason in `reply`, else what is said.
	 * An empty name asks which there are. */
	bool (*on_model)(const char *name, struct buffer *reply, void *arg);
	void *model_arg;
	/* Adds a label to command_allowlist for good. */
	void (*allow_always)(const char *label, void *arg);
	void *allow_arg;
};

/* Tokens in the context now: as the provider told, else estimated at 4 characters each
 * (as in Hermes). */
int64_t agent_context_tokens(const struct agent *agent);

/* Starts a turn with a user message (taken over). Its end is told by output.finished(). */
void turn_start(struct agent *agent, struct json_object *message);
/* Goes on with a turn of a process that died. `text` is what the client has seen of an answer
 * that was not saved, `calls` [{id, started}] the cards that are open. The conversation must
 * have been loaded. */
void
turn_recover(struct agent *agent, const char *text, size_t length, struct json_object *calls);
/* How many pieces of the turn's text the last answer that was saved accounts for. */
uint64_t turn_recover_texts(struct agent *agent);
/* True when the conversation ends with this prompt: a process has saved it and died. */
bool turn_recover_has_prompt(struct agent *agent, struct json_object *prompt);
/* Ends the turn as cancelled; finished() follows, within this call or soon after. */
void turn_cancel(struct agent *agent);
/* What was written could be passed on: the stream goes on. */
void turn_resume(struct agent *agent);
/* Frees a turn without telling anybody: the process ends. */
void turn_abandon(struct agent *agent);
/* Says something in the running turn that the model did not say (a slash command's reply). */
void turn_say(struct agent *agent, const char *text);

#endif
