/*
 * What every worker says whoever owns it: HELLO and LOG.
 */
#ifndef HERMES_SUPERVISOR_WORKER_HELLO_H
#define HERMES_SUPERVISOR_WORKER_HELLO_H

#include <stdbool.h>
#include <stddef.h>

struct worker_process;

/* Checks a HELLO. False when it was wrong; the worker is being ended then. */
bool worker_hello_check(struct worker_process *worker, const void *payload, size_t length);
/* Writes a LOG message to our log. */
void worker_hello_log(struct worker_process *worker, const void *payload, size_t length);

#endif
