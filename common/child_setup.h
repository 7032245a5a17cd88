/*
 * The child's side between fork and exec, one recipe for every program that we start. Only
 * async-signal-safe calls.
 */
#ifndef HERMES_COMMON_CHILD_SETUP_H
#define HERMES_COMMON_CHILD_SETUP_H

#include <stddef.h>
#include <sys/types.h>

/* Descriptors of the child: its number i becomes a copy of fds[i]; -1 stands for /dev/null.
 * Everything above is closed. */
struct child_setup {
	const char *path; /* program to execute, absolute */
	char *const *argv;
	char *const *environment;
	const int *fds;
	size_t fd_count;
	const int *ignored; /* signals that the child starts with ignored; ends with 0 */
};

/* Forks and executes. Returns the pid, or -1 with errno when the fork or the exec failed (the
 * child tells over a pipe, so a missing program is an error here, not a dead child). */
pid_t child_start(const struct child_setup *setup);

#endif
