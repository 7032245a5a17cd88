/*
 * Rows of messages. A message is an object in the Chat Completions form; members that begin
 * with "_" are those of the row:
 *   _id          number of the row (reading only)
 *   _display     display_metadata: an object of the caller
 *   _display_kind, _api_content, _effect   columns display_kind, api_content,
 *                effect_disposition
 *   _partial     true: the answer was still being written (reading; see STATE_PARTIAL)
 *   _timestamp   seconds since the epoch (reading only)
 * Functions with a state run inside a job (state_queue.h) and give its result code.
 */
#ifndef HERMES_WORKER_STORE_STATE_MESSAGES_H
#define HERMES_WORKER_STORE_STATE_MESSAGES_H

#include "worker/store/state_file.h"

/* How a row is marked. */
enum {
	STATE_PARTIAL = 1, /* an answer that is not finished; a later save replaces it */
	STATE_UNKNOWN = 2  /* a tool's result that is not known: the call has started */
};

/* Appends a row and counts it in the session, in one transaction. `*stamp` is the time of the
 * last row that this process wrote: the new one is later; updated. *id is the row's number. */
int state_messages_append(struct state *state, const char *session, struct json_object *message,
    unsigned marks, double *stamp, int64_t *id);
/* Writes `message` in place of row `id`. */
int state_messages_replace(struct state *state, const char *session, int64_t id,
    struct json_object *message, unsigned marks, double *stamp);
/* Number of the session's last row in use, 0 when there is none; *partial tells its mark. */
int state_messages_last(struct state *state, const char *session, int64_t *id, bool *partial);
/* Number of the row of the last prompt, 0 when there is none. */
int state_messages_last_user(struct state *state, const char *session, int64_t *id);
/* The row of a started call without a result, after row `after`; 0 when there is none. */
int state_messages_started(
    struct state *state, const char *session, const char *call_id, int64_t after, int64_t *id);
/* Takes the mark from an unfinished answer, if there is one: it stays as it is. */
int state_messages_end_partial(struct state *state, const char *session);
/* What the user saw when no worker is left to save it: `texts`, an array, are the pieces of the
 * turn's text from number `first` on. Those that the last answer accounts for are left out; the
 * rest is added to an unfinished answer, which then counts as finished, or becomes one. */
int state_messages_commit_tail(
    struct state *state, const char *session, struct json_object *texts, int64_t first);

/* The rows in use, in their order (results of one answer in the order of its calls), as an
 * array that the caller owns. What cannot be read is left out with a line in the log. */
int
state_messages_load(struct state *state, const char *session, struct json_object **messages);
/* The same for people: with the rows that a summary has taken out of use, each message once.
 * The summary itself has "_summary" true. */
int state_messages_load_whole(
    struct state *state, const char *session, struct json_object **messages);

#endif
