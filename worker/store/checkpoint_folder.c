/*
 * Files of the store of checkpoints. A content is there as a whole under its name or not at
 * all; nothing here may ever be readable for others, and no link is followed.
 */
#include <config.h>

#include "worker/store/checkpoint_folder.h"

#include "common/alloc.h"
#include "common/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES 5

int
checkpoint_folder_make(const char *path)
{
	char *copy, *slash;
	int result;

	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	if (errno != ENOENT)
		return -1;
	copy = xstrdup(path);
	slash = strrchr(copy, '/');
	if (slash == NULL || slash == copy) {
		free(copy);
		return -1;
	}
	*slash = '\0';
	result = checkpoint_folder_make(copy);
	free(copy);
	if (result == 0 && mkdir(path, 0700) == -1 && errno != EEXIST)
		result = -1;
	return result;
}

/* Ids of our own and of the family; any other could name another folder. */
static bool
is_plain(const char *id)
{
	return id[0] != '\0' && id[0] != '.' && strlen(id) <= 100 &&
	       id[strspn(
		   id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] ==
		   '\0';
}

char *
checkpoint_folder_session(const char *root, const char *session)
{
	char hash[STATE_HASH_SIZE];

	if (is_plain(session))
		return xasprintf("%s/sessions/%s", root, session);
	state_hash(session, strlen(session), hash);
	return xasprintf("%s/sessions/.%s", root, hash);
}

bool
checkpoint_folder_each(const char *folder,
    void (*each)(const char *folder, const char *name, void *arg), void *arg)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;
	bool whole;

	if (directory == NULL)
		return errno == ENOENT;
	while (errno = 0, (entry = readdir(directory)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			each(folder, entry->d_name, arg);
	whole = errno == 0;
	closedir(directory);
	return whole;
}

bool
checkpoint_folder_is_hash(const char *name)
{
	return strspn(name, "0123456789abcdef") == STATE_HASH_SIZE - 1 &&
	       name[STATE_HASH_SIZE - 1] == '\0';
}

int
checkpoint_folder_lock(const char *root, bool exclusive)
{
	static const struct timespec pause = {0, 2 * 1000 * 1000};
	char *path = xasprintf("%s/lock", root);
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int how = (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB, tries = exclusive ? 1 : LOCK_TRIES;

	free(path);
	while (fd != -1 && flock(fd, how) == -1) {
		if (errno != EINTR && --tries == 0)
			fd_close(&fd);
		else
			(void)nanosleep(&pause, NULL);
	}
	return fd;
}

/* A content that was there when it was looked for stays: whoever removes one waits for us. */
static bool
is_there(const char *path, size_t length)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       (uint64_t)status.st_size == length;
}

int
checkpoint_folder_put(const char *root, const char *name, const char *bytes, size_t length)
{
	char *folder = xasprintf("%s/objects", root);
	char *path = xasprintf("%s/%s", folder, name);
	char *temporary = xasprintf("%s/.%s.%ld", folder, name, (long)getpid());
	int fd = -1, result = is_there(path, length) ? 0 : -1, code;

	if (result == 0 || checkpoint_folder_make(folder) == -1)
		goto done;
	(void)unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		goto done;
	if (fd_write_all(fd, bytes, length) == 0 && fsync(fd) == 0 &&
	    rename(temporary, path) == 0) {
		fd_sync_folder(folder);
		result = 0;
	} else {
		code = errno;
		(void)unlink(temporary);
		errno = code;
	}
done:
	fd_close(&fd);
	code = errno;
	free(temporary);
	free(path);
	free(folder);
	errno = code;
	return result;
}

static void
add_size(const char *folder, const char *name, void *arg)
{
	char *path = xasprintf("%s/%s", folder, name);
	struct stat status;

	if (lstat(path, &status) == 0 && S_ISREG(status.st_mode))
		*(int64_t *)arg += (int64_t)status.st_size;
	free(path);
}

int64_t
checkpoint_folder_total(const char *root)
{
	char *folder = xasprintf("%s/objects", root);
	int64_t total = 0;

	checkpoint_folder_each(folder, add_size, &total);
	free(folder);
	return total;
}

/* A line that was cut off when its process or the machine died is left out. */
struct json_object *
checkpoint_folder_list(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct buffer text = BUFFER_EMPTY;
	struct json_object *list = NULL, *line;
	const char *at, *end, *reason;
	size_t length;

	if (fd != -1 && fd_read_all(fd, &text, CHECKPOINT_LIST_MAX) == 0 && !text.failed) {
		list = json_object_new_array();
		at = buffer_text(&text);
		for (; *at != '\0'; at = end + (*end == '\n')) {
			length = strcspn(at, "\n");
			end = at + length;
			line = json_parse(at, length, &reason);
			if (json_object_is_type(line, json_type_object))
				json_object_array_add(list, line);
			else
				json_object_put(line);
		}
	}
	fd_close(&fd);
	buffer_free(&text);
	return list;
}
