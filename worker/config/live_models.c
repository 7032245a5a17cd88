/*
 * Lists of models by provider and address. This file asks no server, and what it knows is a
 * help for choosing: what the user has configured beats it.
 */
#include <config.h>

#include "worker/config/live_models.h"

#include "worker/config/configuration_private.h"
#include "worker/config/model_cache.h"
#include "common/alloc.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool
is_wanted(const struct configuration *configuration)
{
	return configuration_boolean(configuration, "acp.model_list", true);
}

/* Where an entry stands; under the provider alone stands the address that was asked of last.
 * The caller frees it. */
static char *
key_of(const char *provider, const char *base_url)
{
	return xasprintf("%s %s", provider, base_url);
}

/* Takes over `models`. */
static void
remember(const struct configuration *configuration, const char *provider, const char *base_url,
    struct json_object *models)
{
	struct json_object *entry = json_object_new_object();
	char *key = key_of(provider, base_url);

	json_set(entry, "models", models);
	json_set(configuration_live_models(configuration), key, entry);
	free(key);
}

static struct json_object *
entry_of(const struct configuration *configuration, const char *provider, const char *base_url)
{
	char *key = key_of(provider, base_url);
	struct json_object *entry =
	    json_member_object(configuration_live_models(configuration), key);

	free(key);
	return entry;
}

bool
live_models_look(
    const struct configuration *configuration, const char *provider, const char *base_url)
{
	struct json_object *models;
	int64_t again;

	if (!is_wanted(configuration))
		return false;
	models =
	    model_cache_read(configuration_home(configuration), provider, base_url, &again);
	if (models != NULL || entry_of(configuration, provider, base_url) == NULL)
		remember(configuration, provider, base_url, models);
	return again <= (int64_t)time(NULL);
}

struct json_object *
live_models_list(
    const struct configuration *configuration, const char *provider, const char *base_url)
{
	struct json_object *entry = entry_of(configuration, provider, base_url);

	if (entry == NULL) {
		live_models_look(configuration, provider, base_url);
		entry = entry_of(configuration, provider, base_url);
	}
	json_set_text(configuration_live_models(configuration), provider, base_url);
	return json_member_array(entry, "models");
}

struct json_object *
live_models_of(const struct configuration *configuration, const char *provider)
{
	const char *base_url =
	    json_member_string(configuration_live_models(configuration), provider);

	return base_url != NULL
		   ? json_member_array(entry_of(configuration, provider, base_url), "models")
		   : NULL;
}

static struct json_object *
find(struct json_object *models, const char *model)
{
	size_t count = models != NULL ? json_object_array_length(models) : 0, i;
	struct json_object *entry;

	for (i = 0; i < count; i++) {
		entry = json_object_array_get_idx(models, i);
		if (strcmp(json_member_text(entry, "id", ""), model) == 0)
			return entry;
	}
	return NULL;
}

bool
live_models_has(const struct configuration *configuration, const char *provider,
    const char *base_url, const char *model)
{
	return find(live_models_list(configuration, provider, base_url), model) != NULL;
}

int64_t
live_models_window(const struct configuration *configuration, const char *provider,
    const char *base_url, const char *model)
{
	int64_t tokens = 0;

	json_member_integer(find(live_models_list(configuration, provider, base_url), model),
	    "context_length", &tokens);
	return tokens;
}

void
live_models_keep(const struct configuration *configuration, const char *provider,
    const char *base_url, struct json_object *models, int64_t seconds)
{
	struct buffer error = BUFFER_EMPTY;

	if (models != NULL)
		remember(configuration, provider, base_url, json_object_get(models));
	if (model_cache_write(configuration_home(configuration), provider, base_url,
		live_models_list(configuration, provider, base_url),
		(int64_t)time(NULL) + seconds, &error) == -1)
		log_info("models", "the list is not kept: %s", buffer_text(&error));
	buffer_free(&error);
}
