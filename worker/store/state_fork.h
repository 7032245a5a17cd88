/*
 * A session under a new id that begins with another one's messages. Rows are copied, never
 * shared, and the source is only read.
 */
#ifndef HERMES_WORKER_STORE_STATE_FORK_H
#define HERMES_WORKER_STORE_STATE_FORK_H

#include "worker/store/state_file.h"

/* Makes session `id` in folder `cwd` from the messages of `source` up to its last complete
 * exchange: never a prompt without its answer, never a part of the results of one answer, and
 * nothing of a turn that runs. The source may be another program's; the copy is ours. Model,
 * mode and options are the source's. *copied is the number of messages. Runs inside a job;
 * SQLITE_NOTFOUND when there is no such source (nothing is written), STATE_REFUSED when `id`
 * exists. */
int state_fork(struct state *state, const char *source, const char *id, const char *cwd,
    int64_t *copied, struct buffer *error);

#endif
