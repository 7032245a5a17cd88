/*
 * What a database needs before it can be used: a new one gets Hermes' layout, an existing one
 * only what we need and it lacks. A version is never lowered, a full-text layout that is not
 * known is never touched, and a table of somebody else's is never changed.
 */
#ifndef HERMES_WORKER_STORE_STATE_SCHEMA_H
#define HERMES_WORKER_STORE_STATE_SCHEMA_H

#include "worker/store/state_sql.h"

enum state_schema_kind {
	STATE_SCHEMA_EMPTY, /* no table of Hermes: state_schema_create() */
	STATE_SCHEMA_OLD, /* a table or column that we need is missing: state_schema_complete()
			   */
	STATE_SCHEMA_READY,
	STATE_SCHEMA_NEWER /* has a column that we could not fill: for reading only */
};

/* Looks at the database without writing. *version is that of schema_version, 0 when there is
 * none. `error` gets the reason for STATE_SCHEMA_NEWER. SQLITE_OK or an extended code. */
int state_schema_look(
    sqlite3 *db, enum state_schema_kind *kind, int *version, struct buffer *error);
/* Makes the whole layout; runs in the caller's transaction. */
int state_schema_create(sqlite3 *db);
/* Adds what is missing; runs in the caller's transaction. */
int state_schema_complete(sqlite3 *db);
/* Before a write: where a full-text table needs a tokenizer that this process does not have,
 * every insert would fail. Its triggers are dropped and fts_cjk_stale is set, so that Hermes
 * rebuilds it. Runs in the caller's transaction. */
int state_schema_prepare_write(sqlite3 *db);

#endif
