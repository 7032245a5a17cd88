/*
 * Going over from a key that a server does not take to the next one of its pool, within one
 * request, and entering that in auth.json.
 */
#ifndef HERMES_WORKER_PROVIDERS_MODEL_KEYS_H
#define HERMES_WORKER_PROVIDERS_MODEL_KEYS_H

#include "worker/providers/provider.h"

#include <stdbool.h>

struct model_keys;

/* For one request. `runtime` is the request's own: it gets another key at once when its own one
 * rests, and later by model_keys_next(). NULL when it has no pool. */
struct model_keys *model_keys_new(struct event_base *base, struct runtime *runtime);
/* What could not be entered because another program had the file is tried once more. */
void model_keys_free(struct model_keys *keys);
/* True when the answer speaks of the key and the runtime has got another one: try again, at
 * once. *notice is a line for the user, or NULL when this need not be known; the caller frees
 * it. `keys` may be NULL. */
bool model_keys_next(struct model_keys *keys, const struct model_answer *answer, char **notice);

#endif
