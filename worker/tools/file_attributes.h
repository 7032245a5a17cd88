/*
 * Extended attributes and access lists of files, where the system has them.
 */
#ifndef HERMES_WORKER_TOOLS_FILE_ATTRIBUTES_H
#define HERMES_WORKER_TOOLS_FILE_ATTRIBUTES_H

/* Copies the attributes of `name` in `folder` to the open file `fd`, as far as possible. */
void file_attributes_copy(int folder, const char *name, int fd);

#endif
