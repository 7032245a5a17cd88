/*
 * The file of a database from the outside: its folder, its mode, making it whole at once,
 * moving a damaged one aside. It never opens a database that could be in use.
 */
#ifndef HERMES_WORKER_STORE_STATE_PLACE_H
#define HERMES_WORKER_STORE_STATE_PLACE_H

#include "common/buffer.h"

#include <stdbool.h>

/* Makes the folder (0700) where it is missing; 0, or -1 with a text. */
int state_place_folder(const char *home, struct buffer *error);
/* Takes the lock of the folder that those take who put a file there or move one away; never
 * waits. A descriptor to close, -1 with errno EWOULDBLOCK when somebody has it, -2 where the
 * file system has no such locks. */
int state_place_lock(const char *home);
/* Makes an empty file with mode 0600 that did not exist before; 0, or -1 with errno. */
int state_place_create(const char *path);
/* Takes a file and what SQLite keeps beside it out of the way of a new try. */
void state_place_remove(const char *path);
/* Gives a finished file its name, unless there is one by now (0 as well); -1 with errno. */
int state_place_publish(const char *from, const char *to);
/* Moves a file and its companions to names with a time stamp; the new name is appended to
 * `moved`. 0, or -1 with errno. */
int state_place_set_aside(const char *path, struct buffer *moved);
/* Takes the rights of others from a file and its companions, where it is ours. */
void state_place_tighten(const char *path);
/* True when the file lies where memory cannot be shared between machines, so that WAL does
 * not work: network and pass-through file systems. */
bool state_place_is_remote(const char *path);

#endif
