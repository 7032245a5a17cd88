/*
 * What files held before the edits of a session, so that they can be given back: contents
 * under their hashes, and a list for each turn that changed something. Below
 * $HERMES_HOME/checkpoints/acp: `objects/HASH`, `sessions/ID/NUMBER.jsonl`, `lock`; folders
 * 0700 and files 0600 from the beginning. Several processes may use it at once.
 */
#ifndef HERMES_WORKER_STORE_CHECKPOINTS_H
#define HERMES_WORKER_STORE_CHECKPOINTS_H

#include "common/buffer.h"
#include "common/json.h"
#include "worker/store/state_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct checkpoints;

struct checkpoint_limits {
	int64_t file_bytes;  /* a bigger content is not kept */
	int64_t total_bytes; /* of all contents together */
	int64_t seconds;     /* lists of older turns are removed */
};

/* What is about to happen to a file. */
struct checkpoint_edit {
	const char *path;   /* absolute, links resolved */
	const char *unkept; /* why the old content must not be kept; NULL: it is kept */
	bool existed, exists;
	const char *before, *after; /* contents, where there is a file */
	size_t before_length, after_length;
	mode_t mode;	  /* of the existing file */
	unsigned folders; /* parents that will be made */
};

/* How a file is named whose content is this: its hash, or CHECKPOINT_ABSENT. */
#define CHECKPOINT_ABSENT "-"
void checkpoint_name(bool exists, const char *bytes, size_t length, char name[STATE_HASH_SIZE]);

/* Touches no file before the first edit. */
struct checkpoints *
checkpoints_new(const char *home, const char *session, const struct checkpoint_limits *limits);
/* The session is stored under another id; before the first edit. `checkpoints` may be NULL. */
void checkpoints_rename(struct checkpoints *checkpoints, const char *session);
void checkpoints_free(struct checkpoints *checkpoints);
/* A turn begins; `key` tells it from others. `again`: another process may have begun it. */
void checkpoints_turn(struct checkpoints *checkpoints, const char *key, bool again);
/* To be called before each edit. 0; or -1 with the reason in `error` when the content is not
 * kept, which is told with the first edit of a file in a turn. */
int checkpoints_keep(
    struct checkpoints *checkpoints, const struct checkpoint_edit *edit, struct buffer *error);

/* What the last `*turns` turns with edits did, as an object with a member for each path:
 * {"before": name, "mode", "folders", "known": [names the file had by these turns],
 * "between": true when something else changed it in between, "unkept": reason}. *turns
 * becomes the number of turns that were found. The caller owns it. */
struct json_object *checkpoints_changes(struct checkpoints *checkpoints, int64_t *turns);
/* True when the file of a member of checkpoints_changes() had this name by these turns. */
bool checkpoint_is_known(struct json_object *change, const char *name);
/* The content of that name. -1 when it is gone or damaged. */
int checkpoints_read(struct checkpoints *checkpoints, const char *name, struct buffer *bytes);

/* The session is deleted: its lists go, and what nothing else needs. */
void checkpoints_forget(const char *home, const char *session);

#endif
