/*
 * Starting a guard: posix_spawn(), which costs no copy of this process, with every signal
 * back to its default and nothing inherited but the pipes. It must never run a program from
 * a relative directory of PATH: the session's folder may be hostile.
 */
#include <config.h>

#include "worker/tools/subprocess_spawn.h"

#include "common/alloc.h"
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTROL_FD 3
#define STATUS_FD 4
#define CONTROL_TEXT "3"
#define STATUS_TEXT "4"
#define FIRST_FREE 10 /* the child's ends are moved above the numbers they go to */

struct pipe_ends {
	int read, write;
};

enum { CONTROL, STATUS, OUTPUT, INPUT, PIPE_COUNT };

static int
open_pipe(struct pipe_ends *ends)
{
	int fds[2];

	if (pipe(fds) == -1)
		return -1;
	ends->read = fd_move(fds[0], FIRST_FREE);
	ends->write = fd_move(fds[1], FIRST_FREE);
	if (ends->read != -1 && ends->write != -1)
		return 0;
	if (ends->read == -1)
		close(fds[0]);
	if (ends->write == -1)
		close(fds[1]);
	return -1;
}

static int
open_pipes(struct pipe_ends *ends, bool with_input)
{
	int i;

	for (i = 0; i < PIPE_COUNT; i++)
		if ((i != INPUT || with_input) && open_pipe(&ends[i]) == -1)
			return -1;
	return 0;
}

static void
close_pipes(struct pipe_ends *ends)
{
	int i;

	for (i = 0; i < PIPE_COUNT; i++) {
		fd_close(&ends[i].read);
		fd_close(&ends[i].write);
	}
}

/* The value of PATH in `environment`. */
static const char *
find_path(const char *const *environment)
{
	for (; environment != NULL && *environment != NULL; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return "";
}

static bool
is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* A copy of `name`, with its directory when it has none; NULL when PATH does not have it. */
static char *
find_program(const char *name, const char *const *environment)
{
	const char *at = find_path(environment), *end;
	char *candidate;

	if (strchr(name, '/') != NULL)
		return xstrdup(name);
	for (; *at != '\0'; at = *end == ':' ? end + 1 : end) {
		end = at + strcspn(at, ":");
		if (*at != '/')
			continue;
		candidate = xasprintf("%.*s/%s", (int)(end - at), at, name);
		if (is_program(candidate))
			return candidate;
		free(candidate);
	}
	errno = ENOENT;
	return NULL;
}

static char **
build_arguments(const struct subprocess_options *options, char *program)
{
	static char control[] = CONTROL_TEXT, status[] = STATUS_TEXT, separator[] = "--";
	size_t count = 0, i;
	char **argv;

	while (options->argv[count] != NULL)
		count++;
	argv = xcalloc(count + 5, sizeof *argv);
	argv[0] = (char *)(size_t)options->guard;
	argv[1] = control;
	argv[2] = status;
	argv[3] = separator;
	argv[4] = program;
	for (i = 1; i < count; i++)
		argv[4 + i] = (char *)(size_t)options->argv[i];
	return argv;
}

static int
fill_actions(posix_spawn_file_actions_t *actions, const struct subprocess_options *options,
    const struct pipe_ends *ends)
{
	int error = 0;

	if (ends[INPUT].read != -1)
		error = posix_spawn_file_actions_adddup2(actions, ends[INPUT].read, 0);
	else
		error = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(actions, ends[OUTPUT].write, 1);
	if (error == 0 && options->separate_error)
		error = posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
	else if (error == 0)
		error = posix_spawn_file_actions_adddup2(actions, ends[OUTPUT].write, 2);
	if (error == 0)
		error =
		    posix_spawn_file_actions_adddup2(actions, ends[CONTROL].read, CONTROL_FD);
	if (error == 0)
		error =
		    posix_spawn_file_actions_adddup2(actions, ends[STATUS].write, STATUS_FD);
	if (error == 0 && options->cwd != NULL)
		error = posix_spawn_file_actions_addchdir_np(actions, options->cwd);
	return error;
}

static int
fill_attributes(posix_spawnattr_t *attributes)
{
	sigset_t all, none;
	int error;

	sigfillset(&all);
	sigemptyset(&none);
	error = posix_spawnattr_setsigdefault(attributes, &all);
	if (error == 0)
		error = posix_spawnattr_setsigmask(attributes, &none);
	if (error == 0)
		error = posix_spawnattr_setflags(
		    attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	return error;
}

/* Returns 0 or an error number. */
static int
spawn(const struct subprocess_options *options, const struct pipe_ends *ends, char **argv,
    pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error;

	error = posix_spawn_file_actions_init(&actions);
	if (error != 0)
		return error;
	error = posix_spawnattr_init(&attributes);
	if (error != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return error;
	}
	error = fill_attributes(&attributes);
	if (error == 0)
		error = fill_actions(&actions, options, ends);
	if (error == 0)
		error = posix_spawn(pid, options->guard, &actions, &attributes, argv,
		    (char *const *)(size_t)options->environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Keeps our ends and closes the child's. */
static void
take_ends(struct pipe_ends *ends, struct subprocess_pipes *pipes)
{
	pipes->control = ends[CONTROL].write;
	pipes->status = ends[STATUS].read;
	pipes->output = ends[OUTPUT].read;
	pipes->input = ends[INPUT].write;
	ends[CONTROL].write = ends[STATUS].read = -1;
	ends[OUTPUT].read = ends[INPUT].write = -1;
	fd_set_nonblocking(pipes->control, true);
	fd_set_nonblocking(pipes->status, true);
	fd_set_nonblocking(pipes->output, true);
	if (pipes->input != -1)
		fd_set_nonblocking(pipes->input, true);
}

pid_t
subprocess_spawn(const struct subprocess_options *options, struct subprocess_pipes *pipes)
{
	struct pipe_ends ends[PIPE_COUNT] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
	char **argv = NULL, *program;
	pid_t pid = -1;
	int error;

	program = find_program(options->argv[0], options->environment);
	if (program == NULL)
		return -1;
	if (open_pipes(ends, options->input != NULL) == -1) {
		error = errno;
	} else {
		argv = build_arguments(options, program);
		error = spawn(options, ends, argv, &pid);
	}
	if (error == 0)
		take_ends(ends, pipes);
	close_pipes(ends);
	free(argv);
	free(program);
	errno = error;
	return error == 0 ? pid : -1;
}
