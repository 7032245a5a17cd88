/*
 * state_overview() for a command.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_QUERY_H
#define HERMES_WORKER_SESSIONS_SESSIONS_QUERY_H

#include "worker/sessions/sessions_database.h"
#include "worker/store/state_overview.h"

/* 0 with *sessions owned by the caller, or -1 after a complaint. */
int sessions_query_run(struct sessions_database *database,
    const struct state_overview_query *query, struct json_object **sessions);
/* The same of one session, listed or not. */
int sessions_query_one(
    struct sessions_database *database, const char *id, struct json_object **entry);

#endif
