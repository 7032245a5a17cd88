/*
 * The keys of auth.json for a runtime (2.5, 2.7). A key that is bound to an address must reach
 * no other one, and what is a login and not a key is named, never sent.
 */
#include <config.h>

#include "worker/config/auth_file.h"
#include "worker/config/configuration_private.h"
#include "worker/config/credential_pool.h"
#include "worker/config/endpoint.h"
#include "worker/config/runtime_private.h"

#include "common/alloc.h"
#include "common/log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENTRIES_MAX 256 /* of one provider that are looked at */

/* The name of the provider's pool; the caller frees it. Those of named endpoints are written in
 * lower case with "-" for blanks (as in Hermes). */
static char *
pool_name(const struct runtime_choice *choice)
{
	char *name = xstrdup(choice->id), *byte;

	for (byte = name; choice->row == NULL && *byte != '\0'; byte++)
		*byte = *byte == ' ' ? '-' : (char)tolower((unsigned char)*byte);
	return name;
}

static const char *
text_of(struct json_object *entry, const char *key)
{
	const char *text = json_member_string(entry, key);

	return text != NULL && *text != '\0' ? text : NULL;
}

/* Something else than a key: its login has to be renewed in ways that are not ours. */
static bool
is_login(struct json_object *entry)
{
	return strcmp(json_member_text(entry, "auth_type", "api_key"), "api_key") != 0;
}

static bool
row_reads(const struct provider_row *row, const char *variable)
{
	size_t k;

	for (k = 0; row != NULL && k < PROVIDER_KEYS_MAX && row->keys[k] != NULL; k++)
		if (strcmp(row->keys[k], variable) == 0)
			return true;
	return false;
}

/* The key of an entry; NULL when there is none that can be sent. An entry that stands for a
 * variable has its value, not the one that somebody once copied. */
static const char *
key_of(const struct configuration *configuration, const struct provider_row *row,
    struct json_object *entry)
{
	static const struct provider_row any = {.id = ""};
	const char *source = json_member_text(entry, "source", "");
	const char *key = text_of(entry, "access_token");

	if (!json_object_is_type(entry, json_type_object) || is_login(entry))
		return NULL;
	if (row != NULL && strncmp(source, "env:", 4) == 0)
		key = row_reads(row, source + 4)
			  ? configuration_variable(configuration, source + 4)
			  : NULL;
	if (key == NULL || !runtime_key_fits_header(key) ||
	    !runtime_key_usable(row != NULL ? row : &any, key))
		return NULL;
	return key;
}

/* The entries with a key, by priority; those without one are left out. */
static size_t
sorted_entries(const struct configuration *configuration, const struct provider_row *row,
    const char *name, struct json_object *entries[ENTRIES_MAX])
{
	struct json_object *list = auth_file_pool(configuration_auth(configuration), name);
	size_t all = list != NULL ? json_object_array_length(list) : 0, count = 0, i, at;
	int64_t priority, other;

	for (i = 0; i < all && count < ENTRIES_MAX; i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		if (key_of(configuration, row, entry) == NULL)
			continue;
		priority = 0;
		json_member_integer(entry, "priority", &priority);
		for (at = count++; at > 0; at--) {
			other = 0;
			json_member_integer(entries[at - 1], "priority", &other);
			if (other <= priority)
				break;
			entries[at] = entries[at - 1];
		}
		entries[at] = entry;
	}
	return count;
}

/* Whether a key may go to choice->base_url. One without an address of its own goes where keys
 * of the provider's variables go, or to the address that its endpoint's block names. */
static bool
may_go(const struct runtime_choice *choice, struct json_object *entry)
{
	const char *bound = text_of(entry, "base_url");
	char *url;
	bool same;

	if (bound == NULL)
		return choice->row != NULL ? runtime_key_belongs(choice)
					   : choice->block != NULL;
	url = endpoint_normalise(bound);
	same = endpoint_same_origin(url, choice->base_url);
	free(url);
	return same;
}

/* Where nothing names an address, the first key's own one counts. */
static void
follow_key(struct runtime_choice *choice, struct json_object *entry)
{
	const char *bound = text_of(entry, "base_url");
	char *url;

	if (!choice->default_address || bound == NULL)
		return;
	url = endpoint_normalise(bound);
	if (endpoint_problem(url) != NULL) {
		free(url);
		return;
	}
	free(choice->base_url);
	choice->base_url = runtime_endpoint_spoken(url);
}

static const char *
strategy_of(const struct configuration *configuration, const char *name)
{
	struct json_object *map =
	    configuration_value(configuration, "credential_pool_strategies");
	const char *strategy = text_of(map, name);
	char *path;

	if (strategy == NULL || credential_pool_strategy_known(strategy))
		return strategy;
	path = xasprintf("credential_pool_strategies.%s", name);
	configuration_note(configuration, path,
	    "\"%.40s\" is not one of fill_first, round_robin, random, least_used; fill_first "
	    "is used",
	    strategy);
	free(path);
	return NULL;
}

/* The two kinds of Kimi's keys are for two addresses: a pool has those of its first one's kind.
 */
static bool
is_kind_of(
    const struct runtime_choice *choice, const struct credential_pool *pool, const char *key)
{
	return choice->row == NULL || strcmp(choice->row->id, "kimi-coding") != 0 ||
	       credential_pool_count(pool) == 0 ||
	       runtime_key_is_kimi(key) == runtime_key_is_kimi(credential_pool_key(pool, 0));
}

/* Keys of variables come after those of the file (as in Hermes). */
static void
add_variables(const struct runtime_choice *choice, struct credential_pool *pool)
{
	const struct provider_row *row = choice->row;
	const char *key;
	size_t k;

	if (row == NULL || !runtime_key_belongs(choice))
		return;
	for (k = 0; k < PROVIDER_KEYS_MAX && row->keys[k] != NULL; k++) {
		key = configuration_variable(choice->configuration, row->keys[k]);
		if (key != NULL && runtime_key_usable(row, key) &&
		    runtime_key_fits_header(key) && is_kind_of(choice, pool, key))
			credential_pool_add(pool, NULL, row->keys[k], key);
	}
}

struct credential_pool *
runtime_pool_make(struct runtime_choice *choice)
{
	struct json_object *entries[ENTRIES_MAX];
	char *name = pool_name(choice);
	size_t count = sorted_entries(choice->configuration, choice->row, name, entries), i;
	struct credential_pool *pool;
	const char *key, *id;

	if (count > 0)
		follow_key(choice, entries[0]);
	pool = credential_pool_new(configuration_home(choice->configuration), name,
	    strategy_of(choice->configuration, name));
	for (i = 0; i < count; i++) {
		if (!may_go(choice, entries[i]))
			continue;
		key = key_of(choice->configuration, choice->row, entries[i]);
		if (!is_kind_of(choice, pool, key))
			continue;
		id = text_of(entries[i], "id");
		credential_pool_add(pool, id,
		    json_member_text(entries[i], "label", id != NULL ? id : name), key);
		secret_register(key);
	}
	if (credential_pool_count(pool) == 0) {
		credential_pool_release(pool);
		pool = NULL;
	} else {
		add_variables(choice, pool);
	}
	free(name);
	return pool;
}

bool
runtime_pool_holds(const struct configuration *configuration, const struct provider_row *row)
{
	struct json_object *entries[ENTRIES_MAX];

	return sorted_entries(configuration, row, row->id, entries) > 0;
}

const struct provider_row *
runtime_pool_row(const struct configuration *configuration)
{
	const char *active =
	    json_member_string(configuration_auth(configuration), "active_provider");
	const struct provider_row *rows, *row;
	size_t count, i;

	row = active != NULL ? provider_table_find(active) : NULL;
	if (row != NULL && runtime_pool_holds(configuration, row))
		return row;
	rows = provider_table(&count);
	for (i = 0; i < count; i++)
		if (!rows[i].never_chosen && provider_table_row_supported(&rows[i]) &&
		    runtime_pool_holds(configuration, &rows[i]))
			return &rows[i];
	return NULL;
}

static bool
pool_has_login(struct json_object *list)
{
	size_t i;

	for (i = 0; list != NULL && i < json_object_array_length(list); i++)
		if (is_login(json_object_array_get_idx(list, i)))
			return true;
	return false;
}

/* The providers that auth.json has a login for, in one line. */
static void
list_logins(struct json_object *file, struct buffer *names)
{
	struct json_object *logins = json_member_object(file, "providers");
	struct json_object *pools = json_member_object(file, "credential_pool");

	if (logins != NULL) {
		json_object_object_foreach(logins, id, state)
		{
			if (json_object_is_type(state, json_type_object))
				buffer_printf(
				    names, "%s%.60s", names->length > 0 ? ", " : "", id);
		}
	}
	if (pools != NULL) {
		json_object_object_foreach(pools, name, list)
		{
			if (json_object_is_type(list, json_type_array) &&
			    pool_has_login(list) && !json_has(logins, name))
				buffer_printf(
				    names, "%s%.60s", names->length > 0 ? ", " : "", name);
		}
	}
}

void
runtime_pool_explain(
    const struct runtime_choice *choice, const char *provider, struct buffer *error)
{
	struct json_object *file = configuration_auth(choice->configuration);
	const char *home = configuration_home(choice->configuration);
	struct json_object *entries[ENTRIES_MAX];
	struct buffer names = BUFFER_EMPTY;

	if (provider == NULL) {
		list_logins(file, &names);
		if (names.length > 0)
			buffer_printf(error,
			    " %s/auth.json has a login (OAuth) for %s, which this version "
			    "cannot use: it needs an API key.",
			    home, buffer_text(&names));
	} else if (sorted_entries(choice->configuration, choice->row, provider, entries) > 0) {
		buffer_printf(error,
		    " The keys for %s in %s/auth.json belong to other addresses than %s.",
		    provider, home, choice->base_url);
	} else if (pool_has_login(auth_file_pool(file, provider)) ||
		   json_has(json_member_object(file, "providers"), provider)) {
		buffer_printf(error,
		    " What %s/auth.json has for it is a login (OAuth), which this version "
		    "cannot use.",
		    home);
	}
	buffer_free(&names);
}
