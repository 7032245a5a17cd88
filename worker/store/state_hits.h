/*
 * Messages that a query finds. The database is searched in slices of message numbers, each of
 * a few milliseconds, so that a big one does not keep the loop: by words, by parts of words
 * where there are no words, or by looking at every text where the indexes are missing.
 */
#ifndef HERMES_WORKER_STORE_STATE_HITS_H
#define HERMES_WORKER_STORE_STATE_HITS_H

#include "worker/store/state_query.h"
#include "worker/store/state_sql.h"

enum state_hits_sort { STATE_HITS_BEST, STATE_HITS_NEWEST, STATE_HITS_OLDEST };

/* Hits that are kept (as in Hermes). */
#define STATE_HITS_MAX 300

struct state_hit {
	int64_t id;
	char *session, *role;
	double score; /* smaller is better */
	bool demoted; /* of a machine's session: behind all others */
};

struct state_hits;

/* `roles` is an array of names; `current` a session whose rows in use are left out, may be
 * NULL. Both are copied. */
struct state_hits *state_hits_new(const char *query, size_t length, struct json_object *roles,
    const char *current, enum state_hits_sort sort);
void state_hits_free(struct state_hits *hits);
/* Searches one slice, inside a read job: SQLITE_OK or a busy code. It may be run again. */
int state_hits_search(struct state_hits *hits, sqlite3 *db);
/* Takes over what the slice found; false when there is nothing more to search. To be called
 * once after each successful slice. */
bool state_hits_advance(struct state_hits *hits);
/* The hits, best first; borrowed. */
const struct state_hit *state_hits_list(const struct state_hits *hits, size_t *count);
/* The text around what was found in a message, the match between >>> and <<<; `text` is the
 * message's. The caller frees it. */
char *state_hits_snippet(
    struct state_hits *hits, sqlite3 *db, int64_t id, const char *text, size_t length);

#endif
