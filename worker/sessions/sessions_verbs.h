/*
 * What `hermes-acp sessions` can do, one function for each command. They give the exit status.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_VERBS_H
#define HERMES_WORKER_SESSIONS_SESSIONS_VERBS_H

#include "worker/sessions/sessions_database.h"
#include "worker/sessions/sessions_options.h"

int sessions_list(struct sessions_database *database, const struct sessions_options *options);
int sessions_show(struct sessions_database *database, const struct sessions_options *options);
int sessions_export(struct sessions_database *database, const struct sessions_options *options);
int sessions_delete(struct sessions_database *database, const struct sessions_options *options);
int sessions_prune(struct sessions_database *database, const struct sessions_options *options);

#endif
