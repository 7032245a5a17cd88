/*
 * File descriptors: flags, and whole reads and writes.
 */
#ifndef HERMES_COMMON_FD_H
#define HERMES_COMMON_FD_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

int fd_set_cloexec(int fd, bool on);
int fd_set_nonblocking(int fd, bool on);
/* Moves `fd` to a number >= `least`, close-on-exec; returns the new one, -1 on error. */
int fd_move(int fd, int least);
/* Puts /dev/null (opened with `flags`) on number `fd`; 0 or -1. */
int fd_point_at_null(int fd, int flags);
/* Writes everything, waiting where it must; for files and small pipes only. */
int fd_write_all(int fd, const void *bytes, size_t length);
/* Reads to the end, at most `limit` bytes; -1 on error or when there is more (EFBIG). */
int fd_read_all(int fd, struct buffer *buffer, size_t limit);
/* Makes the names in a folder durable, as far as that is possible. Keeps errno. */
void fd_sync_folder(const char *path);
/* Closes keeping errno; -1 is ignored. */
void fd_close(int *fd);

#endif
