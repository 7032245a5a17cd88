/*
 * Who runs a turn in a session now: one process at a time, across all programs that share the
 * database. A lease that has run out, or whose holder is dead on this machine, counts for
 * nothing.
 */
#ifndef HERMES_WORKER_STORE_STATE_LEASE_H
#define HERMES_WORKER_STORE_STATE_LEASE_H

#include "worker/store/state_file.h"

#include <stddef.h>

/* How long a lease lasts without being renewed. */
#define STATE_LEASE_SECONDS 120

/* The text that stands for this process; the caller frees it. */
char *state_lease_holder(void);
/* The holder that keeps `holder` out, or NULL in *other; the caller frees it. */
int
state_lease_other(struct state *state, const char *session, const char *holder, char **other);
/* Takes or renews it; STATE_REFUSED with a reason when somebody else has it. */
int state_lease_take(
    struct state *state, const char *session, const char *holder, struct buffer *error);
/* Gives it back; does nothing when it is somebody else's. */
int state_lease_drop(struct state *state, const char *session, const char *holder);
/* Takes a lease away that state_lease_other() has found to count for nothing. */
int state_lease_clear(struct state *state, const char *session);
/* True in *running when any turn runs in the session, ours included. */
int state_lease_running(struct state *state, const char *session, bool *running);

#endif
