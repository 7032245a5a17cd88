/*
 * The result of a search by words.
 */
#ifndef HERMES_WORKER_STORE_STATE_SEARCH_DISCOVER_H
#define HERMES_WORKER_STORE_STATE_SEARCH_DISCOVER_H

#include "worker/store/state_search.h"

/* Adds the entries for the hits to `result`, texts cut to `characters`. Runs inside a read job:
 * SQLITE_OK or the code of an error. */
int state_search_discover(sqlite3 *db, const struct state_search_request *request,
    struct state_hits *hits, int64_t characters, struct json_object *result);

#endif
