/*
 * For the tests of crashes, loaded with LD_PRELOAD: a worker ends itself before its N-th step
 * after a prompt that says so. A step is a call by which something of it becomes visible
 * outside or lasts: writing to the supervisor, syncing, deleting a journal, renaming, starting
 * a program. It does nothing in other programs, and in a worker nothing before such a prompt.
 *
 * The prompt holds "kill-at:STEP:SIGNAL:NAME;". The file NAME in $KILL_AT_FOLDER is made when
 * the prompt was read (one that is there already makes the prompt an ordinary one), NAME.dead
 * just before the end. Signal 0 is exit(3).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SUPERVISOR 3

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static long steps_left;
static int end_signal;
static char path[4096];

static int
make_file(const char *suffix)
{
	char whole[4200];
	int fd;

	snprintf(whole, sizeof whole, "%s%s", path, suffix);
	fd = open(whole, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd == -1)
		return -1;
	close(fd);
	return 0;
}

static void
step(void)
{
	int saved = errno;

	if (steps_left > 0 && --steps_left == 0) {
		make_file(".dead");
		if (end_signal == 0)
			_exit(3);
		signal(end_signal, SIG_DFL);
		kill(getpid(), end_signal);
		for (;;)
			pause();
	}
	errno = saved;
}

static void
look_for_order(const char *data, size_t length)
{
	const char *found = memmem(data, length, "kill-at:", 8),
		   *folder = getenv("KILL_AT_FOLDER");
	char order[200] = "", name[100];
	long steps;
	int number;

	if (found == NULL || folder == NULL ||
	    strcmp(program_invocation_short_name, "hermes-acp-worker") != 0)
		return;
	length -= (size_t)(found - data);
	memcpy(order, found, length < sizeof order - 1 ? length : sizeof order - 1);
	if (sscanf(order, "kill-at:%ld:%d:%99[^;];", &steps, &number, name) != 3)
		return;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (make_file("") == -1)
		return;
	end_signal = number;
	steps_left = steps;
}

ssize_t
read(int fd, void *data, size_t size)
{
	ssize_t length = REAL(read)(fd, data, size);

	if (fd == SUPERVISOR && length > 0 && steps_left == 0)
		look_for_order(data, (size_t)length);
	return length;
}

ssize_t
write(int fd, const void *data, size_t size)
{
	if (fd == SUPERVISOR)
		step();
	return REAL(write)(fd, data, size);
}

ssize_t
writev(int fd, const struct iovec *parts, int count)
{
	if (fd == SUPERVISOR)
		step();
	return REAL(writev)(fd, parts, count);
}

int
fsync(int fd)
{
	step();
	return REAL(fsync)(fd);
}

int
fdatasync(int fd)
{
	step();
	return REAL(fdatasync)(fd);
}

int
unlink(const char *name)
{
	step();
	return REAL(unlink)(name);
}

int
rename(const char *from, const char *to)
{
	step();
	return REAL(rename)(from, to);
}

int
renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	step();
	return REAL(renameat)(from_folder, from, to_folder, to);
}

int
posix_spawn(pid_t *pid, const char *program, const posix_spawn_file_actions_t *actions,
    const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
	step();
	return REAL(posix_spawn)(pid, program, actions, attributes, arguments, environment);
}
