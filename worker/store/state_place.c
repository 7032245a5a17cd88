/*
 * The file of a database from the outside.
 */
#include <config.h>

#include "worker/store/state_place.h"
#include "common/alloc.h"
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef HERMES_LINUX
#include <sys/vfs.h>
#endif

static const char *const companions[] = {"", "-wal", "-shm", "-journal"};

#define COMPANIONS (sizeof companions / sizeof companions[0])

int
state_place_folder(const char *home, struct buffer *error)
{
	char *path = xstrdup(home), *slash;
	int result = 0;

	for (slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	if (mkdir(path, 0700) == 0)
		(void)chmod(path, 0700); /* whatever the umask is */
	else if (errno != EEXIST) {
		buffer_printf(
		    error, "%s: the folder cannot be made: %s", home, strerror(errno));
		result = -1;
	}
	free(path);
	return result;
}

int
state_place_lock(const char *home)
{
	int fd = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC), saved;

	if (fd == -1)
		return -2;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return saved == EWOULDBLOCK ? -1 : -2;
}

int
state_place_create(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd == -1)
		return -1;
	(void)fchmod(fd, 0600);
	return close(fd);
}

void
state_place_remove(const char *path)
{
	char *name;
	size_t i;

	for (i = 0; i < COMPANIONS; i++) {
		name = xasprintf("%s%s", path, companions[i]);
		(void)unlink(name);
		free(name);
	}
}

/* The name has to last as long as what is in the file. */
static void
sync_folder_of(const char *path)
{
	char *folder = xstrdup(path), *slash = strrchr(folder, '/');

	if (slash != NULL)
		*slash = '\0';
	fd_sync_folder(slash != NULL ? folder : ".");
	free(folder);
}

int
state_place_publish(const char *from, const char *to)
{
	int result = link(from, to), saved = errno;
	struct stat status;

	if (result == -1 && saved != EEXIST && lstat(to, &status) == -1) {
		/* There are no hard links here; the lock of the folder keeps others out. */
		result = rename(from, to);
		saved = errno;
	}
	(void)unlink(from);
	sync_folder_of(to);
	errno = saved;
	return result == 0 || saved == EEXIST ? 0 : -1;
}

static char *
free_name(const char *path)
{
	char stamp[32], *name;
	time_t now = time(NULL);
	struct stat status;
	struct tm utc;
	unsigned i;

	strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
	name = xasprintf("%s.damaged-%s", path, stamp);
	for (i = 2; lstat(name, &status) == 0; i++) {
		free(name);
		name = xasprintf("%s.damaged-%s-%u", path, stamp, i);
	}
	return name;
}

int
state_place_set_aside(const char *path, struct buffer *moved)
{
	char *name = free_name(path), *from, *to;
	int result = 0, saved = 0;
	size_t i;

	/* The companions go first: they must never be taken for those of the next file. */
	for (i = COMPANIONS; i-- > 0 && result == 0;) {
		from = xasprintf("%s%s", path, companions[i]);
		to = xasprintf("%s%s", name, companions[i]);
		if (rename(from, to) == -1 && (errno != ENOENT || i == 0))
			result = -1;
		saved = errno;
		free(from);
		free(to);
	}
	if (result == 0)
		buffer_append_text(moved, name);
	free(name);
	errno = saved;
	return result;
}

void
state_place_tighten(const char *path)
{
	struct stat status;
	char *name;
	size_t i;

	for (i = 0; i < COMPANIONS; i++) {
		name = xasprintf("%s%s", path, companions[i]);
		if (lstat(name, &status) == 0 && S_ISREG(status.st_mode) &&
		    status.st_uid == geteuid() && (status.st_mode & 077) != 0)
			(void)chmod(name, status.st_mode & 0700);
		free(name);
	}
}

bool
state_place_is_remote(const char *path)
{
#ifdef HERMES_LINUX
	/* linux/magic.h and the file systems' own sources: NFS, SMB, CIFS, SMB2, 9p, FUSE
	 * (virtiofs among them), AFS, Ceph, Coda. */
	static const unsigned long remote[] = {0x6969, 0x517b, 0xff534d42, 0xfe534d42,
	    0x01021997, 0x65735546, 0x5346414f, 0x00c36400, 0x73757245};
	struct statfs status;
	size_t i;

	if (statfs(path, &status) == -1)
		return false;
	for (i = 0; i < sizeof remote / sizeof remote[0]; i++)
		if (((unsigned long)status.f_type & 0xffffffff) == remote[i])
			return true;
#else
	(void)path;
#endif
	return false;
}
