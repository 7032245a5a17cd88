/*
 * What is done with stored sessions from outside of them: list, fork, delete, the rest of an
 * answer whose worker died. Each is a job of a queue, so that a lock of another process delays
 * only the answer.
 */
#ifndef HERMES_WORKER_STORE_STATE_CATALOGUE_H
#define HERMES_WORKER_STORE_STATE_CATALOGUE_H

#include "worker/store/state_queue.h"

/* Called once. `error` is NULL on success. `code`: SQLITE_NOTFOUND when there is no such
 * session, STATE_REFUSED when it cannot be done for the reason in `error`, else a code of
 * SQLite. `result` is borrowed and NULL on error:
 *   list    as of state_list()
 *   read    as of state_session_read()
 *   fork    {"sessionId", "messages": number of them}
 *   delete  {"removed": false when there was none}
 *   tail    {} */
typedef void (*state_catalogue_done)(
    int code, struct json_object *result, const char *error, void *arg);

/* `cwd` and `cursor` may be NULL. */
void state_catalogue_list(struct state_queue *queue, const char *cwd, const char *cursor,
    bool all_sources, state_catalogue_done done, void *arg);
/* Makes session `id` from `source`, in folder `cwd`. */
void state_catalogue_fork(struct state_queue *queue, const char *source, const char *id,
    const char *cwd, state_catalogue_done done, void *arg);
void state_catalogue_delete(
    struct state_queue *queue, const char *session, state_catalogue_done done, void *arg);
/* Commits what the user saw of an answer beyond what its worker saved, as
 * state_messages_commit_tail() does; the worker is dead and its lease goes. */
void state_catalogue_tail(struct state_queue *queue, const char *session,
    struct json_object *texts, int64_t first, state_catalogue_done done, void *arg);

#endif
