/*
 * Which provider is meant. It must never fall back to another provider than the one that
 * was named, and never choose by itself while config.yaml cannot be read.
 */
#include <config.h>

#include "worker/config/configuration_private.h"
#include "worker/config/endpoint.h"
#include "worker/config/runtime_private.h"

#include "common/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const custom_names[] = {"custom", "ollama", "vllm", "llamacpp", "llama.cpp"};

/* Names are compared without regard to case, with blanks as "-". */
static bool
same_name(const char *a, const char *b)
{
	for (; *a != '\0' && *b != '\0'; a++, b++)
		if (tolower((unsigned char)(*a == ' ' ? '-' : *a)) !=
		    tolower((unsigned char)(*b == ' ' ? '-' : *b)))
			return false;
	return *a == *b;
}

static bool
is_custom_name(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof custom_names / sizeof *custom_names; i++)
		if (strcasecmp(custom_names[i], name) == 0)
			return true;
	return false;
}

static const char *
text_of(struct json_object *block, const char *key)
{
	const char *text = json_member_string(block, key);

	return text != NULL && *text != '\0' ? text : NULL;
}

/* The entry of the list custom_providers with that name. */
static bool
find_listed(struct runtime_choice *choice, const char *name)
{
	struct json_object *list, *entry;
	const char *own;
	size_t i;

	list = configuration_value(choice->configuration, "custom_providers");
	if (list != NULL && !json_object_is_type(list, json_type_array)) {
		configuration_note(choice->configuration, "custom_providers",
		    "this must be a list; it is not used");
		return false;
	}
	for (i = 0; list != NULL && i < json_object_array_length(list); i++) {
		entry = json_object_array_get_idx(list, i);
		own = text_of(entry, "name");
		if (own == NULL || !same_name(own, name))
			continue;
		choice->block = entry;
		choice->name = xstrdup(own);
		choice->block_path = xasprintf("custom_providers[%zu]", i);
		return true;
	}
	return false;
}

/* The member of the mapping providers with that name. */
static bool
find_mapped(struct runtime_choice *choice, const char *name)
{
	struct json_object *map = configuration_value(choice->configuration, "providers");

	if (!json_object_is_type(map, json_type_object))
		return false;
	json_object_object_foreach(map, key, entry)
	{
		if (!same_name(key, name) || !json_object_is_type(entry, json_type_object))
			continue;
		choice->block = entry;
		choice->block_path = xasprintf("providers.%s", key);
		choice->name = xstrdup(json_member_text(entry, "name", key));
		return true;
	}
	return false;
}

static void
take_row(struct runtime_choice *choice, const struct provider_row *row)
{
	choice->row = row;
	choice->id = xstrdup(row->id);
	find_mapped(choice, row->id);
}

static void
append_known_names(struct buffer *error)
{
	const struct provider_row *rows;
	size_t count, i;

	rows = provider_table(&count);
	for (i = 0; i < count; i++)
		buffer_printf(error, "%s, ", rows[i].id);
	buffer_append_text(error, "custom, custom:<name>");
}

static int
refuse_name(const struct runtime_choice *choice, const char *name, struct buffer *error)
{
	const char *home = configuration_home(choice->configuration), *reason;

	if (provider_table_unsupported(name, &reason)) {
		buffer_printf(error,
		    "The provider \"%s\" is not supported by this version: %s. Name another "
		    "one "
		    "under model.provider in %s/config.yaml, or run `hermes-acp --setup`.",
		    name, reason, home);
		return -1;
	}
	if (strncasecmp(name, "custom:", 7) == 0)
		buffer_printf(error,
		    "The provider \"%s\" is not defined: no entry of custom_providers or "
		    "providers in %s/config.yaml has that name.",
		    name, home);
	else
		buffer_printf(error,
		    "The provider \"%s\" is not known. Correct model.provider in "
		    "%s/config.yaml or run `hermes-acp --setup`. Known are: ",
		    name, home);
	if (strncasecmp(name, "custom:", 7) != 0) {
		append_known_names(error);
		buffer_append_text(error, ".");
	}
	return -1;
}

/* A provider by its name. */
static int
choose_named(struct runtime_choice *choice, const char *name, struct buffer *error)
{
	const struct provider_row *row;

	if (is_custom_name(name)) {
		choice->id = xstrdup("custom");
		return 0;
	}
	if (strncasecmp(name, "custom:", 7) == 0) {
		if (!find_listed(choice, name + 7) && !find_mapped(choice, name + 7))
			return refuse_name(choice, name, error);
	} else if (!find_listed(choice, name)) {
		row = provider_table_find(name);
		if (row != NULL) {
			take_row(choice, row);
			return 0;
		}
		if (!find_mapped(choice, name))
			return refuse_name(choice, name, error);
	}
	choice->id = xasprintf("custom:%s", choice->name);
	return 0;
}

/* Whether the row can be used as things are: by a key, or by an own server named by its
 * variable. */
static bool
is_usable(const struct configuration *configuration, const struct provider_row *row)
{
	const char *base = row->base_variable != NULL
			       ? configuration_variable(configuration, row->base_variable)
			       : NULL;

	if (row->never_chosen || (row->base_url == NULL && base == NULL))
		return false;
	if (runtime_key_variable(configuration, row) != NULL)
		return true;
	if (strcmp(row->id, "openrouter") == 0 && runtime_pool_holds(configuration, row))
		return true;
	return base != NULL && !row->strict_host && endpoint_is_loopback(base);
}

/* The first row with a key whose dialect we speak; else the first one with a key at all, so
 * that the error speaks of the key that is there. */
static const struct provider_row *
first_usable(const struct configuration *configuration)
{
	const struct provider_row *rows, *other = NULL;
	size_t count, i;

	rows = provider_table(&count);
	for (i = 0; i < count; i++) {
		if (!is_usable(configuration, &rows[i]))
			continue;
		if (provider_table_row_supported(&rows[i]))
			return &rows[i];
		if (other == NULL)
			other = &rows[i];
	}
	return other;
}

static const struct provider_row *
row_of_host(const char *url)
{
	char host[ENDPOINT_HOST_SIZE];
	const struct provider_row *rows;
	size_t count, i;

	endpoint_host(url, host);
	rows = provider_table(&count);
	for (i = 0; i < count; i++)
		if (!rows[i].never_chosen && provider_table_owns_host(&rows[i], host))
			return &rows[i];
	return NULL;
}

/* A key that is there but cannot be one is worth saying. */
static void
append_unusable(const struct configuration *configuration, struct buffer *error)
{
	const struct provider_row *rows;
	const char *value;
	size_t count, i, k;

	rows = provider_table(&count);
	for (i = 0; i < count; i++)
		for (k = 0; k < PROVIDER_KEYS_MAX && rows[i].keys[k] != NULL; k++) {
			value = configuration_variable(configuration, rows[i].keys[k]);
			if (value == NULL || runtime_key_usable(&rows[i], value))
				continue;
			buffer_printf(error, " %s is set but does not hold a key%s%s%s.",
			    rows[i].keys[k],
			    rows[i].key_prefix != NULL ? " (it starts with \"" : "",
			    rows[i].key_prefix != NULL ? rows[i].key_prefix : "",
			    rows[i].key_prefix != NULL ? "\")" : "");
		}
}

static int
refuse_nothing(const struct runtime_choice *choice, struct buffer *error)
{
	const struct configuration *configuration = choice->configuration;
	const char *home = configuration_home(configuration);

	buffer_printf(error,
	    "No model provider is configured: no API key is in %s/.env or in the environment, "
	    "and %s/config.yaml %s. Run `hermes-acp --setup` in a terminal, or put a "
	    "key (for example OPENROUTER_API_KEY=…) into %s/.env and name the model under "
	    "model.default in %s/config.yaml.",
	    home, home,
	    configuration_absent(configuration)
		? "does not exist"
		: "names neither model.provider nor model.base_url",
	    home, home);
	append_unusable(configuration, error);
	runtime_pool_explain(choice, NULL, error);
	return -1;
}

/* With a broken config.yaml nobody knows whom the user had chosen; only an address in the
 * environment is clear enough. */
static bool
may_choose(const struct configuration *configuration)
{
	const struct provider_row *rows;
	size_t count, i;

	if (!configuration_broken(configuration) ||
	    configuration_variable(configuration, "CUSTOM_BASE_URL") != NULL)
		return true;
	rows = provider_table(&count);
	for (i = 0; i < count; i++)
		if (rows[i].base_variable != NULL &&
		    configuration_variable(configuration, rows[i].base_variable) != NULL)
			return true;
	return false;
}

/* "auto" (as in Hermes). */
static int
choose_freely(struct runtime_choice *choice, struct buffer *error)
{
	const struct configuration *configuration = choice->configuration;
	const char *base = text_of(choice->model_block, "base_url");
	const struct provider_row *row;

	if (!may_choose(configuration)) {
		buffer_printf(error,
		    "No provider is chosen by itself while config.yaml cannot be used. "
		    "Correct the file first:\n%s",
		    configuration_problems(configuration));
		return -1;
	}
	if (base == NULL) {
		choice->model_block = NULL; /* a key in it would have no host */
		base = configuration_variable(configuration, "CUSTOM_BASE_URL");
		row = base != NULL ? NULL : first_usable(configuration);
		if (base == NULL && row == NULL)
			row = runtime_pool_row(configuration);
		if (base == NULL && row == NULL)
			return refuse_nothing(choice, error);
	} else {
		row = row_of_host(base);
	}
	if (row != NULL)
		take_row(choice, row);
	else
		choice->id = xstrdup("custom");
	return 0;
}

/* Whether the model block speaks of the provider that the caller named. */
static bool
block_is_about(const struct runtime_choice *choice, const char *configured)
{
	struct runtime_choice other = {.configuration = choice->configuration};
	struct buffer ignored = BUFFER_EMPTY;
	bool same;

	if (configured == NULL || strcasecmp(configured, "auto") == 0)
		return strcmp(choice->id, "custom") == 0;
	same = choose_named(&other, configured, &ignored) == 0 &&
	       strcmp(other.id, choice->id) == 0;
	runtime_choice_clear(&other);
	buffer_free(&ignored);
	return same;
}

/* Texts of the model block that are something else do not count; that must be seen. */
static void
note_wrong_kinds(const struct runtime_choice *choice)
{
	static const char *const paths[] = {"model.base_url", "model.api_key", "model.api",
	    "model.key_env", "model.api_key_env", "model.api_mode", "model.default",
	    "model.model", "model.name"};
	struct json_object *value;
	size_t i;

	for (i = 0; i < sizeof paths / sizeof *paths; i++) {
		value = configuration_value(choice->configuration, paths[i]);
		if (value != NULL && !json_object_is_type(value, json_type_string))
			configuration_note(choice->configuration, paths[i],
			    "this is not a text (put it in quotes); it is not used");
	}
}

int
runtime_choice_make(const struct configuration *configuration, const char *provider,
    struct runtime_choice *choice, struct buffer *error)
{
	const char *configured, *name = provider;

	memset(choice, 0, sizeof *choice);
	choice->configuration = configuration;
	choice->model_block = configuration_value(configuration, "model");
	note_wrong_kinds(choice);
	configured = configuration_string(configuration, "model.provider", NULL);
	if (configured != NULL && *configured == '\0')
		configured = NULL;
	if (name == NULL || *name == '\0')
		name = configured;
	if (name == NULL)
		name = configuration_variable(configuration, "HERMES_INFERENCE_PROVIDER");
	if (name == NULL || strcasecmp(name, "auto") == 0)
		return choose_freely(choice, error);
	if (choose_named(choice, name, error) == -1)
		return -1;
	if (!block_is_about(choice, configured))
		choice->model_block = NULL;
	return 0;
}

void
runtime_choice_clear(struct runtime_choice *choice)
{
	free(choice->id);
	free(choice->name);
	free(choice->block_path);
	free(choice->base_url);
	memset(choice, 0, sizeof *choice);
}
