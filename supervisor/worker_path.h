/*
 * Where the worker program is.
 */
#ifndef HERMES_SUPERVISOR_WORKER_PATH_H
#define HERMES_SUPERVISOR_WORKER_PATH_H

#include <stddef.h>

/* $HERMES_ACP_WORKER, else the one beside this executable (a build tree), else the installed
 * one. Does not check that it is there. */
void worker_path(char *path, size_t size);

#endif
