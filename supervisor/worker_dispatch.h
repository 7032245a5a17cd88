/*
 * Messages of a session's worker: checked, then one call per message.
 */
#ifndef HERMES_SUPERVISOR_WORKER_DISPATCH_H
#define HERMES_SUPERVISOR_WORKER_DISPATCH_H

struct worker_callbacks;

/* For worker_start() and worker_set_owner(); the argument is the session. */
const struct worker_callbacks *worker_dispatch_callbacks(void);

#endif
