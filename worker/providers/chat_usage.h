/*
 * Token counts as the many Chat Completions servers name them.
 */
#ifndef HERMES_WORKER_PROVIDERS_CHAT_USAGE_H
#define HERMES_WORKER_PROVIDERS_CHAT_USAGE_H

#include "common/json.h"
#include "worker/providers/provider.h"

/* All counts "not told". */
void chat_usage_clear(struct model_usage *usage);
/* Takes the counts of a "usage" object; those that it does not name stay as they are. */
void chat_usage_take(struct model_usage *usage, struct json_object *object);

#endif
