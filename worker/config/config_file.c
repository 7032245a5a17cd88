/*
 * Reading and replacing whole files. It must never write in place: a crash leaves the old
 * file or the new one.
 */
#include <config.h>

#include "worker/config/config_file.h"

#include "common/alloc.h"
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES 8 /* of 1 ms each */

enum config_file_state
config_file_read(const char *path, size_t limit, struct buffer *text, struct buffer *reason)
{
	/* O_NONBLOCK: a FIFO of that name must not stop the program. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	enum config_file_state state = CONFIG_FILE_UNREADABLE;
	struct stat status;

	if (fd == -1 && (errno == ENOENT || errno == ENOTDIR))
		return CONFIG_FILE_ABSENT;
	if (fd == -1 || fstat(fd, &status) == -1)
		buffer_append_text(reason, strerror(errno));
	else if (!S_ISREG(status.st_mode))
		buffer_append_text(reason, "this is not a regular file");
	else if (fd_read_all(fd, text, limit) == 0)
		state = CONFIG_FILE_READ;
	else if (errno == EFBIG)
		buffer_printf(reason, "the file is bigger than %zu KiB", limit / 1024);
	else
		buffer_append_text(reason, strerror(errno));
	fd_close(&fd);
	return state;
}

static int
make_folders(const char *home, struct buffer *error)
{
	char *path = xstrdup(home), *slash;
	int result = 0;

	for (slash = strchr(path + 1, '/'); result == 0; slash = strchr(slash + 1, '/')) {
		if (slash != NULL)
			*slash = '\0';
		if (mkdir(path, 0700) == -1 && errno != EEXIST && errno != EROFS) {
			buffer_printf(
			    error, "The folder %s cannot be made: %s.", path, strerror(errno));
			result = -1;
		}
		if (slash == NULL)
			break;
		*slash = '/';
	}
	free(path);
	return result;
}

int
config_file_lock(const char *home, const char *name, struct buffer *error)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	char *path;
	int fd, tries, code = 0;

	if (make_folders(home, error) == -1)
		return -1;
	path = xasprintf("%s/%s.lock", home, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd == -1)
		buffer_printf(
		    error, "The lock %s cannot be opened: %s.", path, strerror(errno));
	for (tries = 0; fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == -1; tries++) {
		if (tries == LOCK_TRIES || (errno != EWOULDBLOCK && errno != EINTR)) {
			buffer_printf(
			    error, "%s/%s is being changed by another program.", home, name);
			code = EWOULDBLOCK;
			fd_close(&fd);
			break;
		}
		nanosleep(&pause, NULL);
	}
	free(path);
	errno = code;
	return fd;
}

static int
write_temporary(int fd, const char *text, size_t length, bool sync)
{
	if (fd == -1 || fchmod(fd, 0600) == -1 || fd_write_all(fd, text, length) == -1)
		return -1;
	return sync ? fsync(fd) : 0;
}

/* A rename is durable once its folder is. */
static void
sync_folder(const char *path)
{
	char *folder = xstrdup(path), *slash = strrchr(folder, '/');

	if (slash != NULL) {
		slash[slash == folder] = '\0';
		fd_sync_folder(folder);
	}
	free(folder);
}

static int
replace(const char *path, const char *text, size_t length, bool sync, struct buffer *error)
{
	char *target = realpath(path, NULL);
	char *temporary = xasprintf("%s.XXXXXX", target != NULL ? target : path);
	int fd = mkostemp(temporary, O_CLOEXEC), result = -1;

	if (write_temporary(fd, text, length, sync) == 0 &&
	    rename(temporary, target != NULL ? target : path) == 0) {
		result = 0;
		if (sync)
			sync_folder(temporary);
	} else {
		buffer_printf(error, "%s cannot be written: %s.", path, strerror(errno));
		if (fd != -1)
			unlink(temporary);
	}
	fd_close(&fd);
	free(temporary);
	free(target);
	return result;
}

int
config_file_replace(const char *path, const char *text, size_t length, struct buffer *error)
{
	return replace(path, text, length, true, error);
}

int
config_file_replace_soon(
    const char *path, const char *text, size_t length, struct buffer *error)
{
	return replace(path, text, length, false, error);
}
