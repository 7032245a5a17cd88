/*
 * Writing a file whole. A conversation can hold what nobody else should read: 0600 at every
 * moment.
 */
#include <config.h>

#include "worker/sessions/sessions_file.h"
#include "worker/sessions/sessions_output.h"
#include "common/alloc.h"
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sessions_file {
	char *path, *temporary;
	bool force;
	int fd;
};

/* Why nothing may be put at the path, or NULL. */
static const char *
obstacle(const char *path, bool force)
{
	struct stat status;

	if (lstat(path, &status) == -1)
		return errno == ENOENT ? NULL : strerror(errno);
	if (!force)
		return "it exists; --force replaces it";
	return S_ISREG(status.st_mode) ? NULL : "it exists and is not a regular file";
}

static void
free_file(struct sessions_file *file)
{
	fd_close(&file->fd);
	free(file->path);
	free(file->temporary);
	free(file);
}

struct sessions_file *
sessions_file_new(const char *path, bool force)
{
	const char *reason = obstacle(path, force);
	struct sessions_file *file;

	if (reason != NULL) {
		sessions_output_complain("%s: %s", path, reason);
		return NULL;
	}
	file = xcalloc(1, sizeof *file);
	file->path = xstrdup(path);
	file->temporary = xasprintf("%s.part-XXXXXX", path);
	file->force = force;
	file->fd = mkstemp(file->temporary); /* mode 0600 */
	if (file->fd == -1) {
		sessions_output_complain("%s: %s", path, strerror(errno));
		free_file(file);
		return NULL;
	}
	return file;
}

int
sessions_file_descriptor(const struct sessions_file *file)
{
	return file->fd;
}

/* A link fails where there is something by now; a file system without links has rename(). */
static int
give_name(const struct sessions_file *file)
{
	struct stat status;

	if (!file->force && link(file->temporary, file->path) == 0)
		return unlink(file->temporary);
	if (!file->force && (errno == EEXIST || lstat(file->path, &status) == 0)) {
		errno = EEXIST;
		return -1;
	}
	return rename(file->temporary, file->path);
}

int
sessions_file_end(struct sessions_file *file, bool keep)
{
	int result = 0;

	if (keep && (fsync(file->fd) == -1 || give_name(file) == -1)) {
		sessions_output_complain("%s: %s", file->path, strerror(errno));
		result = -1;
	}
	if (!keep || result == -1)
		(void)unlink(file->temporary);
	free_file(file);
	return result;
}
