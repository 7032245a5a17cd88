/*
 * The models that servers themselves have told of: in memory, and in a file for other
 * processes. By acp.model_list there are none.
 */
#ifndef HERMES_WORKER_CONFIG_LIVE_MODELS_H
#define HERMES_WORKER_CONFIG_LIVE_MODELS_H

#include "worker/config/configuration.h"

#include <stdint.h>

/* What the provider's server at this address has told, [{id, context_length}]; NULL = nothing
 * that is known. Borrowed until the next keep or look. */
struct json_object *live_models_list(
    const struct configuration *configuration, const char *provider, const char *base_url);
/* The same by the address that this was asked of last for the provider. */
struct json_object *
live_models_of(const struct configuration *configuration, const char *provider);
bool live_models_has(const struct configuration *configuration, const char *provider,
    const char *base_url, const char *model);
/* The window of a model in tokens; 0 = the server has not told. */
int64_t live_models_window(const struct configuration *configuration, const char *provider,
    const char *base_url, const char *model);
/* Reads the file again: another process may have asked. True when the server is to be asked. */
bool live_models_look(
    const struct configuration *configuration, const char *provider, const char *base_url);
/* Keeps what the server has told, or with NULL that it did not; what was known before stays
 * then. `seconds`: for how long nobody asks again. */
void live_models_keep(const struct configuration *configuration, const char *provider,
    const char *base_url, struct json_object *models, int64_t seconds);

#endif
