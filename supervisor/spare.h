/*
 * A worker kept ready, so that session/new costs a message and not a start.
 */
#ifndef HERMES_SUPERVISOR_SPARE_H
#define HERMES_SUPERVISOR_SPARE_H

#include <stdbool.h>

struct event_base;
struct spare;
struct worker_callbacks;
struct worker_list;
struct worker_process;

struct spare *spare_new(struct event_base *base, struct worker_list *list);
void spare_free(struct spare *spare);
/* Starts one soon if there is none. */
void spare_prepare(struct spare *spare);
/* No further ones: the program ends. */
void spare_stop(struct spare *spare);
/* A worker for a session: the spare, or a fresh one. `*hello` tells whether it has said HELLO
 * already. NULL with errno when none could be started. */
struct worker_process *spare_take(
    struct spare *spare, const struct worker_callbacks *callbacks, void *arg, bool *hello);

#endif
