/*
 * The struct that the files of the SQLite backend share.
 */
#ifndef HERMES_WORKER_STORE_STORE_SQLITE_PRIVATE_H
#define HERMES_WORKER_STORE_STORE_SQLITE_PRIVATE_H

#include "worker/store/state_queue.h"
#include "worker/store/store_operation.h"
#include "worker/store/store_sqlite.h"

#include <sys/queue.h>

struct event;

struct kept_operation {
	TAILQ_ENTRY(kept_operation) entry;
	struct store_operation operation;
};

struct store_sqlite {
	struct store store;
	struct state *state;
	struct state_queue *queue;
	struct store_session_info info;
	char *holder;
	struct store_place place; /* as of what has lasted */
	/* As of the verbs that ran in transaction `staged_in`, which is not committed yet. */
	struct store_place staged;
	unsigned staged_in;
	struct event *renew;				 /* of the lease, while a turn runs */
	TAILQ_HEAD(kept_list, kept_operation) left_over; /* could not be saved yet, in order */
	bool closing;					 /* nobody is called back any more */
	bool forgotten; /* nothing is saved any more at the end */
};

#endif
