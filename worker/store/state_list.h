/*
 * The list of sessions as the catalogue shows it, page by page. A page costs one walk over the
 * sessions and reads no messages but the first ones of what it shows.
 */
#ifndef HERMES_WORKER_STORE_STATE_LIST_H
#define HERMES_WORKER_STORE_STATE_LIST_H

#include "worker/store/state_file.h"

#define STATE_LIST_PAGE 50

/* One page as {"sessions": [{"sessionId", "cwd", "title", "updatedAt"} …], "nextCursor"},
 * newest activity first; nextCursor is absent on the last page. `cwd` NULL lists all folders,
 * else only sessions of that folder, symlinks and trailing slashes resolved on both sides.
 * `cursor` is one of an earlier page or NULL; it stays valid whatever happens to the sessions.
 * With `all_sources` sessions of other programs are among them, with {"_meta": {"hermesAcp":
 * {"source"}}}. STATE_REFUSED when the cursor is not one. Runs inside a job. */
int state_list(struct state *state, const char *cwd, const char *cursor, bool all_sources,
    struct json_object **page, struct buffer *error);

#endif
