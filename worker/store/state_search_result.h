/*
 * The results of a search, built from what the database has. Runs inside a read job and gives
 * its result code; STATE_REFUSED with a text means that something is not there.
 */
#ifndef HERMES_WORKER_STORE_STATE_SEARCH_RESULT_H
#define HERMES_WORKER_STORE_STATE_SEARCH_RESULT_H

#include "worker/store/state_search.h"

/* `hits` is that of DISCOVER, else NULL. *result is the caller's. */
int state_search_result(sqlite3 *db, const struct state_search_request *request,
    struct state_hits *hits, struct json_object **result, struct buffer *error);

#endif
