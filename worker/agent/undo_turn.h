/*
 * /undo as a turn without the model: shows what it would do, asks, does it, reports, and
 * leaves a note in the conversation, so that the model knows of it.
 */
#ifndef HERMES_WORKER_AGENT_UNDO_TURN_H
#define HERMES_WORKER_AGENT_UNDO_TURN_H

#include "worker/agent/agent.h"

struct undo_turn;

/* Begins with a prompt `/undo …`; its end is told by output.finished(). `blocks`: the prompt,
 * borrowed. */
void undo_turn_start(struct agent *agent, const char *argument, struct json_object *blocks);
/* Ends the turn as cancelled, unless the files are being written. */
void undo_turn_cancel(struct agent *agent);
/* Frees it without telling anybody. */
void undo_turn_abandon(struct agent *agent);
/* True when the open calls are those of an /undo whose process died: closes its card, tells
 * what is known of it, and ends the turn. */
bool undo_turn_recover(struct agent *agent, struct json_object *calls);

#endif
