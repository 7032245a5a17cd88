/*
 * Facts about a stored session as a model is told them. It only reads.
 */
#ifndef HERMES_WORKER_STORE_STATE_FACTS_H
#define HERMES_WORKER_STORE_STATE_FACTS_H

#include "worker/store/state_sql.h"

/* Sets "when" it began (local time, "March 05, 2026 at 04:10 PM"), "source", "model" and
 * "title" of a session; *known is false when there is none. SQLITE_OK or an error. */
int state_facts_add(sqlite3 *db, const char *session, struct json_object *object, bool *known);
/* Sets "link" to `link` with the id behind it. */
void state_facts_link(struct json_object *object, const char *link, const char *session);
/* Sets `key` to a text column of the current row. */
void state_facts_column(
    struct json_object *object, const char *key, sqlite3_stmt *statement, int column);

#endif
