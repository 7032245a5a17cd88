/*
 * Sessions as a table for people.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_TABLE_H
#define HERMES_WORKER_SESSIONS_SESSIONS_TABLE_H

#include "worker/sessions/sessions_output.h"

/* Columns of the terminal on `fd`, or of COLUMNS; 0 where there is none, so that lines are
 * as long as they are. */
int sessions_table_width(int fd);
/* Writes `sessions` (of state_overview()) as a table that is `width` columns wide, 0 = as wide
 * as it gets. With a width, ids are shortened to what tells them apart. `sources` adds a column
 * with the source. */
void sessions_table_write(
    struct sessions_output *output, struct json_object *sessions, int width, bool sources);

#endif
