/*
 * Temporary files of saves. The name tells whose it is and a lock that it is still wanted: the
 * process id alone means nothing to a process in another container that shares the folder.
 * It must never remove a file that does not have exactly our name pattern.
 */
#include <config.h>

#include "worker/tools/file_temporary.h"

#include "common/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".hermes-tmp."
#define RANDOM_LENGTH 6
#define TRIES 100
#define ENTRIES_MAX 65536 /* of a folder that are looked at: some 20 ms */
#define CHUNK 65536

static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

int
file_temporary_open(int folder, mode_t mode, char name[FILE_TEMPORARY_NAME])
{
	unsigned char random[RANDOM_LENGTH];
	char tail[RANDOM_LENGTH + 1] = "";
	size_t i;
	int fd, tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (getentropy(random, sizeof random) == -1)
			return -1;
		for (i = 0; i < sizeof random; i++)
			tail[i] = letters[random[i] % (sizeof letters - 1)];
		(void)snprintf(name, FILE_TEMPORARY_NAME, PREFIX "%" PRIdMAX ".%s",
		    (intmax_t)getpid(), tail);
		fd = openat(
		    folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd != -1)
			(void)flock(fd, LOCK_EX | LOCK_NB); /* not every file system has it */
		if (fd != -1 || errno != EEXIST)
			return fd;
	}
	return -1;
}

bool
file_temporary_holds(int fd, const char *bytes, size_t length)
{
	char chunk[CHUNK];
	size_t at = 0;
	ssize_t got;
	struct stat status;

	if (fstat(fd, &status) == -1)
		return false;
	while ((got = pread(fd, chunk, sizeof chunk, (off_t)at)) != 0) {
		if (got == -1 && errno == EINTR)
			continue;
		if (got == -1)
			return false;
		if ((size_t)got > length - at || memcmp(bytes + at, chunk, (size_t)got) != 0)
			break;
		at += (size_t)got;
	}
	errno = EIO;
	return at == length && status.st_size == (off_t)length;
}

/* The process in a name of ours; 0 when the name is none. */
static pid_t
owner_of(const char *name)
{
	const char *at = name + sizeof PREFIX - 1;
	intmax_t pid = 0;
	size_t digits;

	if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
		return 0;
	digits = strspn(at, "0123456789");
	if (digits == 0 || digits > 10 || at[digits] != '.' ||
	    strlen(at + digits + 1) != RANDOM_LENGTH ||
	    strspn(at + digits + 1, letters) != RANDOM_LENGTH)
		return 0;
	for (; *at != '.'; at++)
		pid = pid * 10 + (*at - '0');
	return pid <= INT32_MAX ? (pid_t)pid : 0;
}

static void
remove_stale(int folder, const char *name)
{
	struct stat status;
	int fd =
	    openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd == -1)
		return;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    (status.st_uid == geteuid() || geteuid() == 0) && status.st_nlink == 1 &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(folder, name, 0);
	fd_close(&fd);
}

void
file_temporary_sweep(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd != -1 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int left = ENTRIES_MAX;
	pid_t owner;

	if (directory == NULL) {
		fd_close(&fd);
		return;
	}
	while (left-- > 0 && (entry = readdir(directory)) != NULL) {
		owner = owner_of(entry->d_name);
		if (owner > 0 && kill(owner, 0) == -1 && errno == ESRCH)
			remove_stale(folder, entry->d_name);
	}
	(void)closedir(directory);
}
