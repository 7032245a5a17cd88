/*
 * Sessions as their operator sees them: with counts and times, of one source or of all, those
 * that nobody has used for a while. It only reads. Everything runs inside a job.
 */
#ifndef HERMES_WORKER_STORE_STATE_OVERVIEW_H
#define HERMES_WORKER_STORE_STATE_OVERVIEW_H

#include "worker/store/state_file.h"

/* How many sessions state_overview_find() gives at most. */
#define STATE_FOUND_MAX 5

struct state_overview_query {
	const char *source;  /* NULL = of every source */
	const char *cwd;     /* only of this folder, as in state_list.h; NULL = of all */
	const char *session; /* only this one; NULL = all */
	int64_t limit;	     /* 0 = as many as there are */
	/* Seconds since the epoch. 0: those that a list shows. Else those that have not been
	 * active since, never prompted ones included, pinned ones left out. */
	double idle_since;
};

/* [{"sessionId", "title", "cwd", "source", "model", "createdAt", "updatedAt", "messages",
 * "_short": as much of the id as tells it from all others, at least 8 characters,
 * "_updated": seconds} …], the last active one first. Owned by the caller, NULL on error. */
int state_overview(struct state *state, const struct state_overview_query *query,
    struct json_object **sessions);
/* The same of one session, whether a list shows it or not; SQLITE_NOTFOUND. */
int state_overview_one(struct state *state, const char *session, struct json_object **entry);
/* The session with the id `text`, else those whose ids begin with it:
 * [{"sessionId", "source"} …]. `source` as above. */
int state_overview_find(
    struct state *state, const char *text, const char *source, struct json_object **found);

#endif
