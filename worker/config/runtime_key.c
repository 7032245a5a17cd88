/*
 * Which key goes with a request: one that config.yaml names, one of auth.json, one of a
 * variable. A key must never reach a host that it does not belong to, whatever the files say.
 */
#include <config.h>

#include "worker/config/configuration_private.h"
#include "worker/config/credential_pool.h"
#include "worker/config/endpoint.h"
#include "worker/config/runtime_private.h"

#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The key that a block of config.yaml names, when it belongs to where we go. */
static const char *
key_of_block(const struct runtime_choice *choice, struct json_object *block, const char *path,
    bool is_model)
{
	static const char *const key_names[] = {"api_key", NULL};
	static const char *const model_key_names[] = {"api_key", "api", NULL};
	static const char *const variable_names[] = {"key_env", "api_key_env", NULL};
	const char *base =
	    is_model ? json_member_string(block, "base_url") : runtime_base_of(block);
	char host[ENDPOINT_HOST_SIZE], own[ENDPOINT_HOST_SIZE];
	const char *key, *variable;

	if (base != NULL && *base != '\0') {
		char *normal = endpoint_normalise(base);

		endpoint_host(normal, own);
		free(normal);
		endpoint_host(choice->base_url, host);
		if (strcmp(own, host) != 0)
			return NULL;
	}
	key = runtime_member_of(block, is_model ? model_key_names : key_names);
	variable = runtime_member_of(block, variable_names);
	if (key != NULL || variable == NULL)
		return key;
	key = configuration_variable(choice->configuration, variable);
	if (key == NULL)
		configuration_note(choice->configuration, path,
		    "the variable %s that should hold the key is not set", variable);
	return key;
}

/* Keys of the environment go by host alone (2.9). */
static const char *
key_of_host(const struct runtime_choice *choice)
{
	char host[ENDPOINT_HOST_SIZE];
	const struct provider_row *rows;
	const char *variable, *key = NULL;
	size_t count, i;
	char *vendor;

	endpoint_host(choice->base_url, host);
	rows = provider_table(&count);
	for (i = 0; i < count; i++) {
		if (rows[i].never_chosen || !provider_table_owns_host(&rows[i], host))
			continue;
		variable = runtime_key_variable(choice->configuration, &rows[i]);
		if (variable != NULL)
			return configuration_variable(choice->configuration, variable);
	}
	/* The name of a provider's variable must not be had by registering its name elsewhere.
	 */
	vendor = endpoint_vendor_variable(host);
	if (vendor != NULL && provider_table_by_key(vendor) == NULL)
		key = configuration_variable(choice->configuration, vendor);
	free(vendor);
	return key;
}

static const char *
key_of_row(const struct runtime_choice *choice)
{
	const struct provider_row *row = choice->row;
	char host[ENDPOINT_HOST_SIZE];
	const char *variable;

	if (!runtime_key_belongs(choice))
		return NULL;
	endpoint_host(choice->base_url, host);
	variable = runtime_key_variable_any(
	    choice->configuration, row, !provider_table_owns_host(row, host));
	return variable != NULL ? configuration_variable(choice->configuration, variable)
				: NULL;
}

static int
refuse_no_key(const struct runtime_choice *choice, struct buffer *error)
{
	const char *home = configuration_home(choice->configuration);
	const char *held = runtime_key_variable_any(choice->configuration, choice->row, true);
	char host[ENDPOINT_HOST_SIZE];

	endpoint_host(choice->base_url, host);
	if (held == NULL)
		buffer_printf(error,
		    "The provider %s has no API key. Put %s=… into %s/.env or run "
		    "`hermes-acp --setup`.",
		    choice->id, choice->row->keys[0], home);
	else if (provider_table_owns_host(choice->row, host))
		buffer_printf(error,
		    "%s does not hold a usable API key for %s%s%s. Correct it in %s/.env.",
		    held, choice->id,
		    choice->row->key_prefix != NULL ? ": one starts with " : "",
		    choice->row->key_prefix != NULL ? choice->row->key_prefix : "", home);
	else
		buffer_printf(error,
		    "%s is not sent to %s, to which it does not belong. If it shall be, say "
		    "\"key_env: %s\" beside the base_url in %s/config.yaml.",
		    held, host, held, home);
	runtime_pool_explain(choice, choice->id, error);
	return -1;
}

/* A key of the pool; NULL when none may go there. */
static const char *
key_of_pool(struct runtime_choice *choice, struct runtime *runtime)
{
	uint32_t random = 0;

	runtime->pool = runtime_pool_make(choice);
	if (runtime->pool == NULL)
		return NULL;
	if (getentropy(&random, sizeof random) == -1)
		random = (uint32_t)time(NULL);
	runtime->credential = credential_pool_choose(
	    runtime->pool, CREDENTIAL_NONE, 0, (double)time(NULL), random);
	return credential_pool_key(runtime->pool, runtime->credential);
}

int
runtime_key_find(struct runtime_choice *choice, struct runtime *runtime, struct buffer *error)
{
	const char *found = key_of_block(choice, choice->model_block, "model", true);

	if (found == NULL)
		found = key_of_block(choice, choice->block, choice->block_path, false);
	if (found == NULL)
		found = key_of_pool(choice, runtime);
	if (found == NULL)
		found = key_of_row(choice);
	if (found == NULL)
		found = key_of_host(choice);
	if (found == NULL && choice->row != NULL && !choice->row->key_optional &&
	    !endpoint_is_loopback(choice->base_url))
		return refuse_no_key(choice, error);
	if (found == NULL || strcmp(found, "no-key-required") == 0)
		return 0;
	if (!runtime_key_fits_header(found)) {
		buffer_printf(error,
		    "The API key for %s holds a blank, a control character or one that is not "
		    "ASCII. Correct it in %s/.env or config.yaml.",
		    choice->id, configuration_home(choice->configuration));
		return -1;
	}
	runtime->api_key = xstrdup(found);
	return 0;
}
