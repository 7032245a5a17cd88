/*
 * Where requests go and which key goes with them. A key must never reach a host that it
 * does not belong to, whatever the files say.
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

#define KEY_MIN 4 /* as in Hermes */

static const char *
member_of(struct json_object *block, const char *const *names)
{
	const char *text;

	for (; *names != NULL; names++) {
		text = json_member_string(block, *names);
		if (text != NULL && *text != '\0')
			return text;
	}
	return NULL;
}

static const char *
base_of(struct json_object *block)
{
	static const char *const names[] = {"base_url", "url", "api", NULL};

	return member_of(block, names);
}

/* The address with the name of the place that it came from. */
struct address {
	const char *url;
	const char *place;
	bool own_variable;
};

static struct address
variable_address(const struct runtime_choice *choice, const char *name)
{
	struct address address = {.place = name};

	if (name != NULL)
		address.url = configuration_variable(choice->configuration, name);
	address.own_variable = address.url != NULL;
	return address;
}

static struct address
find_address(const struct runtime_choice *choice)
{
	struct address address = {NULL, NULL, false};
	struct address model = {
	    json_member_string(choice->model_block, "base_url"), "model.base_url", false};
	struct address block = {base_of(choice->block), choice->block_path, false};

	if (model.url != NULL && *model.url == '\0')
		model.url = NULL;
	if (choice->row == NULL && choice->block != NULL)
		return block.url != NULL ? block : model;
	if (choice->row == NULL) {
		address = variable_address(choice, "CUSTOM_BASE_URL");
		return address.url != NULL ? address : model;
	}
	if (model.url != NULL || block.url != NULL)
		return model.url != NULL ? model : block;
	address = variable_address(choice, choice->row->base_variable);
	if (address.url == NULL) {
		address.url = choice->row->base_url;
		address.place = choice->row->id;
	}
	return address;
}

static int
refuse_missing(const struct runtime_choice *choice, struct buffer *error)
{
	const char *home = configuration_home(choice->configuration);

	if (choice->row != NULL && choice->row->base_variable != NULL)
		buffer_printf(error,
		    "The provider %s has no base URL. Set %s in %s/.env or "
		    "model.base_url in %s/config.yaml.",
		    choice->id, choice->row->base_variable, home, home);
	else
		buffer_printf(error,
		    "The provider \"%s\" has no base URL. Set %s%s in %s/config.yaml.",
		    choice->id, choice->block != NULL ? choice->block_path : "model",
		    ".base_url", home);
	return -1;
}

int
runtime_endpoint_find(struct runtime_choice *choice, struct buffer *error)
{
	struct address address = find_address(choice);
	const char *problem;
	char *url;

	if (address.url == NULL)
		return refuse_missing(choice, error);
	url = endpoint_normalise(address.url);
	problem = endpoint_problem(url);
	if (problem != NULL) {
		buffer_printf(error, "The base URL \"%s\" of %s cannot be used: %s.", url,
		    address.place, problem);
		free(url);
		return -1;
	}
	/* The plain address of Gemini speaks another dialect than the one below it. */
	if (strcasecmp(url, "https://generativelanguage.googleapis.com/v1beta") == 0) {
		free(url);
		url = xstrdup("https://generativelanguage.googleapis.com/v1beta/openai");
	}
	choice->base_url = url;
	choice->own_variable = address.own_variable;
	return 0;
}

static bool
is_placeholder(const char *value)
{
	static const char *const words[] = {"changeme", "change_me", "change-me", "placeholder",
	    "example", "dummy", "null", "none"};
	char lower[64];
	size_t i;

	if (value[strspn(value, "*")] == '\0')
		return true;
	for (i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasecmp(words[i], value) == 0)
			return true;
	for (i = 0; i + 1 < sizeof lower && value[i] != '\0'; i++)
		lower[i] = (char)tolower((unsigned char)value[i]);
	lower[i] = '\0';
	return strncmp(lower, "your", 4) == 0 && strstr(lower, "key") != NULL;
}

bool
runtime_key_usable(const struct provider_row *row, const char *value)
{
	if (strlen(value) < KEY_MIN || is_placeholder(value))
		return false;
	return row->key_prefix == NULL ||
	       strncmp(value, row->key_prefix, strlen(row->key_prefix)) == 0;
}

/* An own server takes any key that is set; the providers themselves do not. */
static const char *
find_variable(
    const struct configuration *configuration, const struct provider_row *row, bool any)
{
	const char *value;
	size_t k;

	for (k = 0; k < PROVIDER_KEYS_MAX && row->keys[k] != NULL; k++) {
		value = configuration_variable(configuration, row->keys[k]);
		if (value != NULL && (any || runtime_key_usable(row, value)))
			return row->keys[k];
	}
	return NULL;
}

const char *
runtime_key_variable(const struct configuration *configuration, const struct provider_row *row)
{
	return find_variable(configuration, row, false);
}

/* The key that a block of config.yaml names, when it belongs to where we go. */
static const char *
key_of_block(const struct runtime_choice *choice, struct json_object *block, const char *path,
    bool is_model)
{
	static const char *const key_names[] = {"api_key", NULL};
	static const char *const model_key_names[] = {"api_key", "api", NULL};
	static const char *const variable_names[] = {"key_env", "api_key_env", NULL};
	const char *base = is_model ? json_member_string(block, "base_url") : base_of(block);
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
	key = member_of(block, is_model ? model_key_names : key_names);
	variable = member_of(block, variable_names);
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
	bool owns;

	if (row == NULL)
		return NULL;
	endpoint_host(choice->base_url, host);
	owns = provider_table_owns_host(row, host);
	if (!owns && (!choice->own_variable || row->strict_host))
		return NULL;
	variable = find_variable(choice->configuration, row, !owns);
	return variable != NULL ? configuration_variable(choice->configuration, variable)
				: NULL;
}

static int
refuse_no_key(const struct runtime_choice *choice, struct buffer *error)
{
	const char *home = configuration_home(choice->configuration);
	const char *held = find_variable(choice->configuration, choice->row, true);
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
	return -1;
}

/* A key becomes part of a header: one line of visible ASCII. */
static bool
fits_header(const char *key)
{
	for (; *key != '\0'; key++)
		if ((unsigned char)*key <= 0x20 || (unsigned char)*key >= 0x7f)
			return false;
	return true;
}

int
runtime_key_find(const struct runtime_choice *choice, char **key, struct buffer *error)
{
	const char *found = key_of_block(choice, choice->model_block, "model", true);

	*key = NULL;
	if (found == NULL)
		found = key_of_block(choice, choice->block, choice->block_path, false);
	if (found == NULL)
		found = key_of_row(choice);
	if (found == NULL)
		found = key_of_host(choice);
	if (found == NULL && choice->row != NULL && !choice->row->key_optional &&
	    !endpoint_is_loopback(choice->base_url))
		return refuse_no_key(choice, error);
	if (found == NULL || strcmp(found, "no-key-required") == 0)
		return 0;
	if (!fits_header(found)) {
		buffer_printf(error,
		    "The API key for %s holds a blank, a control character or one that is not "
		    "ASCII. Correct it in %s/.env or config.yaml.",
		    choice->id, configuration_home(choice->configuration));
		return -1;
	}
	*key = xstrdup(found);
	return 0;
}
