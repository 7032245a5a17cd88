/*
 * Exit statuses of our programs, and what the end of a child process means. The numbers
 * below 79 follow sysexits.h.
 */
#ifndef HERMES_COMMON_EXIT_CAUSE_H
#define HERMES_COMMON_EXIT_CAUSE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	EXIT_DONE = 0,
	EXIT_PROBLEM = 1,
	EXIT_USAGE = 64,
	EXIT_DATA = 65,
	EXIT_UNAVAILABLE = 69,
	EXIT_INTERNAL = 70,
	EXIT_SYSTEM = 71,
	EXIT_MEMORY = 72,
	EXIT_AGAIN = 75,
	EXIT_PROTOCOL = 76,
	EXIT_CONFIGURATION = 78
};

/* Why the supervisor ended a worker; kept with it until it is reaped. */
enum stop_cause {
	STOP_NONE, /* it was not asked to end */
	STOP_CLOSE,
	STOP_SHUTDOWN,
	STOP_IDLE,
	STOP_CANCEL_IGNORED,
	STOP_SETUP_TIMEOUT,
	STOP_PROTOCOL_VIOLATION,
	STOP_VERSION
};

/* Writes one sentence without a full stop ("crashed with signal 11 (Segmentation fault)"),
 * from a wait status and the cause that was noted. */
void exit_cause_describe(int wait_status, enum stop_cause cause, char *text, size_t size);

#endif
