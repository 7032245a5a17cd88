/*
 * A child process under hermes-acp-guard: its whole subtree ends when it is told to or when
 * this process goes. Standard input is /dev/null, standard output and error are one pipe,
 * nothing else is inherited, there is no controlling terminal.
 */
#ifndef HERMES_WORKER_TOOLS_SUBPROCESS_H
#define HERMES_WORKER_TOOLS_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct subprocess;

struct subprocess_callbacks {
	/* Output as it comes. */
	void (*output)(const char *bytes, size_t length, void *arg);
	/* The command itself has ended and what it wrote until then was delivered. `status` is
	 * a wait status. `leftover`: processes that it started are still alive; they stay under
	 * the guard until subprocess_free(). */
	void (*exited)(int status, bool leftover, void *arg);
	/* The whole subtree is gone, by itself or after subprocess_stop(); exactly once, after
	 * exited(). May be NULL. */
	void (*gone)(void *arg);
};

struct subprocess_options {
	const char *guard;	 /* absolute path of hermes-acp-guard */
	const char *const *argv; /* argv[0] is looked up in PATH of `environment` */
	const char *cwd;
	const char *const *environment; /* NULL-terminated, complete */
	const char *input;		/* bytes for standard input; NULL = /dev/null */
	size_t input_length;
	bool separate_error; /* standard error to /dev/null in place of the pipe */
};

/* NULL with errno set when it could not be started. */
struct subprocess *
subprocess_start(struct event_base *base, const struct subprocess_options *options,
    const struct subprocess_callbacks *callbacks, void *arg);
/* Ends the subtree: TERM, after 500 ms KILL. exited() and gone() follow. Idempotent. */
void subprocess_stop(struct subprocess *process);
/* Ends the subtree if it still runs, without further callbacks, and frees. */
void subprocess_free(struct subprocess *process);

#endif
