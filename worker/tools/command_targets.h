/*
 * Files that a command changes by redirection, tee, cp, mv, sed -i and the like, as far as
 * they are sensitive.
 */
#ifndef HERMES_WORKER_TOOLS_COMMAND_TARGETS_H
#define HERMES_WORKER_TOOLS_COMMAND_TARGETS_H

#include "worker/tools/command_view.h"

/* Calls `found` with a label for every sensitive file that the command changes. Looks at the
 * file system only to follow links. */
void command_targets_find(
    const struct command_view *view, void (*found)(const char *label, void *arg), void *arg);

#endif
