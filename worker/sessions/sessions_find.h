/*
 * The session that a person means.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_FIND_H
#define HERMES_WORKER_SESSIONS_SESSIONS_FIND_H

#include "worker/sessions/sessions_database.h"

/* The whole id of the session whose id is `text` or alone begins with it (at least 8
 * characters); NULL after a complaint that names `text`. Sessions of other programs count only
 * with `all_sources`. The caller frees it. */
char *sessions_find(struct sessions_database *database, const char *text, bool all_sources);
/* The source to ask the store for; NULL = every one. */
const char *sessions_find_source(bool all_sources);

#endif
