/*
 * The temporary file that a save is written to before it is renamed: made, checked, and the
 * ones of processes that were killed swept away.
 */
#ifndef HERMES_WORKER_TOOLS_FILE_TEMPORARY_H
#define HERMES_WORKER_TOOLS_FILE_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FILE_TEMPORARY_NAME 48 /* bytes that a name needs at most */

/* A new file in `folder`, open for reading and writing and locked for as long as it is open;
 * its name goes to `name`. The descriptor, or -1 with errno. */
int file_temporary_open(int folder, mode_t mode, char name[FILE_TEMPORARY_NAME]);
/* True when the file holds exactly these bytes; else false with errno. */
bool file_temporary_holds(int fd, const char *bytes, size_t length);
/* Removes from `folder` what killed processes left there: regular files with our own name
 * pattern whose process is gone and that nobody holds locked. Errors are ignored. */
void file_temporary_sweep(int folder);

#endif
