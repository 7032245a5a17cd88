/*
 * The database for a command that is run in a terminal: nothing is made and nothing moved away,
 * a lock of another process is waited for, and what goes wrong is said with file and reason.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_DATABASE_H
#define HERMES_WORKER_SESSIONS_SESSIONS_DATABASE_H

#include "worker/store/state_queue.h"

#include <stdbool.h>

struct sessions_database;

/* It opens the file with the first job only. NULL after a complaint. */
struct sessions_database *sessions_database_new(void);
void sessions_database_free(struct sessions_database *database);
/* $HERMES_HOME. */
const char *sessions_database_home(const struct sessions_database *database);
const char *sessions_database_path(const struct sessions_database *database);
/* False when nobody has stored a session yet. */
bool sessions_database_exists(const struct sessions_database *database);
/* Runs a job to its end. SQLITE_OK, else its code, after a complaint unless it is
 * SQLITE_NOTFOUND. */
int sessions_database_run(
    struct sessions_database *database, bool write, state_job_run run, void *arg);

#endif
