/*
 * The system calls that start a guard with its command and connect it.
 */
#ifndef HERMES_WORKER_TOOLS_SUBPROCESS_SPAWN_H
#define HERMES_WORKER_TOOLS_SUBPROCESS_SPAWN_H

#include "worker/tools/subprocess.h"

#include <sys/types.h>

/* Our ends; -1 = none. All are close-on-exec and non-blocking. */
struct subprocess_pipes {
	int control; /* closing it ends the subtree */
	int status;  /* records of guard_record.h */
	int output;
	int input;
};

/* The guard's process id, or -1 with errno set; then no descriptor is open. */
pid_t
subprocess_spawn(const struct subprocess_options *options, struct subprocess_pipes *pipes);

#endif
