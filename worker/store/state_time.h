/*
 * Times of the database for readers outside.
 */
#ifndef HERMES_WORKER_STORE_STATE_TIME_H
#define HERMES_WORKER_STORE_STATE_TIME_H

#include "common/json.h"

/* Sets `key` to the time as UTC of RFC 3339 with milliseconds. What no calendar has counts as
 * the beginning of 1970. */
void state_time_set(struct json_object *object, const char *key, double seconds);

#endif
