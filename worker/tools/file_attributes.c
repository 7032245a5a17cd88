/*
 * Copying extended attributes (access lists are such attributes on Linux). What cannot be
 * copied is left out: it must never make a save fail.
 */
#include <config.h>

#include "worker/tools/file_attributes.h"

#ifdef HERMES_LINUX

#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <sys/xattr.h>

#define NAMES_MAX 4096 /* bytes of attribute names; more is left out */
#define VALUE_MAX 4096 /* bytes of one value */

void
file_attributes_copy(int folder, const char *name, int fd)
{
	char names[NAMES_MAX], value[VALUE_MAX];
	const char *at;
	ssize_t length, size;
	int code = errno;
	int old = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	length = old != -1 ? flistxattr(old, names, sizeof names) : 0;
	for (at = names; length > 0 && at < names + length; at += strlen(at) + 1) {
		size = fgetxattr(old, at, value, sizeof value);
		if (size >= 0)
			(void)fsetxattr(fd, at, value, (size_t)size, 0);
	}
	fd_close(&old);
	errno = code;
}

#else

void
file_attributes_copy(int folder, const char *name, int fd)
{
	(void)folder;
	(void)name;
	(void)fd;
}

#endif
