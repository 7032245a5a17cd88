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
	bool own_variable;    /* base_url came from the provider's own variable */
	bool default_address; /* base_url is that of the row */
};

/* Chooses the provider (as in Hermes). `provider` may be NULL. */
int runtime_choice_make(const struct configuration *configuration, const char *provider,
    struct runtime_choice *choice, struct buffer *error);
void runtime_choice_clear(struct runtime_choice *choice);

/* Sets choice->base_url (2.9). */
int runtime_endpoint_find(struct runtime_choice *choice, struct buffer *error);
/* Finds the key that may go to choice->base_url, and its pool; NULL with 0 when none is needed.
 * A key of the pool may be bound to another address than the row's: base_url becomes that. */
int
runtime_key_find(struct runtime_choice *choice, struct runtime *runtime, struct buffer *error);
/* The address in the form in which it is spoken to; takes over `url`. */
char *runtime_endpoint_spoken(char *url);
/* True when a key of the row (not bound to an address) may go to choice->base_url. */
bool runtime_key_belongs(const struct runtime_choice *choice);
/* True for what can be sent as a key: one line of visible ASCII. */
bool runtime_key_fits_header(const char *key);
/* True for a coding key of Kimi, which works at another address than its other keys. */
bool runtime_key_is_kimi(const char *key);
/* True for a value that can be a key and is not a placeholder (2.2). */
bool runtime_key_usable(const struct provider_row *row, const char *value);
/* The same, and with `any` one that holds whatever. */
const char *runtime_key_variable_any(
    const struct configuration *configuration, const struct provider_row *row, bool any);
/* A block's text by the first of its names that is there, NULL at their end; its address. */
const char *runtime_member_of(struct json_object *block, const char *const *names);
const char *runtime_base_of(struct json_object *block);
/* The first variable of the row that holds a usable key; NULL when none does. */
const char *
runtime_key_variable(const struct configuration *configuration, const struct provider_row *row);

/* runtime_pool.c: keys of auth.json. The pool of keys that may go to choice->base_url, NULL
 * when there are none. */
struct credential_pool *runtime_pool_make(struct runtime_choice *choice);
/* True when auth.json holds a key for the row. */
bool
runtime_pool_holds(const struct configuration *configuration, const struct provider_row *row);
/* The row that auth.json has a key for: that of its active_provider, else the first one; NULL
 * when there is none. */
const struct provider_row *runtime_pool_row(const struct configuration *configuration);
/* Adds what auth.json holds for the provider, or for any when NULL, and why it is not used. */
void runtime_pool_explain(
    const struct runtime_choice *choice, const char *provider, struct buffer *error);

/* Fills in everything that is not provider, endpoint, key and model. */
void runtime_settings_fill(const struct runtime_choice *choice, struct runtime *runtime);
/* The model that config.yaml names, NULL when it names none; borrowed. */
const char *runtime_configured_model(const struct configuration *configuration);

#endif
