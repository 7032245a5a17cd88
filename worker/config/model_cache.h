/*
 * One provider's list of models as a file in $HERMES_HOME/cache, for the next process.
 */
#ifndef HERMES_WORKER_CONFIG_MODEL_CACHE_H
#define HERMES_WORKER_CONFIG_MODEL_CACHE_H

#include "common/json.h"

#include <stdbool.h>
#include <stdint.h>

/* True for what can be the name of a model: one word of at most 256 bytes. */
bool model_cache_name_fits(const char *name);
/* The models [{id, context_length}] that the file holds, owned by the caller; NULL = none.
 * `again` is the time (of time()) from which the server is to be asked; 0 = now. */
struct json_object *
model_cache_read(const char *home, const char *provider, const char *base_url, int64_t *again);
/* Puts another file in place of it; `models` may be NULL. 0, or -1 with a sentence in `error`.
 * What is written may be lost with the power. */
int model_cache_write(const char *home, const char *provider, const char *base_url,
    struct json_object *models, int64_t again, struct buffer *error);

#endif
