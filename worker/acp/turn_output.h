/*
 * The agent's events on their way to the supervisor.
 */
#ifndef HERMES_WORKER_ACP_TURN_OUTPUT_H
#define HERMES_WORKER_ACP_TURN_OUTPUT_H

#include "worker/agent/output.h"

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct permission_list;
struct supervisor_link;
struct turn_output;

struct turn_output *
turn_output_new(struct supervisor_link *link, struct permission_list *permissions);
void turn_output_free(struct turn_output *self);
/* The callbacks for an agent. */
struct output turn_output_callbacks(struct turn_output *self);
/* A turn begins, or is gone on with: what is sent from now on carries its number. `texts`: TEXT
 * messages of it that the client has seen. */
void turn_output_begin(struct turn_output *self, uint32_t turn, uint64_t texts);
/* The turn was abandoned: nobody waits for anything any more. `self` may be NULL. */
void turn_output_forget(struct turn_output *self);
/* The client shows this card already: a process that died in the turn has opened it. */
void turn_output_open_card(struct turn_output *self, const char *call_id);
/* The running turn, 0 when none. */
uint32_t turn_output_turn(const struct turn_output *self);
/* The socket has taken what waited. */
void turn_output_drained(struct turn_output *self);

#endif
