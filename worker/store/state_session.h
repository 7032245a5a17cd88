/*
 * Rows of sessions. Every function runs inside a job of state_queue.h (or state_queue_once())
 * and gives its result code: SQLITE_OK, a code of SQLite, or STATE_REFUSED with the reason in
 * `error`. Keys and other secrets are never among what is written.
 */
#ifndef HERMES_WORKER_STORE_STATE_SESSION_H
#define HERMES_WORKER_STORE_STATE_SESSION_H

#include "worker/store/state_file.h"
#include "worker/store/store_session.h"

/* The row as an object: the columns under their names, and "config", the parsed model_config
 * (an object, empty when there is none), and "system_prompt", the one that it was asked with.
 * Only sessions of source "acp" count. SQLITE_OK with *session owned by the caller, or
 * SQLITE_NOTFOUND with *session NULL. */
int state_session_read(struct state *state, const char *id, struct json_object **session);
/* The same of whatever source, without the prompt. */
int state_session_read_any(struct state *state, const char *id, struct json_object **session);
/* Makes the row, or completes one: what a row says already wins, except a placeholder. A
 * session that had ended is open again; one that was continued in another (end_reason
 * "compression") is refused. */
int state_session_create(
    struct state *state, const struct store_session_info *info, struct buffer *error);
/* Writes what `info` has over what the row has; members of model_config that are not named
 * stay. Does nothing where there is no row: it comes with the first message. */
int state_session_update(struct state *state, const struct store_session_info *info);
/* Removes the session with its messages and everything that hangs on it. Sessions that were
 * forked from it stay. Succeeds when there is none (*removed false). Refused while somebody
 * else's turn runs in it. `holder` as in state_lease.h. */
int state_session_delete(struct state *state, const char *id, const char *holder, bool *removed,
    struct buffer *error);
/* The same of whatever source; of a session that continues others after summaries, those of
 * other sources go with it, which otherwise stay. */
int state_session_delete_any(struct state *state, const char *id, const char *holder,
    bool *removed, struct buffer *error);

#endif
