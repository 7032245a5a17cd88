/*
 * What one verb of store.h does to the database, inside a transaction that may be undone and
 * run again: it changes nothing in memory but the place that it is given.
 *
 * The ledger of calls: a call that has started gets its row of role "tool" at once, with
 * effect_disposition "unknown" and a text that says so; its result takes the place of that
 * text. Whoever loads the session after a crash, Hermes included, finds a history that is
 * whole: a call without a row never started, and one with such a row must not run again.
 */
#ifndef HERMES_WORKER_STORE_STORE_OPERATION_H
#define HERMES_WORKER_STORE_STORE_OPERATION_H

#include "worker/store/state_file.h"
#include "worker/store/store_session.h"

enum store_operation_kind {
	STORE_USER,
	STORE_ASSISTANT,
	STORE_PARTIAL,
	STORE_STARTED,
	STORE_RESULT,
	STORE_DROP, /* the exchange of this turn */
	STORE_TURN_END,
	STORE_TURN_FAILED, /* a partial answer stays one */
	STORE_NOTHING	   /* only what was left over from before */
};

struct store_operation {
	enum store_operation_kind kind;
	struct json_object *message; /* NULL where the kind has none */
};

/* Where the session stands in the database, as of the last commit. */
struct store_place {
	unsigned generation; /* of the opened file; another one starts anew */
	bool row_known;	     /* the session's row has been seen or made */
	bool last_known;     /* last_row is what this process has seen */
	bool looked;	     /* an unfinished answer of an earlier process was looked for */
	int64_t last_row;    /* the last row in use */
	int64_t partial;     /* row of the answer that is being written, 0 = none */
	int64_t turn_row;    /* row of the turn's prompt, 0 = not known yet */
	double stamp;	     /* time of the last row */
};

/* Runs inside a job (state_queue.h) and gives its result code. Every operation but the end of
 * a turn takes or renews the session's lease for `holder`. */
int store_operation_run(struct state *state, const struct store_session_info *info,
    const char *holder, struct store_place *place, const struct store_operation *operation,
    struct buffer *error);

#endif
