/*
 * Platform functions with POSIX alone. What the system has no means for is left out; the
 * ends of pipes then do the work.
 */
#include <config.h>

#include "common/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

void
platform_harden(void)
{
	struct rlimit none = {0, 0};

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

/* How this program was called, as far as the C library tells. A name without a slash was
 * found through PATH, which installed programs are; it does not count. */
static int
called_as(char *path, size_t size)
{
#if defined(__APPLE__)
	uint32_t room = (uint32_t)size;

	return _NSGetExecutablePath(path, &room);
#elif HAVE_DECL_PROGRAM_INVOCATION_NAME
	int length = snprintf(path, size, "%s", program_invocation_name);

	return length > 0 && (size_t)length < size && strchr(path, '/') != NULL ? 0 : -1;
#else
	(void)path;
	(void)size;
	return -1;
#endif
}

int
platform_executable(char *path, size_t size)
{
	char called[PATH_MAX], resolved[PATH_MAX];
	int length;

	if (called_as(called, sizeof called) == -1 || realpath(called, resolved) == NULL)
		return -1;
	length = snprintf(path, size, "%s", resolved);
	return length > 0 && (size_t)length < size ? 0 : -1;
}

bool
platform_process_lives(pid_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

void
platform_trim_memory(void)
{
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
