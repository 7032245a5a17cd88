/*
 * A turn that another process began: what of it is left to do.
 */
#ifndef HERMES_WORKER_AGENT_TURN_RECOVER_H
#define HERMES_WORKER_AGENT_TURN_RECOVER_H

#include "worker/agent/turn_internal.h"

enum recover_next {
	RECOVER_REQUEST, /* the model is asked (again) */
	RECOVER_CALLS,	 /* turn->batch holds calls that did not run yet */
	RECOVER_DONE	 /* only its end was not told */
};

/* Brings the conversation into a state to go on from. `text`: what the client has seen of an
 * answer that was not saved. `calls`: [{id, started}] of the cards that are open. */
enum recover_next turn_recover_prepare(
    struct turn *turn, const char *text, size_t length, struct json_object *calls);

#endif
