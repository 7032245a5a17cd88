/*
 * Starting a program. Between fork and exec nothing may allocate, lock or use stdio.
 */
#include <config.h>

#include "common/child_setup.h"
#include "common/fd.h"
#include "common/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define FDS_MAX 8

/* Every handler and the mask back to what a fresh program expects. */
static void
reset_signals(const int *ignored)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;
	int number;

	for (number = 1; number < NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP)
			sigaction(number, &action, NULL);
	action.sa_handler = SIG_IGN;
	for (; ignored != NULL && *ignored != 0; ignored++)
		sigaction(*ignored, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Puts the descriptors in their places by way of high numbers, so that none is overwritten
 * before it was copied. */
static int
place_fds(const struct child_setup *setup, int report)
{
	int high[FDS_MAX], null, moved;
	size_t i;

	null = open("/dev/null", O_RDWR);
	if (null == -1)
		return -1;
	for (i = 0; i < setup->fd_count; i++) {
		high[i] = fcntl(setup->fds[i] == -1 ? null : setup->fds[i], F_DUPFD, 64);
		if (high[i] == -1)
			return -1;
	}
	moved = fcntl(report, F_DUPFD, 64);
	if (moved == -1)
		return -1;
	for (i = 0; i < setup->fd_count; i++)
		if (dup2(high[i], (int)i) == -1)
			return -1;
	if (dup2(moved, (int)setup->fd_count) == -1 ||
	    fd_set_cloexec((int)setup->fd_count, true) == -1)
		return -1;
	platform_close_from((int)setup->fd_count + 1);
	return 0;
}

static void
child(const struct child_setup *setup, int report)
{
	int error;
	ssize_t ignored;

	setsid();
	if (place_fds(setup, report) == 0) {
		report = (int)setup->fd_count;
		reset_signals(setup->ignored);
		execve(setup->path, setup->argv, setup->environment);
	}
	error = errno;
	ignored = write(report, &error, sizeof error);
	(void)ignored;
	_exit(127);
}

pid_t
child_start(const struct child_setup *setup)
{
	int report[2], error = 0;
	sigset_t all, saved;
	ssize_t n;
	pid_t pid;

	if (setup->fd_count > FDS_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (pipe2(report, O_CLOEXEC) == -1)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &saved);
	pid = fork();
	if (pid == 0)
		child(setup, report[1]);
	sigprocmask(SIG_SETMASK, &saved, NULL);
	fd_close(&report[1]);
	if (pid == -1) {
		fd_close(&report[0]);
		return -1;
	}
	do
		n = read(report[0], &error, sizeof error);
	while (n == -1 && errno == EINTR);
	fd_close(&report[0]);
	if (n == (ssize_t)sizeof error) {
		waitpid(pid, NULL, 0);
		errno = error;
		return -1;
	}
	return pid;
}
