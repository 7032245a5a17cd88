/*
 * JSON as the database keeps it: as Python writes it by default, so that a value which Hermes
 * wrote and one that we wrote are the same bytes.
 */
#ifndef HERMES_WORKER_STORE_STATE_JSON_H
#define HERMES_WORKER_STORE_STATE_JSON_H

#include "common/buffer.h"
#include "common/json.h"

/* Appends `value` (NULL is null): ", " and ": " between things, everything outside ASCII as
 * \uXXXX, surrogate pairs above U+FFFF. */
void state_json_append(struct buffer *buffer, struct json_object *value);
/* Parses an object that was stored; NULL when `text` is NULL or not an object. */
struct json_object *state_json_object(const char *text, size_t length);

#endif
