/*
 * Platform functions with POSIX alone. What the system has no means for is left out; the
 * ends of pipes then do the work.
 */
#include <config.h>

#include "common/platform.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

void
platform_harden(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
}

bool
platform_die_with_parent(pid_t parent, int signal_number)
{
	(void)signal_number;
	return getppid() == parent;
}

void
platform_close_from(int least)
{
	long most = sysconf(_SC_OPEN_MAX);
	int fd;

	if (most < 0 || most > 65536)
		most = 65536;
	for (fd = least; fd < most; fd++)
		close(fd);
}

void
platform_oom_score(int score)
{
	(void)score;
}

int
platform_executable(char *path, size_t size)
{
	(void)path;
	(void)size;
	return -1;
}

int
platform_random(void *bytes, size_t length)
{
	unsigned char *at = bytes;
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd == -1)
		return -1;
	while (length > 0 && (n = read(fd, at, length)) > 0) {
		at += n;
		length -= (size_t)n;
	}
	close(fd);
	return length == 0 ? 0 : -1;
}
