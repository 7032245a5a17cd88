/*
 * The backend of store.h that keeps a session in state.db. Nothing waits for the disk or for
 * a lock but the commit itself; what could not be saved for now is saved with the next thing.
 */
#ifndef HERMES_WORKER_STORE_STORE_SQLITE_H
#define HERMES_WORKER_STORE_STORE_SQLITE_H

#include "worker/store/store.h"
#include "worker/store/store_session.h"

#include <stdbool.h>

struct event_base;
struct state_queue;

/* The session's row is made with its first message. `home` is the folder of state.db; the
 * database is opened by the first job, so that a lock of somebody else delays nothing here.
 * NULL with a text when `info` has no session id. store_free() saves what is left for at most
 * a second and calls nobody back. */
struct store *store_sqlite_new(struct event_base *base, const char *home,
    const struct store_session_info *info, struct buffer *error);

/* What store_sqlite_load() found. Everything is borrowed and gone after the callback. */
struct store_loaded {
	const char *id;		      /* of the row: a copy's for another program's session */
	struct json_object *session;  /* as of state_session_read(); NULL = there is none */
	struct json_object *messages; /* as of state_messages_load() */
	const char *error;	      /* why nothing could be read, or NULL */
};
typedef void (*store_loaded_callback)(const struct store_loaded *loaded, void *arg);

/* Reads the session; from then on a prompt is refused when another program has gone on with
 * it since. It writes nothing. */
void store_sqlite_load(struct store *store, store_loaded_callback loaded, void *arg);
/* How the session is run has changed; the row follows where there is one. `saved` may be
 * NULL. */
void store_sqlite_describe(
    struct store *store, const struct store_session_info *info, store_saved saved, void *arg);
/* As state_title_set(); `titled` is told the title that the session has then (NULL = none or
 * an error), and may be NULL. */
void store_sqlite_set_title(struct store *store, const char *title, const char *source,
    void (*titled)(const char *title, void *arg), void *arg);
/* The title that the session has once everything that was given to the store before is saved,
 * and where it is from ("derived", "llm", "user" …); both NULL for none or an error. */
void store_sqlite_read_title(struct store *store,
    void (*found)(const char *title, const char *source, void *arg), void *arg);
void store_sqlite_add_usage(struct store *store, const struct store_usage *usage);
/* Saves what is waiting, without the loop, for at most `milliseconds`; callbacks are called.
 * Returns how many jobs are left. */
size_t store_sqlite_finish(struct store *store, int64_t milliseconds);
/* What is still waiting is not saved by store_free() either: somebody else goes on with the
 * session from what is stored now. */
void store_sqlite_forget(struct store *store);
/* What the user should be told once (a damaged database was moved aside), or NULL; the caller
 * frees it. */
char *store_sqlite_notice(struct store *store);
/* For further jobs on the same database; borrowed. */
struct state_queue *store_sqlite_queue(struct store *store);

#endif
