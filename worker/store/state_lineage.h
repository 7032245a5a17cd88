/*
 * Which sessions belong to one conversation: each knows its parent. It only reads.
 */
#ifndef HERMES_WORKER_STORE_STATE_LINEAGE_H
#define HERMES_WORKER_STORE_STATE_LINEAGE_H

#include "worker/store/state_sql.h"

/* The first session of the conversation that `session` belongs to; `session` itself when its
 * row or that of a parent is missing. SQLITE_OK with *root owned by the caller, or an error. */
int state_lineage_root(sqlite3 *db, const char *session, char **root);
/* True when what was said in the session is not in the context of the one that follows: it was
 * summed up, or the next began anew. A branch has all of it. */
int state_lineage_is_past(sqlite3 *db, const char *session, bool *past);

#endif
