/*
 * The file that an export goes to: it appears whole or not at all.
 */
#ifndef HERMES_WORKER_SESSIONS_SESSIONS_FILE_H
#define HERMES_WORKER_SESSIONS_SESSIONS_FILE_H

#include <stdbool.h>

struct sessions_file;

/* Makes a file beside `path` with mode 0600. What is at `path` is touched only with `force`,
 * and only when it is a file. NULL after a complaint. */
struct sessions_file *sessions_file_new(const char *path, bool force);
int sessions_file_descriptor(const struct sessions_file *file);
/* Gives it its name when `keep`, else takes it away; frees it. 0, or -1 after a complaint. */
int sessions_file_end(struct sessions_file *file, bool keep);

#endif
