/*
 * Whether a session's folder is the one that is asked for. Both are resolved: symlinks where
 * the folder exists, dots and slashes by the text where it does not. Each folder is looked at
 * once.
 */
#ifndef HERMES_WORKER_STORE_STATE_FOLDER_H
#define HERMES_WORKER_STORE_STATE_FOLDER_H

#include <stdbool.h>

struct state_folder;

/* `path` NULL: every folder is the one. */
struct state_folder *state_folder_new(const char *path);
void state_folder_free(struct state_folder *folder);
bool state_folder_is(struct state_folder *folder, const char *path);

#endif
