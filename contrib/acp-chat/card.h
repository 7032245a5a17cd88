/*
 * The tool calls of a turn, as the agent tells about them piece by piece.
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_CARD_H
#define HERMES_CONTRIB_ACP_CHAT_CARD_H

#include "common/buffer.h"
#include "common/json.h"
#include "contrib/acp-chat/render.h"

struct card {
	struct card *next;
	char *id, *title, *kind, *status;
	struct buffer shown; /* text that was shown */
	char *diffs;	     /* diffs that were shown, as JSON */
	bool announced;	     /* its head was shown */
};

struct cards {
	struct card *first;
};

/* Takes in a tool_call, a tool_call_update or the toolCall of a permission request, and
 * shows what is new in it. */
void cards_update(struct cards *cards, struct render *render, struct json_object *update);
/* The title of a card that is not finished, NULL when there is none; and how many there are. */
const char *cards_running(const struct cards *cards, size_t *count);
void cards_clear(struct cards *cards);
/* Appends the text of a content block, or a word in brackets for one that has none. */
void card_block_text(struct json_object *block, struct buffer *text);

#endif
