/*
 * Which models a user can choose, and what a choice means: the runtime behind a name like
 * "anthropic:claude-opus-4-8" or "custom:endpoint:model".
 */
#ifndef HERMES_WORKER_CONFIG_MODEL_CHOICE_H
#define HERMES_WORKER_CONFIG_MODEL_CHOICE_H

#include "worker/config/runtime.h"

#include <stdbool.h>

/* Models that can be chosen while `current` is the model, that one first: a list of objects
 * with value, name, description, provider, model. Owned by the caller. */
struct json_object *
model_choice_list(const struct configuration *configuration, const struct runtime *current);
/* The runtime of `name`, a value of the list, "provider:model" or a model of the current
 * provider. `open`: also a model that no list holds; else only where there is no list of its
 * provider's models. -1 with the reason in `error`. */
int
model_choice_resolve(const struct configuration *configuration, const struct runtime *current,
    const char *name, bool open, struct runtime *runtime, struct buffer *error);
/* The same by provider and model as they are stored, without a look at the lists. */
int model_choice_restore(const struct configuration *configuration, const char *provider,
    const char *model, struct runtime *runtime, struct buffer *error);
/* The levels of thinking that the model has, "default" first: a list of names; NULL when it has
 * none or they are not known. Owned by the caller. */
struct json_object *model_choice_levels(const struct runtime *runtime);

#endif
