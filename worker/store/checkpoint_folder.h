/*
 * The files below $HERMES_HOME/checkpoints/acp, for the parts of the store of checkpoints.
 */
#ifndef HERMES_WORKER_STORE_CHECKPOINT_FOLDER_H
#define HERMES_WORKER_STORE_CHECKPOINT_FOLDER_H

#include "common/buffer.h"
#include "worker/store/checkpoints.h"

#include <stdbool.h>
#include <stdint.h>

/* A list is not expected to be longer; more of it is not read. */
#define CHECKPOINT_LIST_MAX (16u << 20)

/* Makes a folder (0700) and those above it. 0 or -1. */
int checkpoint_folder_make(const char *path);
/* The folder of a session's lists. The caller frees it. */
char *checkpoint_folder_session(const char *root, const char *session);
/* Calls `each` with the names in a folder but "." and "..". False when they could not all be
 * read; a folder that is not there has none. */
bool checkpoint_folder_each(const char *folder,
    void (*each)(const char *folder, const char *name, void *arg), void *arg);
/* True for the name of a content. */
bool checkpoint_folder_is_hash(const char *name);
/* The lock: shared by those who keep, exclusive for those who remove. -1 when somebody has it,
 * for who keeps after a few tries within 10 ms. A descriptor, which closing unlocks. */
int checkpoint_folder_lock(const char *root, bool exclusive);
/* Writes a content under its name unless it is there. 0; -1 with errno. */
int checkpoint_folder_put(const char *root, const char *name, const char *bytes, size_t length);
/* Bytes of all contents. */
int64_t checkpoint_folder_total(const char *root);
/* All lines of a list that can be read; NULL with errno when the file cannot, ENOENT when there
 * is none. The caller owns it. */
struct json_object *checkpoint_folder_list(const char *path);

/* checkpoint_prune.c: removes lists that are too old, the oldest ones until the contents need
 * no more than `total_bytes`, and contents that no list names. Lists of running turns stay, and
 * everything when a list cannot be read. Returns the bytes that are left; -1 when nothing was
 * done. */
int64_t checkpoint_prune(const char *root, const struct checkpoint_limits *limits);
/* True when nobody has done it for an hour. */
bool checkpoint_prune_due(const char *root);

#endif
