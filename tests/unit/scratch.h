/*
 * A private folder for one test, and the files in it. It must never touch anything outside
 * the folder: links are removed and not followed.
 */
#ifndef HERMES_TESTS_UNIT_SCRATCH_H
#define HERMES_TESTS_UNIT_SCRATCH_H

#include "common/alloc.h"
#include "common/buffer.h"
#include "common/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A new empty folder (0700), absolute and without links. For scratch_remove(). */
static inline char *
scratch_new(void)
{
	char name[] = "/tmp/hermes-unit-XXXXXX";
	char *folder;

	assert_non_null(mkdtemp(name));
	folder = realpath(name, NULL);
	assert_non_null(folder);
	return folder;
}

static inline void
scratch_empty(const char *folder)
{
	char *inner;
	struct dirent *entry;
	DIR *directory = opendir(folder);

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		inner = xasprintf("%s/%s", folder, entry->d_name);
		if (unlink(inner) == -1) {
			scratch_empty(inner);
			(void)rmdir(inner);
		}
		free(inner);
	}
	if (directory != NULL)
		closedir(directory);
}

/* Removes and frees the folder, whatever is in it. */
static inline void
scratch_remove(char *folder)
{
	scratch_empty(folder);
	assert_int_equal(rmdir(folder), 0);
	free(folder);
}

/* The same where the test is to have left nothing but these: files and empty folders, in an
 * order in which they can be removed; the list ends with NULL. Not all need to exist. */
static inline void
scratch_remove_only(char *folder, const char *const *names)
{
	char *path;

	for (; *names != NULL; names++) {
		path = xasprintf("%s/%s", folder, *names);
		(void)remove(path);
		free(path);
	}
	assert_int_equal(rmdir(folder), 0);
	free(folder);
}

/* Makes the folders above `path` that are missing. */
static inline void
scratch_make_parents(const char *path)
{
	char *copy = xstrdup(path), *slash;

	for (slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(copy, 0700);
		*slash = '/';
	}
	free(copy);
}

/* Writes a file (0600 when it is new), with the folders above it. */
static inline void
scratch_put(const char *path, const void *bytes, size_t length)
{
	int fd;

	scratch_make_parents(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd == -1)
		fail_msg("%s cannot be written", path);
	assert_int_equal(fd_write_all(fd, bytes, length), 0);
	assert_int_equal(close(fd), 0);
}

static inline void
scratch_put_text(const char *path, const char *text)
{
	scratch_put(path, text, strlen(text));
}

/* Asserts that the file holds exactly this text. */
static inline void
scratch_holds(const char *path, const char *expected)
{
	struct buffer text = BUFFER_EMPTY;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		fail_msg("%s is missing", path);
	assert_int_equal(fd_read_all(fd, &text, 1 << 20), 0);
	assert_string_equal(buffer_text(&text), expected);
	assert_int_equal(text.length, strlen(expected));
	buffer_free(&text);
	close(fd);
}

/* The permission bits of a file or folder. */
static inline mode_t
scratch_mode(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_mode & 07777;
}

#endif
