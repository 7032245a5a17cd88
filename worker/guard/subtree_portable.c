/*
 * The subtree where only POSIX is there: the command's process group. What leaves the
 * group is not found.
 */
#include <config.h>

#include "worker/guard/subtree.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 65536 /* descriptors are looked for up to this number */

void
subtree_prepare(void)
{
}

void
subtree_enter(pid_t guard)
{
	if (getppid() != guard)
		_exit(127);
}

void
subtree_seal(void)
{
}

void
subtree_close_others(int first, int second)
{
	long most = sysconf(_SC_OPEN_MAX);
	int fd;

	if (most < 0 || most > DESCRIPTORS_MAX)
		most = DESCRIPTORS_MAX;
	for (fd = 3; fd < most; fd++)
		if (fd != first && fd != second)
			close(fd);
}

struct subtree_reach
subtree_signal(pid_t command, int signal)
{
	struct subtree_reach reach = {0, 0};

	if (kill(-command, signal) == 0)
		reach.reached = 1;
	else if (errno == EPERM)
		reach.refused = 1;
	return reach;
}

bool
subtree_alive(pid_t command, bool children)
{
	return children || kill(-command, 0) == 0 || errno == EPERM;
}

bool
subtree_reports_ends(void)
{
	return false;
}
