/*
 * The setup in the terminal. It must write nothing before every question is answered, and
 * never show or log the key.
 */
#include <config.h>

#include "worker/config/setup.h"

#include "worker/config/config_edit.h"
#include "worker/config/configuration.h"
#include "worker/config/configuration_private.h"
#include "worker/config/dotenv_edit.h"
#include "worker/config/endpoint.h"
#include "worker/config/provider_table.h"
#include "worker/config/runtime_private.h"
#include "worker/config/setup_prompt.h"

#include "common/alloc.h"
#include "common/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TRIES_MAX 3 /* wrong answers to one question */

/* Holds the key of an endpoint of the user's own. */
#define CUSTOM_KEY_VARIABLE "CUSTOM_API_KEY"

struct setup {
	FILE *in, *out;
	const struct configuration *configuration;
	const struct provider_row *row; /* NULL: an endpoint of the user's own */
	char *base_url;			/* NULL: the provider's own */
	char *key;			/* "" : stays as it is, or none */
	char *model;
};

/* An answer is taken over by `take`, which returns NULL or why it cannot be used. */
typedef const char *(*answer_taker)(struct setup *setup, const char *answer);

/* Rows whose dialect we speak, in the order of the table. */
static const struct provider_row *
offered_row(size_t index)
{
	const struct provider_row *rows;
	size_t count, i;

	rows = provider_table(&count);
	for (i = 0; i < count; i++)
		if (provider_table_row_supported(&rows[i]) && index-- == 0)
			return &rows[i];
	return NULL;
}

static size_t
offered_count(void)
{
	size_t count = 0;

	while (offered_row(count) != NULL)
		count++;
	return count;
}

static bool
ask(struct setup *setup, const char *question, bool secret, bool may_be_empty,
    answer_taker take)
{
	const char *reason;
	char *answer;
	int tries;

	for (tries = 0; tries < TRIES_MAX; tries++) {
		answer = setup_prompt_ask(setup->in, setup->out, question, secret);
		if (answer == NULL || (*answer == '\0' && !may_be_empty)) {
			free(answer);
			return false;
		}
		reason = take(setup, answer);
		explicit_bzero(answer, strlen(answer));
		free(answer);
		if (reason == NULL)
			return true;
		fprintf(setup->out, "This cannot be used: %s.\n", reason);
	}
	return false;
}

static const char *
take_provider(struct setup *setup, const char *answer)
{
	size_t count = offered_count();
	unsigned long number;
	char *end;

	number = strtoul(answer, &end, 10);
	if (*end == '\0' && number >= 1 && number <= count) {
		setup->row = offered_row(number - 1);
		return NULL;
	}
	if ((*end == '\0' && number == count + 1) || strcasecmp(answer, "custom") == 0)
		return NULL;
	setup->row = provider_table_find(answer);
	if (setup->row == NULL)
		return "it is neither a number of the list nor the name of a provider";
	if (!provider_table_row_supported(setup->row))
		return "this version does not speak the dialect of that provider";
	return NULL;
}

static const char *
take_base_url(struct setup *setup, const char *answer)
{
	char *url = endpoint_normalise(answer);
	const char *problem = endpoint_problem(url);

	if (problem == NULL && !provider_table_mode_supported(provider_table_mode_by_url(url)))
		problem = "this version does not speak the dialect of that server";
	if (problem != NULL) {
		free(url);
		return problem;
	}
	setup->base_url = url;
	return NULL;
}

static const char *
take_key(struct setup *setup, const char *answer)
{
	const char *byte;

	for (byte = answer; *byte != '\0'; byte++)
		if ((unsigned char)*byte <= 0x20 || (unsigned char)*byte >= 0x7f)
			return "a key has neither blanks nor characters that are not ASCII";
	if (*answer != '\0' && setup->row != NULL && !setup->row->key_optional &&
	    !runtime_key_usable(setup->row, answer))
		return setup->row->key_prefix != NULL
			   ? "it does not look like a key of this provider"
			   : "it is too short or a placeholder";
	secret_register(answer);
	setup->key = xstrdup(answer);
	return NULL;
}

static const char *
take_model(struct setup *setup, const char *answer)
{
	const char *byte;

	for (byte = answer; *byte != '\0'; byte++)
		if ((unsigned char)*byte <= 0x20 || *byte == 0x7f)
			return "the name of a model has no blanks";
	setup->model = xstrdup(answer);
	return NULL;
}

static bool
ask_provider(struct setup *setup)
{
	const struct provider_row *row;
	size_t i;

	fputs("Providers:\n", setup->out);
	for (i = 0; (row = offered_row(i)) != NULL; i++)
		fprintf(setup->out, "%3zu  %s (%s)\n", i + 1, row->label, row->id);
	fprintf(
	    setup->out, "%3zu  another server that speaks Chat Completions (custom)\n", i + 1);
	return ask(setup, "Number or name of the provider: ", false, false, take_provider);
}

static bool
ask_base_url(struct setup *setup)
{
	if (setup->row != NULL && setup->row->base_url != NULL)
		return true;
	return ask(setup, "Base URL (for example http://127.0.0.1:8080/v1): ", false, false,
	    take_base_url);
}

/* A key that is there already may stay; a server on this machine needs none. */
static bool
ask_key(struct setup *setup)
{
	bool held = setup->row != NULL &&
		    runtime_key_variable(setup->configuration, setup->row) != NULL;
	bool optional = setup->row == NULL || setup->row->key_optional;

	if (setup->row != NULL && setup->row->keys[0] == NULL) {
		setup->key = xstrdup("");
		return true;
	}
	return ask(setup,
	    held       ? "API key (empty: the one that is there stays): "
	    : optional ? "API key (empty: none): "
		       : "API key: ",
	    true, held || optional, take_key);
}

static const char *
key_variable(const struct setup *setup)
{
	return setup->row != NULL ? setup->row->keys[0] : CUSTOM_KEY_VARIABLE;
}

/* What an earlier provider had in the block must not go to the new one. */
static int
store_settings(const struct setup *setup, const char *home, struct buffer *error)
{
	/* At an address of the user's own the key must be named to be sent. */
	bool named = setup->base_url != NULL && *setup->key != '\0';
	const struct yaml_edit edits[] = {
	    {"model", "default", setup->model},
	    {"model", "provider", setup->row == NULL ? "custom" : setup->row->id},
	    {"model", "base_url", setup->base_url},
	    {"model", "key_env", named ? key_variable(setup) : NULL},
	    {"model", "api_key_env", NULL},
	    {"model", "api_key", NULL},
	    {"model", "api", NULL},
	    {"model", "api_mode", NULL},
	    {"model", "context_length", NULL},
	};

	return config_edit_apply(home, edits, sizeof edits / sizeof *edits, error);
}

/* The key first: a key that nobody names does no harm, a provider without its key does. */
static int
store(struct setup *setup)
{
	const char *home = configuration_home(setup->configuration);
	struct buffer error = BUFFER_EMPTY;
	int result = 0;

	if (*setup->key != '\0')
		result = dotenv_edit_set(home, key_variable(setup), setup->key, &error);
	if (result == 0)
		result = store_settings(setup, home, &error);
	if (result == 0)
		fprintf(setup->out,
		    "Stored in %s. `hermes-acp --check` looks at everything once more.\n",
		    home);
	else
		fprintf(
		    setup->out, "Not everything could be stored: %s\n", buffer_text(&error));
	buffer_free(&error);
	return result == 0 ? 0 : 1;
}

static int
run(struct setup *setup)
{
	if (configuration_broken(setup->configuration)) {
		fprintf(setup->out, "Correct the file first:\n%s",
		    configuration_problems(setup->configuration));
		return 1;
	}
	if (ask_provider(setup) && ask_base_url(setup) && ask_key(setup) &&
	    ask(setup, "Model: ", false, false, take_model))
		return store(setup);
	fputs("\nGiven up; nothing was stored.\n", setup->out);
	return 1;
}

int
setup_run(FILE *in, FILE *out)
{
	struct configuration *configuration = configuration_load();
	struct setup setup = {.in = in, .out = out, .configuration = configuration};
	int result = run(&setup);

	fflush(out);
	if (setup.key != NULL)
		explicit_bzero(setup.key, strlen(setup.key));
	free(setup.key);
	free(setup.base_url);
	free(setup.model);
	configuration_free(configuration);
	return result;
}
