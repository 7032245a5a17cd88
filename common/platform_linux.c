/*
 * Platform functions for Linux. Functions marked child-safe in the header must only make
 * system calls: they run between fork and exec.
 */
#include <config.h>

#include "common/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void
platform_harden(void)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
#ifndef HERMES_SANITIZED /* LeakSanitizer has to look into its own process */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

bool
platform_die_with_parent(pid_t parent, int signal_number)
{
	prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0);
	return getppid() == parent;
}

void
platform_close_from(int least)
{
	int fd;

	if (syscall(SYS_close_range, (unsigned)least, ~0u, 0u) == 0)
		return;
	for (fd = least; fd < 65536; fd++) /* a kernel before 5.9 */
		close(fd);
}

void
platform_oom_score(int score)
{
	char text[16];
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t ignored;

	if (fd == -1)
		return;
	snprintf(text, sizeof text, "%d", score);
	ignored = write(fd, text, strlen(text));
	(void)ignored;
	close(fd);
}

int
platform_executable(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);

	if (n <= 0)
		return -1;
	path[n] = '\0';
	return 0;
}

/* The state in /proc/PID/stat follows the name, which is in parentheses and may hold any byte
 * (proc(5)). */
bool
platform_process_lives(pid_t pid)
{
	char path[32], text[512], *end = NULL;
	ssize_t n;
	int fd;

	if (kill(pid, 0) == -1 && errno == ESRCH)
		return false;
	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return errno != ENOENT || kill(pid, 0) == 0 || errno != ESRCH;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n > 0) {
		text[n] = '\0';
		end = strrchr(text, ')');
	}
	return end == NULL || end[1] != ' ' || (end[2] != 'Z' && end[2] != 'X');
}

void
platform_trim_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

int
platform_random(void *bytes, size_t length)
{
	unsigned char *at = bytes;
	ssize_t n;

	while (length > 0) {
		n = getrandom(at, length, 0);
		if (n == -1 && errno != EINTR)
			return -1;
		if (n > 0) {
			at += n;
			length -= (size_t)n;
		}
	}
	return 0;
}
