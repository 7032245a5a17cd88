/*
 * From what the user chooses to a runtime. A key goes where runtime_resolve() says, never where
 * a client says: a name chooses among what is configured and cannot bring an address.
 */
#include <config.h>

#include "worker/config/model_choice.h"

#include "worker/config/live_models.h"
#include "worker/config/model_cache.h"
#include "worker/config/model_table.h"
#include "worker/config/runtime_private.h"

#include "common/alloc.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a server and bytes of all rows, as one message to the supervisor takes them; a model
 * beyond is known all the same. */
#define LIVE_ROWS_MAX 1000
#define BYTES_MAX ((size_t)96 << 10)
#define ROW_BYTES 64 /* what JSON adds to the texts of a row */

struct model_list {
	const struct configuration *configuration;
	const struct runtime *current;
	struct json_object *rows;
	struct json_object *values; /* those of the rows, as names of members */
	size_t bytes;
};

static struct json_object *
find_value(struct json_object *rows, const char *value)
{
	struct json_object *row;
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		if (strcmp(json_member_text(row, "value", ""), value) == 0)
			return row;
	}
	return NULL;
}

static void
add(struct model_list *list, const char *provider, const char *label, const char *model,
    const char *name)
{
	struct buffer text = BUFFER_EMPTY;
	struct json_object *row;

	buffer_printf(&text, "%s:%s", provider, model);
	if (!json_has(list->values, buffer_text(&text))) {
		json_set_boolean(list->values, buffer_text(&text), true);
		list->bytes += ROW_BYTES + text.length;
		row = json_object_new_object();
		json_set_text(row, "value", buffer_text(&text));
		json_set_text(row, "provider", provider);
		json_set_text(row, "model", model);
		buffer_clear(&text);
		buffer_printf(&text, "%s · %s", label, name != NULL ? name : model);
		json_set_text(row, "name", buffer_text(&text));
		list->bytes += 2 * text.length;
		buffer_clear(&text);
		buffer_printf(&text, "Provider: %s", label);
		json_set_text(row, "description", buffer_text(&text));
		json_object_array_add(list->rows, row);
	}
	buffer_free(&text);
}

/* What the provider's server has told. */
static void
add_live(struct model_list *list, const char *provider, const char *label)
{
	struct json_object *models = live_models_of(list->configuration, provider);
	size_t count = models != NULL ? json_object_array_length(models) : 0, i;

	for (i = 0; i < count && i < LIVE_ROWS_MAX && list->bytes < BYTES_MAX; i++)
		add(list, provider, label,
		    json_member_text(json_object_array_get_idx(models, i), "id", ""), NULL);
}

static void
add_table(struct model_list *list, const struct provider_row *provider)
{
	size_t count, i;
	const struct model_row *models = model_table(&count);

	for (i = 0; i < count; i++)
		if (strcmp(models[i].provider, provider->id) == 0)
			add(list, provider->id, provider->label, models[i].model,
			    models[i].name);
	add_live(list, provider->id, provider->label);
}

/* What a block of config.yaml names: `model`, and the members or items of `models`. */
static void
add_block(struct model_list *list, struct json_object *block, const char *name)
{
	char *provider = xasprintf("custom:%s", name);
	struct json_object *models = json_member(block, "models");
	const char *model = json_member_text(block, "model", "");
	size_t i;

	if (*model != '\0')
		add(list, provider, name, model, NULL);
	if (json_object_is_type(models, json_type_object)) {
		json_object_object_foreach(models, key, value)
		{
			(void)value;
			add(list, provider, name, key, NULL);
		}
	}
	for (i = 0; json_object_is_type(models, json_type_array) &&
		    i < json_object_array_length(models);
	     i++)
		if (json_object_is_type(json_object_array_get_idx(models, i), json_type_string))
			add(list, provider, name,
			    json_object_get_string(json_object_array_get_idx(models, i)), NULL);
	add_live(list, provider, name);
	free(provider);
}

static void
add_endpoints(struct model_list *list)
{
	struct json_object *blocks = configuration_value(list->configuration, "providers");
	struct json_object *block;
	size_t i;

	if (json_object_is_type(blocks, json_type_object)) {
		json_object_object_foreach(blocks, key, value)
		{
			if (provider_table_find(key) == NULL)
				add_block(list, value, json_member_text(value, "name", key));
		}
	}
	blocks = configuration_value(list->configuration, "custom_providers");
	for (i = 0; json_object_is_type(blocks, json_type_array) &&
		    i < json_object_array_length(blocks);
	     i++) {
		block = json_object_array_get_idx(blocks, i);
		if (*json_member_text(block, "name", "") != '\0')
			add_block(list, block, json_member_text(block, "name", ""));
	}
}

static bool
is_rehearsal(const struct runtime *runtime)
{
	return strcmp(runtime->provider, "rehearsal") == 0;
}

/* Those of providers with a key. */
static void
add_providers(struct model_list *list)
{
	const struct provider_row *providers;
	size_t count, i;

	providers = provider_table(&count);
	for (i = 0; i < count; i++)
		if (strcmp(providers[i].id, list->current->provider) == 0)
			add_table(list, &providers[i]);
	add_live(list, list->current->provider, list->current->label);
	for (i = 0; i < count; i++)
		if (provider_table_row_supported(&providers[i]) &&
		    (runtime_key_variable(list->configuration, &providers[i]) != NULL ||
			runtime_pool_holds(list->configuration, &providers[i])))
			add_table(list, &providers[i]);
}

/* The configured model, and what else there is: of the current provider first. */
static void
add_others(struct model_list *list)
{
	struct buffer ignored = BUFFER_EMPTY;
	struct runtime normal;
	bool found = runtime_resolve(list->configuration, NULL, NULL, &normal, &ignored) == 0;

	if (found)
		add(list, normal.provider, normal.label, normal.model, NULL);
	/* That address is the one whose list is meant. */
	live_models_list(list->configuration, list->current->provider, list->current->base_url);
	add_providers(list);
	if (found) {
		add_live(list, normal.provider, normal.label);
		runtime_clear(&normal);
	}
	add_endpoints(list);
	buffer_free(&ignored);
}

struct json_object *
model_choice_list(const struct configuration *configuration, const struct runtime *current)
{
	struct model_list list = {
	    configuration, current, json_object_new_array(), json_object_new_object(), 0};
	const struct model_row *row = model_table_find(current->provider, current->model);

	add(&list, current->provider, current->label, current->model,
	    row != NULL ? row->name : NULL);
	if (!is_rehearsal(current)) /* nobody else is asked meanwhile */
		add_others(&list);
	json_object_put(list.values);
	return list.rows;
}

/* The configured provider keeps its address and key, which stand in the model block. */
int
model_choice_restore(const struct configuration *configuration, const char *provider,
    const char *model, struct runtime *runtime, struct buffer *error)
{
	struct buffer ignored = BUFFER_EMPTY;
	bool same = false;

	if (runtime_resolve(configuration, NULL, model, runtime, &ignored) == 0) {
		same = strcmp(runtime->provider, provider) == 0;
		if (!same)
			runtime_clear(runtime);
	}
	buffer_free(&ignored);
	return same ? 0 : runtime_resolve(configuration, provider, model, runtime, error);
}

/* Whether the text before a colon is a provider and not a part of the model's name. */
static bool
is_provider(const struct configuration *configuration, const char *name)
{
	struct runtime_choice choice;
	struct buffer ignored = BUFFER_EMPTY;
	const char *reason;
	bool found = runtime_choice_make(configuration, name, &choice, &ignored) == 0 ||
		     provider_table_unsupported(name, &reason);

	runtime_choice_clear(&choice);
	buffer_free(&ignored);
	return found;
}

static bool
take_provider(const struct configuration *configuration, const char *name, const char *colon,
    char **provider, const char **model)
{
	char *text = xasprintf("%.*s", (int)(colon - name), name);
	bool found = is_provider(configuration, text);

	if (found) {
		*provider = text;
		*model = colon + 1;
	} else {
		free(text);
	}
	return found;
}

/* "custom:<endpoint>" before the model, a provider's name, or nothing: the current provider. */
static void
split(const struct configuration *configuration, const struct runtime *current,
    const char *name, char **provider, const char **model)
{
	const char *second;

	size_t length = strlen(current->provider);
	const char *colon = strchr(name, ':');

	*provider = NULL;
	*model = name;
	if (strncmp(name, current->provider, length) == 0 && name[length] == ':') {
		*model = name + length + 1;
		return;
	}
	second = colon != NULL ? strchr(colon + 1, ':') : NULL;
	if (second != NULL && strncmp(name, "custom:", 7) == 0 &&
	    take_provider(configuration, name, second, provider, model))
		return;
	if (colon != NULL)
		take_provider(configuration, name, colon, provider, model);
}

/* A value of the list, else a model's name there, the first one's provider being meant. */
static struct json_object *
find_row(struct json_object *rows, const char *name)
{
	struct json_object *row = find_value(rows, name);
	size_t i;

	for (i = 0; row == NULL && i < json_object_array_length(rows); i++)
		if (strcmp(json_member_text(json_object_array_get_idx(rows, i), "model", ""),
			name) == 0)
			row = json_object_array_get_idx(rows, i);
	return row;
}

static bool
has_table(const char *provider)
{
	size_t count, i;
	const struct model_row *rows = model_table(&count);

	for (i = 0; i < count; i++)
		if (strcmp(rows[i].provider, provider) == 0)
			return true;
	return false;
}

static int
refuse(struct buffer *error, const char *name)
{
	buffer_printf(error,
	    "The model \"%.100s\" is not known. Choose one of the list, or name one that the "
	    "list does not have with /model.",
	    name);
	return -1;
}

/* A name that the list does not hold. */
static int
resolve_other(const struct configuration *configuration, const struct runtime *current,
    const char *name, bool open, struct runtime *runtime, struct buffer *error)
{
	char *provider;
	const char *model;
	int result;

	split(configuration, current, name, &provider, &model);
	if (!model_cache_name_fits(model) || is_rehearsal(current))
		result = refuse(error, name);
	else
		result = model_choice_restore(configuration,
		    provider != NULL ? provider : current->provider, model, runtime, error);
	if (result == 0 && !open && has_table(runtime->provider) &&
	    !live_models_has(
		configuration, runtime->provider, runtime->base_url, runtime->model)) {
		runtime_clear(runtime);
		result = refuse(error, name);
	}
	free(provider);
	return result;
}

int
model_choice_resolve(const struct configuration *configuration, const struct runtime *current,
    const char *name, bool open, struct runtime *runtime, struct buffer *error)
{
	struct json_object *rows = model_choice_list(configuration, current);
	struct json_object *row = find_row(rows, name);
	int result = 0;

	memset(runtime, 0, sizeof *runtime);
	if (row == json_object_array_get_idx(rows, 0))
		runtime_copy(runtime, current);
	else if (row != NULL)
		result =
		    model_choice_restore(configuration, json_member_text(row, "provider", ""),
			json_member_text(row, "model", ""), runtime, error);
	else
		result = resolve_other(configuration, current, name, open, runtime, error);
	json_object_put(rows);
	return result;
}

struct json_object *
model_choice_levels(const struct runtime *runtime)
{
	const struct model_row *row = model_table_find(runtime->provider, runtime->model);
	const char *level;
	struct json_object *levels;
	size_t length;

	if (row == NULL || *row->levels == '\0')
		return NULL;
	levels = json_object_new_array();
	json_object_array_add(levels, json_new_text("default"));
	for (level = row->levels; *level != '\0'; level += length + (level[length] == ' ')) {
		length = strcspn(level, " ");
		json_object_array_add(levels, json_new_bytes(level, length));
	}
	return levels;
}
