/*
 * What the files behind runtime.h share: the provider that was chosen and the blocks of
 * config.yaml that speak of it. Not for other folders.
 */
#ifndef HERMES_WORKER_CONFIG_RUNTIME_PRIVATE_H
#define HERMES_WORKER_CONFIG_RUNTIME_PRIVATE_H

#include "worker/config/provider_table.h"
#include "worker/config/runtime.h"

/* The blocks are borrowed from the configuration. */
struct runtime_choice {
	const struct configuration *configuration;
	const struct provider_row *row;	 /* NULL: an endpoint of the user's own */
	char *id;			 /* "openrouter", "custom", "custom:name" */
	char *name;			 /* of a named endpoint, else NULL */
	struct json_object *block;	 /* its entry in providers or custom_providers */
	char *block_path;		 /* "providers.x", for problems */
	struct json_object *model_block; /* `model` when it speaks of this provider */
	char *base_url;
	bool own_variable; /* base_url came from the provider's own variable */
};

/* Chooses the provider (as in Hermes). `provider` may be NULL. */
int runtime_choice_make(const struct configuration *configuration, const char *provider,
    struct runtime_choice *choice, struct buffer *error);
void runtime_choice_clear(struct runtime_choice *choice);

/* Sets choice->base_url (2.9). */
int runtime_endpoint_find(struct runtime_choice *choice, struct buffer *error);
/* Finds the key that may go to choice->base_url; NULL with 0 when none is needed. */
int runtime_key_find(const struct runtime_choice *choice, char **key, struct buffer *error);
/* True for a value that can be a key and is not a placeholder (2.2). */
bool runtime_key_usable(const struct provider_row *row, const char *value);
/* The first variable of the row that holds a usable key; NULL when none does. */
const char *
runtime_key_variable(const struct configuration *configuration, const struct provider_row *row);

/* Fills in everything that is not provider, endpoint, key and model. */
void runtime_settings_fill(const struct runtime_choice *choice, struct runtime *runtime);
/* The model that config.yaml names, NULL when it names none; borrowed. */
const char *runtime_configured_model(const struct configuration *configuration);

#endif
