/*
 * Work on the database, one job after the other. Writes that wait together share one
 * transaction; where another process holds a lock it is tried again by a timer, so that the
 * loop never waits. The order is kept, and a job's end is told once it is as durable as the
 * disk makes it.
 */
#ifndef HERMES_WORKER_STORE_STATE_QUEUE_H
#define HERMES_WORKER_STORE_STATE_QUEUE_H

#include "worker/store/state_file.h"

#include <stddef.h>

struct event_base;
struct state_queue;

/* Patience of a job, in milliseconds, from the moment it is given (as in Hermes). */
#define STATE_PATIENCE_MESSAGES 60000
#define STATE_PATIENCE_WRITE 20000
#define STATE_PATIENCE_AGAIN                                                                   \
	2000 /* something waits already: nobody waits a minute each time                       \
	      */
#define STATE_PATIENCE_STAMP 500

/* Runs within a transaction: SQLITE_OK to commit; anything else undoes all of it: a busy code
 * or STATE_HELD (it runs once more later, from the beginning), STATE_REFUSED with the reason in
 * `error`, or another code of SQLite. It runs once more also when a neighbour in its
 * transaction failed. It must change nothing but the database and what `arg` says is a result;
 * what an earlier job of the same `state->transaction` has done holds only with it. */
typedef int (*state_job_run)(struct state *state, void *arg, struct buffer *error);
/* `error` is NULL when it is durable; it names the file and the reason otherwise. `code` is
 * the code that the job ended with. Called from the loop or from state_queue_finish(), once. */
typedef void (*state_job_done)(int code, const char *error, void *arg);

/* `state` is borrowed and must live longer. */
struct state_queue *state_queue_new(struct event_base *base, struct state *state);
/* Jobs that are left are dropped; their ends are told with SQLITE_ABORT. */
void state_queue_free(struct state_queue *queue);
struct state *state_queue_state(struct state_queue *queue);

void state_queue_write(struct state_queue *queue, int64_t patience, state_job_run run,
    state_job_done done, void *arg);
/* A read sees one moment of the database, and what was queued before it. */
void state_queue_read(struct state_queue *queue, int64_t patience, state_job_run run,
    state_job_done done, void *arg);
size_t state_queue_length(const struct state_queue *queue);
/* Works off the queue without the loop, for at most `milliseconds`: for the end of a process.
 * Returns how many jobs are left. */
size_t state_queue_finish(struct state_queue *queue, int64_t milliseconds);
/* One job at once, for a process without a loop or a test; `error` as for the callback. */
int state_queue_once(
    struct state *state, bool write, state_job_run run, void *arg, struct buffer *error);

#endif
