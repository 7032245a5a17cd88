/*
 * Where the programs are that a worker starts.
 */
#ifndef HERMES_WORKER_PROGRAM_PATH_H
#define HERMES_WORKER_PROGRAM_PATH_H

/* The absolute path in variable `variable`, else `name` beside this executable, else the
 * installed one. The caller frees it. */
char *program_path(const char *variable, const char *name);

#endif
