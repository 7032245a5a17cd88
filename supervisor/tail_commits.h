/*
 * The tails that the catalogue worker is to commit, until it has said that it has. One that it
 * died with is given to the next one, once.
 */
#ifndef HERMES_SUPERVISOR_TAIL_COMMITS_H
#define HERMES_SUPERVISOR_TAIL_COMMITS_H

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct tail_commits;
struct worker_process;

/* A tail is given up: there was no word about it for too long, or it was tried twice. */
typedef void (*tail_commits_given_up)(const char *session, void *arg);

/* NULL when memory is out. */
struct tail_commits *
tail_commits_new(struct event_base *base, tail_commits_given_up given_up, void *arg);
void tail_commits_free(struct tail_commits *commits);

/* Copies. -1 when memory is out. */
int tail_commits_add(
    struct tail_commits *commits, const char *session, const char *text, size_t length);
/* Sends what this worker was not given yet. */
void tail_commits_send(struct tail_commits *commits, struct worker_process *worker);
/* The worker has dealt with the oldest tail of this session; false when it had none. */
bool tail_commits_done(struct tail_commits *commits, const char *session);
/* The worker is gone. */
void tail_commits_lost(struct tail_commits *commits);
bool tail_commits_has(const struct tail_commits *commits, const char *session);

#endif
