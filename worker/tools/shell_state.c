/*
 * Folder, exports and processes of a session's commands. It must never lose a process that
 * still lives: each stays in the list until its guard says that it is gone.
 */
#include <config.h>

#include "worker/tools/shell_state.h"

#include "common/alloc.h"
#include "common/buffer.h"
#include "common/fd.h"
#include "common/utf8.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTS_MAX (64 * 1024) /* that another process gets */

struct shell_command {
	struct shell_state *shell;
	struct shell_command *next;
	struct subprocess *process;
	struct subprocess_callbacks callbacks;
	void *arg;
	bool attached, stopping;
};

struct shell_waiter {
	struct shell_waiter *next;
	void (*callback)(void *arg);
	void *arg;
};

struct shell_state {
	struct shell_command *commands;
	struct shell_waiter *waiters;
	char *cwd;
	char *exports;		 /* what the next command begins with */
	char *after, *after_cwd; /* what the running command saves */
	unsigned long count;
};

struct shell_state *
shell_state_new(void)
{
	return xcalloc(1, sizeof(struct shell_state));
}

void
shell_state_free(struct shell_state *shell)
{
	struct shell_command *command;
	struct shell_waiter *waiter;

	if (shell == NULL)
		return;
	while ((command = shell->commands) != NULL) {
		shell->commands = command->next;
		subprocess_free(command->process);
		free(command);
	}
	while ((waiter = shell->waiters) != NULL) {
		shell->waiters = waiter->next;
		free(waiter);
	}
	free(shell->cwd);
	free(shell->exports);
	free(shell->after);
	free(shell->after_cwd);
	free(shell);
}

const char *
shell_state_cwd(const struct shell_state *shell)
{
	return shell->cwd;
}

void
shell_state_files(struct shell_state *shell, const char *scratch, struct shell_files *files)
{
	shell->count++;
	free(shell->after);
	free(shell->after_cwd);
	shell->after = xasprintf("%s/shell-%lu.exports", scratch, shell->count);
	shell->after_cwd = xasprintf("%s/shell-%lu.cwd", scratch, shell->count);
	files->before = shell->exports;
	files->after = shell->after;
	files->cwd = shell->after_cwd;
}

/* The folder that was saved, or NULL. */
static char *
read_cwd(const char *path)
{
	struct buffer text = BUFFER_EMPTY;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char *cwd = NULL;

	if (fd == -1)
		return NULL;
	if (fd_read_all(fd, &text, PATH_MAX) == 0 && text.length > 1 && text.data[0] == '/' &&
	    text.data[text.length - 1] == '\n' && memchr(text.data, '\0', text.length) == NULL)
		cwd = xstrndup(text.data, text.length - 1);
	fd_close(&fd);
	buffer_free(&text);
	return cwd;
}

bool
shell_state_carry(struct shell_state *shell, const char *begun, bool keep_cwd)
{
	char *cwd = shell->after_cwd == NULL ? NULL : read_cwd(shell->after_cwd);
	bool changed;

	if (cwd == NULL) {
		if (shell->after != NULL)
			unlink(shell->after);
		return false;
	}
	unlink(shell->after_cwd);
	if (shell->exports != NULL)
		unlink(shell->exports);
	free(shell->exports);
	shell->exports = shell->after;
	shell->after = NULL;
	if (keep_cwd) {
		free(cwd);
		return false;
	}
	changed = strcmp(begun, cwd) != 0;
	free(shell->cwd);
	shell->cwd = cwd;
	return changed;
}

static bool
is_stopping(const struct shell_state *shell)
{
	const struct shell_command *command;

	for (command = shell->commands; command != NULL; command = command->next)
		if (command->stopping)
			return true;
	return false;
}

/* Calls the oldest waiter, which may start something or stop something again. */
static void
wake_waiters(struct shell_state *shell)
{
	struct shell_waiter *waiter;

	while ((waiter = shell->waiters) != NULL && !is_stopping(shell)) {
		shell->waiters = waiter->next;
		waiter->callback(waiter->arg);
		free(waiter);
	}
}

static void
on_output(const char *bytes, size_t length, void *arg)
{
	struct shell_command *command = arg;

	if (command->attached && command->callbacks.output != NULL)
		command->callbacks.output(bytes, length, command->arg);
}

static void
on_exited(int status, bool leftover, void *arg)
{
	struct shell_command *command = arg;

	if (command->attached && command->callbacks.exited != NULL)
		command->callbacks.exited(status, leftover, command->arg);
}

static void
on_gone(void *arg)
{
	struct shell_command *command = arg;
	struct shell_state *shell = command->shell;
	struct shell_command **link = &shell->commands;

	while (*link != command)
		link = &(*link)->next;
	*link = command->next;
	subprocess_free(command->process);
	if (command->attached && command->callbacks.gone != NULL)
		command->callbacks.gone(command->arg);
	free(command);
	wake_waiters(shell);
}

struct shell_command *
shell_state_run(struct shell_state *shell, struct event_base *base,
    const struct subprocess_options *options, const struct subprocess_callbacks *callbacks,
    void *arg)
{
	static const struct subprocess_callbacks own = {on_output, on_exited, on_gone};
	struct shell_command *command = xcalloc(1, sizeof *command);

	command->shell = shell;
	command->callbacks = *callbacks;
	command->arg = arg;
	command->attached = true;
	command->process = subprocess_start(base, options, &own, command);
	if (command->process == NULL) {
		free(command);
		return NULL;
	}
	command->next = shell->commands;
	shell->commands = command;
	return command;
}

void
shell_command_stop(struct shell_command *command)
{
	command->stopping = true;
	subprocess_stop(command->process);
}

void
shell_command_detach(struct shell_command *command)
{
	command->attached = false;
}

void
shell_state_when_stopped(struct shell_state *shell, void (*callback)(void *arg), void *arg)
{
	struct shell_waiter **link = &shell->waiters;
	struct shell_waiter *waiter;

	if (!is_stopping(shell)) {
		callback(arg);
		return;
	}
	while (*link != NULL)
		link = &(*link)->next;
	waiter = xcalloc(1, sizeof *waiter);
	waiter->callback = callback;
	waiter->arg = arg;
	*link = waiter;
}

void
shell_state_forget(struct shell_state *shell, void *arg)
{
	struct shell_waiter **link = &shell->waiters;
	struct shell_waiter *waiter;

	while ((waiter = *link) != NULL) {
		if (waiter->arg != arg) {
			link = &waiter->next;
			continue;
		}
		*link = waiter->next;
		free(waiter);
	}
}

bool
shell_state_running(const struct shell_state *shell)
{
	return shell->commands != NULL;
}

static bool
read_exports(const char *path, struct buffer *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool found;

	if (fd == -1)
		return false;
	found = fd_read_all(fd, text, EXPORTS_MAX) == 0 &&
		utf8_valid(buffer_text(text), text->length) &&
		memchr(buffer_text(text), '\0', text->length) == NULL;
	fd_close(&fd);
	return found;
}

struct json_object *
shell_state_describe(const struct shell_state *shell)
{
	struct json_object *description = json_object_new_object();
	struct buffer exports = BUFFER_EMPTY;

	if (shell->cwd != NULL)
		json_set_text(description, "cwd", shell->cwd);
	if (shell->exports != NULL && read_exports(shell->exports, &exports)) {
		json_set_text(description, "exports", buffer_text(&exports));
	} else if (shell->exports != NULL) {
		json_object_put(description);
		description = NULL;
	}
	buffer_free(&exports);
	return description;
}

int
shell_state_restore(
    struct shell_state *shell, const char *scratch, struct json_object *description)
{
	const char *cwd = json_member_string(description, "cwd");
	const char *exports = json_member_string(description, "exports");
	char *path;
	int fd, result;

	if (cwd != NULL) {
		free(shell->cwd);
		shell->cwd = xstrdup(cwd);
	}
	if (exports == NULL)
		return 0;
	path = xasprintf("%s/shell-0.exports", scratch);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	result = fd == -1 ? -1 : fd_write_all(fd, exports, strlen(exports));
	fd_close(&fd);
	if (result == -1) {
		free(path);
		return -1;
	}
	free(shell->exports);
	shell->exports = path;
	return 0;
}
