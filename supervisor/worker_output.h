/*
 * What a worker writes to its standard error: lines for the log.
 */
#ifndef HERMES_SUPERVISOR_WORKER_OUTPUT_H
#define HERMES_SUPERVISOR_WORKER_OUTPUT_H

#include <sys/types.h>

struct event_base;
struct worker_output;

/* Takes over `fd`. */
struct worker_output *worker_output_new(struct event_base *base, int fd, pid_t pid);
/* Reads what is there now: the last words of a dead worker. */
void worker_output_drain(struct worker_output *output);
void worker_output_free(struct worker_output *output);

#endif
