/*
 * Permission: the agent asks, the user answers. No is the default everywhere.
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_ASK_H
#define HERMES_CONTRIB_ACP_CHAT_ASK_H

#include "common/json.h"
#include "contrib/acp-chat/render.h"

enum ask_policy {
	ASK_USER,
	ASK_YES,   /* the first allow_once without a question */
	ASK_NO,	   /* the reject without a question */
	ASK_NOBODY /* there is nobody to ask: reject, and say so */
};

/* Sends the answer: `outcome` is taken over. */
typedef void (*ask_answer)(struct json_object *id, struct json_object *outcome, void *arg);

struct question;

struct ask {
	struct render *render;
	enum ask_policy policy;
	ask_answer answer;
	void *arg;
	struct question *first; /* the one that is shown */
};

/* Takes in a request whose tool call was shown already. */
void ask_add(struct ask *ask, struct json_object *id, struct json_object *params);
/* True when a line of input is awaited. */
bool ask_waits(const struct ask *ask);
/* The user's line, without newline; NULL = there will be no answer. */
void ask_line(struct ask *ask, const char *line);
/* Answers all open questions with "cancelled". */
void ask_cancel(struct ask *ask);
/* Forgets the question with this id; false when there is none. */
bool ask_withdraw(struct ask *ask, struct json_object *id);

#endif
