/*
 * One message as the columns of its row, and back. It knows the names of columns and how a
 * value is kept in each; it runs no statement.
 */
#ifndef HERMES_WORKER_STORE_STATE_ROW_H
#define HERMES_WORKER_STORE_STATE_ROW_H

#include "worker/store/state_sql.h"

#include <stddef.h>

/* Columns of a message that a row is written from, in the order of binding. */
#define STATE_ROW_COLUMNS 15

/* Name of column `index`. */
const char *state_row_column(size_t index);
/* Binds the columns to parameters first … first + STATE_ROW_COLUMNS - 1. `partial` and
 * `unknown` are the marks of state_messages.h. SQLITE_OK or an error. */
int state_row_bind(sqlite3_stmt *statement, int first, struct json_object *message,
    bool partial, bool unknown);
/* Makes a message from columns first … of the current row. NULL with a constant reason when
 * the row cannot be read. */
struct json_object *state_row_message(sqlite3_stmt *statement, int first, const char **reason);
/* Number of tool calls that a message has. */
size_t state_row_calls(struct json_object *message);
/* Decodes a content column: text, or the parts after the prefix. NULL with a reason when it
 * is not readable; NULL without one for null. */
struct json_object *state_row_content(const char *text, size_t length, const char **reason);

#endif
