/*
 * Where requests go, and what can be a key there. A key must never reach a host that it does
 * not belong to, whatever the files say.
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

const char *
runtime_member_of(struct json_object *block, const char *const *names)
{
	const char *text;

	for (; *names != NULL; names++) {
		text = json_member_string(block, *names);
		if (text != NULL && *text != '\0')
			return text;
	}
	return NULL;
}

const char *
runtime_base_of(struct json_object *block)
{
	static const char *const names[] = {"base_url", "url", "api", NULL};

	return runtime_member_of(block, names);
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
	struct address block = {runtime_base_of(choice->block), choice->block_path, false};

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

char *
runtime_endpoint_spoken(char *url)
{
	/* The plain address of Gemini speaks another dialect than the one below it. */
	if (strcasecmp(url, "https://generativelanguage.googleapis.com/v1beta") != 0)
		return url;
	free(url);
	return xstrdup("https://generativelanguage.googleapis.com/v1beta/openai");
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
	choice->base_url = runtime_endpoint_spoken(url);
	choice->own_variable = address.own_variable;
	choice->default_address = choice->row != NULL && address.url == choice->row->base_url;
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
runtime_key_is_kimi(const char *key)
{
	return strncmp(key, "sk-kimi-", 8) == 0;
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
const char *
runtime_key_variable_any(
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
	return runtime_key_variable_any(configuration, row, false);
}

bool
runtime_key_belongs(const struct runtime_choice *choice)
{
	const struct provider_row *row = choice->row;
	char host[ENDPOINT_HOST_SIZE];

	if (row == NULL)
		return false;
	endpoint_host(choice->base_url, host);
	return provider_table_owns_host(row, host) ||
	       (choice->own_variable && !row->strict_host);
}

bool
runtime_key_fits_header(const char *key)
{
	for (; *key != '\0'; key++)
		if ((unsigned char)*key <= 0x20 || (unsigned char)*key >= 0x7f)
			return false;
	return true;
}
