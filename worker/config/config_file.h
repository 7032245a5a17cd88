/*
 * The user's small files as wholes: read with a limit, replaced by a rename under a lock.
 * It never leaves half a file and never one that others can read.
 */
#ifndef HERMES_WORKER_CONFIG_CONFIG_FILE_H
#define HERMES_WORKER_CONFIG_CONFIG_FILE_H

#include "common/buffer.h"

#include <stddef.h>

enum config_file_state { CONFIG_FILE_READ, CONFIG_FILE_ABSENT, CONFIG_FILE_UNREADABLE };

/* Reads a regular file of at most `limit` bytes. UNREADABLE: `reason` gets the reason as a
 * phrase ("Permission denied"). */
enum config_file_state
config_file_read(const char *path, size_t limit, struct buffer *text, struct buffer *reason);
/* Makes `home` (0700) when it is missing and takes the lock <home>/<name>.lock. It waits no
 * longer than 8 ms. A descriptor to be closed, or -1 with a sentence in `error`; errno is
 * EWOULDBLOCK then when another program has it, else 0. */
int config_file_lock(const char *home, const char *name, struct buffer *error);
/* Puts `text` in place of the file, 0600, by a synced temporary file and rename; a symbolic
 * link keeps pointing at the file. 0, or -1 with a sentence in `error`. */
int
config_file_replace(const char *path, const char *text, size_t length, struct buffer *error);
/* The same for what may be lost with the power: it does not wait for the disk. */
int config_file_replace_soon(
    const char *path, const char *text, size_t length, struct buffer *error);

#endif
