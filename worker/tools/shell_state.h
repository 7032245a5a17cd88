/*
 * What the commands of one session have in common: the folder and the exported variables
 * that they carry over, and the processes that they left running.
 */
#ifndef HERMES_WORKER_TOOLS_SHELL_STATE_H
#define HERMES_WORKER_TOOLS_SHELL_STATE_H

#include "common/json.h"
#include "worker/tools/subprocess.h"

#include <stdbool.h>
#include <stddef.h>

struct shell_state;
struct shell_command;

struct shell_state *shell_state_new(void);
/* Ends everything that still runs. Callbacks no longer come. */
void shell_state_free(struct shell_state *shell);

/* The folder that the last command ended in; NULL = the session's. Borrowed. */
const char *shell_state_cwd(const struct shell_state *shell);
/* Files for the next command's state, below `scratch`; the paths are the shell's and stay
 * until the next call. `before` is NULL when no exports are carried yet. */
struct shell_files {
	const char *before; /* exports to begin with: a script */
	const char *after;  /* exports at the end go here */
	const char *cwd;    /* the folder at the end, with a newline, goes here, last */
};
void
shell_state_files(struct shell_state *shell, const char *scratch, struct shell_files *files);
/* Takes over what the command of the last shell_state_files() has saved; a command that
 * saved nothing changes nothing. True when it ended in another folder than `begun`, the one
 * it began in; with `keep_cwd` the folder is not taken. */
bool shell_state_carry(struct shell_state *shell, const char *begun, bool keep_cwd);

/* Like subprocess_start(). The command belongs to the shell; it goes when its subtree is
 * gone, after callbacks->gone. NULL with errno set. */
struct shell_command *shell_state_run(struct shell_state *shell, struct event_base *base,
    const struct subprocess_options *options, const struct subprocess_callbacks *callbacks,
    void *arg);
void shell_command_stop(struct shell_command *command);
/* No more callbacks; what runs goes on until it ends or the session does. */
void shell_command_detach(struct shell_command *command);

/* True while something that a command started still runs. */
bool shell_state_running(const struct shell_state *shell);
/* Folder and exports, for another process of the same session; the caller owns it. NULL when
 * the exports cannot be passed on (they are no text, or more than 64 KiB). */
struct json_object *shell_state_describe(const struct shell_state *shell);
/* Takes that over; the exports go into a file below `scratch`. -1 with errno when it could not
 * be written. */
int shell_state_restore(
    struct shell_state *shell, const char *scratch, struct json_object *description);

/* Calls back once when everything that was told to stop is gone: at once, from within, when
 * it is so already. Forgotten by shell_state_forget(). */
void
shell_state_when_stopped(struct shell_state *shell, void (*callback)(void *arg), void *arg);
void shell_state_forget(struct shell_state *shell, void *arg);

#endif
