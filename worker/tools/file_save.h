/*
 * Writing a file so that it has either its old or its new content, whatever happens: a
 * temporary file beside it, then a rename; mode, owner and extended attributes stay. Where a
 * rename would break something (hard links, a folder that may not be written, an owner that
 * cannot be kept) the file is written in place.
 */
#ifndef HERMES_WORKER_TOOLS_FILE_SAVE_H
#define HERMES_WORKER_TOOLS_FILE_SAVE_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define FILE_SAVE_DEFAULT_MODE ((mode_t)-1) /* 0666 as the umask leaves it */

struct file_save {
	const char *path;  /* absolute; no component may be a symbolic link */
	const char *shown; /* the name that errors use */
	const char *bytes;
	size_t length;
	mode_t mode;	  /* of a new file; an existing one keeps its own */
	bool only_new;	  /* an existing file is an error */
	size_t folders;	  /* out: parent folders that were made */
	struct stat done; /* out: the file as it is now */
};

/* 0; or -1 with a sentence in `error`, and the old content (or no file) is still there. */
int file_save_write(struct file_save *save, struct buffer *error);
/* Makes the parent folders of `path` and counts them in *made, which must be 0. */
int
file_save_make_folders(const char *path, const char *shown, size_t *made, struct buffer *error);
/* Removes a regular file. */
int file_save_remove(const char *path, const char *shown, struct buffer *error);
/* Removes the innermost `count` parent folders of `path` as far as they are empty. */
void file_save_remove_folders(const char *path, size_t count);
/* Says beforehand whether the file may be written: not special, not read-only, parents are
 * folders. 0, or -1 with a sentence in `error`. Changes nothing. */
int file_save_check(const char *path, const char *shown, struct buffer *error);

#endif
