/*
 * One worker process: started, spoken to, stopped, and over only when both its socket has
 * ended and its exit status is in.
 */
#ifndef HERMES_SUPERVISOR_WORKER_PROCESS_H
#define HERMES_SUPERVISOR_WORKER_PROCESS_H

#include "common/exit_cause.h"
#include "common/frame.h"
#include "common/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct event_base;
struct worker_process;
struct worker_list;

struct worker_callbacks {
	/* A message of the right direction, size and generation. */
	void (*message)(struct worker_process *worker, const struct frame_header *header,
	    const void *payload, size_t length, void *arg);
	/* The worker is over; `cause` is one sentence. It is freed after the callback. */
	void (*gone)(struct worker_process *worker, const char *cause, void *arg);
};

/* How long a worker may take, in milliseconds (ARCHITECTURE.md, stop times). */
#define WORKER_SETUP_MS 5000
#define WORKER_CANCEL_ANSWER_MS 250
#define WORKER_CANCEL_TERM_MS 1000
#define WORKER_CANCEL_KILL_MS 3000
#define WORKER_RETIRE_MS 3000
#define WORKER_STOP_TERM_MS 1000
#define WORKER_STOP_KILL_MS 3000
#define WORKER_SHUTDOWN_KILL_MS 700

/* `one_gone` is called after a worker was freed. */
struct worker_list *worker_list_new(
    struct event_base *base, const char *path, void (*one_gone)(void *arg), void *arg);
/* Kills and reaps what is left. */
void worker_list_free(struct worker_list *list);
size_t worker_list_count(const struct worker_list *list);
/* Starts a worker. NULL with errno when it could not be started. `role` is "--session" or
 * "--catalogue". */
struct worker_process *worker_start(struct worker_list *list, const char *role,
    const struct worker_callbacks *callbacks, void *arg);
/* Gives a worker to another owner: a spare becomes a session's. */
void worker_set_owner(
    struct worker_process *worker, const struct worker_callbacks *callbacks, void *arg);

/* Sends a message; -1 when the worker is not to be reached any more. */
int worker_send(struct worker_process *worker, enum message_type type, uint32_t request,
    uint32_t turn, const void *payload, size_t length);
/* Makes the worker read its socket at once. */
void worker_poke(struct worker_process *worker);
pid_t worker_pid(const struct worker_process *worker);
/* Asks it to end: message, then TERM and KILL after the given times; the first cause that is
 * given stays. A time of 0 means now. */
void worker_stop(
    struct worker_process *worker, enum stop_cause cause, int64_t term_ms, int64_t kill_ms);
/* No message of it counts any more; it is killed, and `cause` with `text` is why. */
void worker_reject(struct worker_process *worker, enum stop_cause cause, const char *text);
/* It broke the rules. */
void worker_violation(struct worker_process *worker, const char *text);
bool worker_stopping(const struct worker_process *worker);
/* Why it was asked to end; STOP_NONE when nobody did. */
enum stop_cause worker_cause(const struct worker_process *worker);
/* Pauses or resumes reading from every worker. */
void worker_list_pause(struct worker_list *list, bool pause);
void worker_list_stop_all(
    struct worker_list *list, enum stop_cause cause, int64_t term_ms, int64_t kill_ms);

#endif
