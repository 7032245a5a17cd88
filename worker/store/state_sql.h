/*
 * Statements in one line each, and what SQLite's result codes mean in words. Values are
 * always bound, never put into the text of a statement.
 */
#ifndef HERMES_WORKER_STORE_STATE_SQL_H
#define HERMES_WORKER_STORE_STATE_SQL_H

#include "common/buffer.h"
#include "common/json.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* A result code of ours, above SQLite's: nothing is wrong with the database, but what was asked
 * is refused; the reason stands in the error text. Extended codes of SQLite stay below it. */
#define STATE_REFUSED 0x1000000
/* A job's own: another process has what it needs, perhaps not for long. */
#define STATE_HELD 0x2000000

/* `types` has one letter per value: t = const char * (NULL is null), b = const char *, size_t
 * (text that may hold NUL bytes; NULL is null), i = int64_t, r = double.
 * The caller finalizes the statement; NULL on error (sqlite3_extended_errcode() tells). Texts
 * are borrowed until then. */
sqlite3_stmt *state_sql_prepare(sqlite3 *db, const char *sql, const char *types, ...);
/* Runs a statement that gives no rows; SQLITE_OK or an extended result code. */
int state_sql_run(sqlite3 *db, const char *sql, const char *types, ...);
/* The first column of the first row: SQLITE_ROW, SQLITE_DONE (no row, *value untouched), or an
 * error. The text is the caller's, NULL for null. */
int state_sql_integer(sqlite3 *db, int64_t *value, const char *sql, const char *types, ...);
int state_sql_text(sqlite3 *db, char **value, const char *sql, const char *types, ...);
/* The current row as an object: column name → string, number, or absent when null. Owned by
 * the caller. */
struct json_object *state_sql_row(sqlite3_stmt *statement);
/* Column `index` as bytes; NULL when null. Valid until the next step. */
const char *state_sql_bytes(sqlite3_stmt *statement, int index, size_t *length);

/* Somebody else holds a lock: by result code, never by text. */
bool state_sql_is_busy(int code);
/* Appends one sentence without a full stop that names the file and the reason. `db` may be
 * NULL. */
void state_sql_explain(struct buffer *error, sqlite3 *db, int code, const char *path);
/* Seconds since the epoch, as the database keeps time. */
double state_sql_now(void);

#endif
