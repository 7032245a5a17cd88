/*
 * Sessions of other programs on the same database (the command line of Hermes, its gateways).
 * They are read and never written: what goes on here goes on in a copy.
 */
#ifndef HERMES_WORKER_STORE_STATE_FOREIGN_H
#define HERMES_WORKER_STORE_STATE_FOREIGN_H

#include "worker/store/state_file.h"

/* The id of the copy in which a session of another source goes on, whether it is there yet or
 * not; *copy is the caller's. NULL for a session of our own and for one that is not there. Runs
 * inside a job and gives its result code. */
int state_foreign_copy_id(struct state *state, const char *session, char **copy);

#endif
