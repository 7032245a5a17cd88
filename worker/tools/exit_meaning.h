/*
 * Exit statuses that mean something other than failure.
 */
#ifndef HERMES_WORKER_TOOLS_EXIT_MEANING_H
#define HERMES_WORKER_TOOLS_EXIT_MEANING_H

#include <stdbool.h>

/* What `code` means when `command` ended with it, by its last simple command; NULL when there
 * is nothing to say. *normal: it is a result, not a failure. A constant. */
const char *exit_meaning_find(const char *command, int code, bool *normal);

#endif
