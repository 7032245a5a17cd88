/*
 * What the agent reports during a turn (session/update).
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_UPDATE_H
#define HERMES_CONTRIB_ACP_CHAT_UPDATE_H

#include "common/json.h"
#include "contrib/acp-chat/card.h"
#include "contrib/acp-chat/render.h"

struct updates {
	struct render *render;
	struct cards cards;
	char *message_id;    /* of the text that is streamed */
	bool commands_shown; /* the list of slash commands */
	bool show_commands;  /* whether it is wanted at all */
};

/* Shows one update; of an unknown kind it says nothing. */
void update_show(struct updates *updates, struct json_object *update);
/* The turn has ended. */
void update_end_turn(struct updates *updates);

#endif
