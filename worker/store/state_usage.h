/*
 * What a session has used: tokens and money, in its row and per model.
 */
#ifndef HERMES_WORKER_STORE_STATE_USAGE_H
#define HERMES_WORKER_STORE_STATE_USAGE_H

#include "worker/store/state_file.h"
#include "worker/store/store_session.h"

/* Adds to the session's counters and to its row for the model; runs inside a job. Does nothing
 * where the session has no row. */
int state_usage_add(struct state *state, const char *id, const struct store_usage *usage);

#endif
