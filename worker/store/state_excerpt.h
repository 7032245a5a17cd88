/*
 * Messages of a stored session as a model reads them again: cut to a size, without what only
 * the database needs. It only reads. Results are SQLITE_OK or the code of an error.
 */
#ifndef HERMES_WORKER_STORE_STATE_EXCERPT_H
#define HERMES_WORKER_STORE_STATE_EXCERPT_H

#include "worker/store/state_sql.h"

struct state_excerpt_place {
	const char *session;
	int64_t anchor;	    /* this message is marked */
	int64_t characters; /* of each text; the rest is cut */
};

/* Appends to `list` the messages around the anchor, at most `window` before and behind, and
 * tells how many; `talk` leaves out all but the user's and the assistant's. Nothing is
 * appended when the anchor is not a message of the session that can be shown. */
int state_excerpt_around(sqlite3 *db, const struct state_excerpt_place *place, int64_t window,
    bool talk, struct json_object *list, int64_t *before, int64_t *after);
/* Appends the first or last messages of the session with text that user and assistant wrote,
 * leaving out summaries. */
int state_excerpt_end(sqlite3 *db, const struct state_excerpt_place *place, bool last,
    int64_t count, struct json_object *list);
/* Appends the first `first` and the last `last` messages in use, or all when there are no more;
 * *total is how many there are. */
int state_excerpt_whole(sqlite3 *db, const struct state_excerpt_place *place, int64_t first,
    int64_t last, struct json_object *list, int64_t *total);
/* The text of a message, owned by the caller; *text is NULL when there is no such message. */
int state_excerpt_text(sqlite3 *db, int64_t id, char **text);

#endif
