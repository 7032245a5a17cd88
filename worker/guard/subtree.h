/*
 * Everything that descends from the guard's command. One of two files implements this:
 * subtree_linux.c finds every descendant, also those that left the process group;
 * subtree_portable.c knows only the process group.
 */
#ifndef HERMES_WORKER_GUARD_SUBTREE_H
#define HERMES_WORKER_GUARD_SUBTREE_H

#include <stdbool.h>
#include <sys/types.h>

/* How a signal was received by the processes of the subtree. */
struct subtree_reach {
	unsigned reached; /* living processes that got it */
	unsigned refused; /* living processes of another user */
};

/* In the guard, before the command starts: become the parent of orphans. */
void subtree_prepare(void);
/* In the command's process, before it becomes the command. `guard` is the guard's process
 * id. Ends the process when the guard is already gone. */
void subtree_enter(pid_t guard);
/* In the guard, after the command was started. */
void subtree_seal(void);
/* Closes every descriptor above 2 but these two. */
void subtree_close_others(int first, int second);
/* Signals everything in the subtree. */
struct subtree_reach subtree_signal(pid_t command, int signal);
/* True when something of the subtree lives; `children` says whether the guard has children
 * that have not been waited for. */
bool subtree_alive(pid_t command, bool children);
/* True when the end of a descendant is always reported by SIGCHLD. */
bool subtree_reports_ends(void);

#endif
