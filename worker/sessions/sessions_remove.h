/*
 * Removing a stored session, one transaction for each.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_REMOVE_H
#define HERMES_WORKER_SESSIONS_SESSIONS_REMOVE_H

#include "worker/sessions/sessions_database.h"

enum sessions_removal {
	SESSIONS_REMOVED,
	SESSIONS_REMOVE_NOTHING, /* it is gone, or has been used meanwhile */
	SESSIONS_REMOVE_FAILED /* after a complaint: a turn runs in it, or the database fails */
};

/* `idle_since` not 0: only when it has not been active since, as in state_overview.h. */
enum sessions_removal sessions_remove(
    struct sessions_database *database, const char *id, bool all_sources, double idle_since);

#endif
