/*
 * From configuration to one runtime: provider, endpoint, key, dialect, model, limits. It
 * must never guess where money or a key would go: what is unclear is an error with a way out.
 */
#include <config.h>

#include "worker/config/runtime.h"

#include "worker/config/configuration_private.h"
#include "worker/config/credential_pool.h"
#include "worker/config/endpoint.h"
#include "worker/config/runtime_private.h"

#include "common/alloc.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Dialects that config.yaml may name, with their other names. */
static const struct {
	const char *name, *mode;
} modes[] = {
    {"chat_completions", "chat_completions"},
    {"openai_chat", "chat_completions"},
    {"codex_responses", "codex_responses"},
    {"responses", "codex_responses"},
    {"anthropic_messages", "anthropic_messages"},
    {"bedrock_converse", "bedrock_converse"},
    {"codex_app_server", "codex_app_server"},
};

static const char *
find_model(const struct runtime_choice *choice, const char *provider, const char *model)
{
	const char *configured = runtime_configured_model(choice->configuration);
	const char *of_block = json_member_string(choice->block, "model");

	if (model != NULL && *model != '\0')
		return model;
	if (configured != NULL && (provider == NULL || choice->model_block != NULL))
		return configured;
	if (of_block != NULL && *of_block != '\0')
		return of_block;
	model = configuration_variable(choice->configuration, "HERMES_MODEL");
	return model != NULL ? model : configured;
}

/* The dialect that a block names; NULL when it names none. -1: an unknown name. */
static int
named_mode(const struct runtime_choice *choice, struct json_object *block, const char *path,
    const char **mode, struct buffer *error)
{
	const char *name = json_member_string(block, "api_mode");
	size_t i;

	if (name == NULL || *name == '\0')
		name = json_member_string(block, "transport");
	if (name == NULL || *name == '\0' || *mode != NULL)
		return 0;
	for (i = 0; i < sizeof modes / sizeof *modes; i++)
		if (strcasecmp(modes[i].name, name) == 0) {
			*mode = modes[i].mode;
			return 0;
		}
	buffer_printf(error, "\"%.60s\" at %s.api_mode in %s/config.yaml is not an api_mode.",
	    name, path, configuration_home(choice->configuration));
	return -1;
}

static int
find_mode(const struct runtime_choice *choice, char **result, struct buffer *error)
{
	const char *mode = NULL;

	if (named_mode(choice, choice->model_block, "model", &mode, error) == -1 ||
	    named_mode(choice, choice->block, choice->block_path, &mode, error) == -1)
		return -1;
	if (mode == NULL && choice->row != NULL)
		mode = choice->row->api_mode;
	if (mode == NULL)
		mode = provider_table_mode_by_url(choice->base_url);
	if (!provider_table_mode_supported(mode)) {
		buffer_printf(error,
		    "The provider %s at %s needs the api_mode %s, which is not supported by "
		    "this version (chat_completions, anthropic_messages and "
		    "codex_responses are). Choose another provider under "
		    "model.provider in %s/config.yaml or run `hermes-acp --setup`.",
		    choice->id, choice->base_url, mode,
		    configuration_home(choice->configuration));
		return -1;
	}
	*result = xstrdup(mode);
	return 0;
}

static char *
make_label(const struct runtime_choice *choice)
{
	char host[ENDPOINT_HOST_SIZE];

	if (choice->row != NULL)
		return xstrdup(choice->row->label);
	if (choice->name != NULL)
		return xstrdup(choice->name);
	endpoint_host(choice->base_url, host);
	return xasprintf("custom endpoint at %s", host);
}

static int
refuse_no_model(const struct runtime_choice *choice, struct buffer *error)
{
	buffer_printf(error,
	    "No model is named for the provider %s. Set model.default in %s/config.yaml, or "
	    "HERMES_MODEL in %s/.env, or run `hermes-acp --setup`.",
	    choice->id, configuration_home(choice->configuration),
	    configuration_home(choice->configuration));
	return -1;
}

static int
resolve(struct runtime_choice *choice, const char *provider, const char *model,
    struct runtime *runtime, struct buffer *error)
{
	if (runtime_choice_make(choice->configuration, provider, choice, error) == -1 ||
	    runtime_endpoint_find(choice, error) == -1 ||
	    runtime_key_find(choice, runtime, error) == -1)
		return -1;
	/* Coding keys of Kimi work at another address than the others. */
	if (choice->row != NULL && strcmp(choice->row->id, "kimi-coding") == 0 &&
	    runtime->api_key != NULL && runtime_key_is_kimi(runtime->api_key) &&
	    strcmp(choice->base_url, choice->row->base_url) == 0) {
		free(choice->base_url);
		choice->base_url = xstrdup("https://api.kimi.com/coding");
	}
	if (find_mode(choice, &runtime->api_mode, error) == -1)
		return -1;
	model = find_model(choice, provider, model);
	if (model == NULL)
		return refuse_no_model(choice, error);
	runtime->provider = xstrdup(choice->id);
	runtime->label = make_label(choice);
	runtime->base_url = xstrdup(choice->base_url);
	runtime->model = xstrdup(model);
	secret_register(runtime->api_key);
	runtime_settings_fill(choice, runtime);
	return 0;
}

/* The rehearsal as the chosen provider: its script by acp.rehearsal_script. */
static void
resolve_rehearsal(const struct configuration *configuration, struct runtime *runtime)
{
	const char *file = configuration_string(configuration, "acp.rehearsal_script", "");
	bool faults = configuration_boolean(configuration, "acp.rehearsal_faults", false);
	char *path = NULL;

	if (*file != '\0' && *file != '/')
		path = xasprintf("%s/%s", configuration_home(configuration), file);
	else if (*file != '\0')
		path = xstrdup(file);
	runtime_rehearsal(path, faults, runtime);
	free(path);
}

int
runtime_resolve(const struct configuration *configuration, const char *provider,
    const char *model, struct runtime *runtime, struct buffer *error)
{
	struct runtime_choice choice = {.configuration = configuration};
	const char *name = provider;
	int result;

	memset(runtime, 0, sizeof *runtime);
	if (name == NULL || *name == '\0')
		name = configuration_string(configuration, "model.provider", NULL);
	if (name == NULL || *name == '\0')
		name = configuration_variable(configuration, "HERMES_INFERENCE_PROVIDER");
	if (name != NULL && strcasecmp(name, "rehearsal") == 0) {
		resolve_rehearsal(configuration, runtime);
		return 0;
	}
	result = resolve(&choice, provider, model, runtime, error);
	if (result == -1)
		runtime_clear(runtime);
	runtime_choice_clear(&choice);
	return result;
}

/* A script is a file, a recording a folder. */
static bool
is_folder(const char *path)
{
	struct stat status;

	return path != NULL && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

void
runtime_rehearsal(const char *file, bool faults, struct runtime *runtime)
{
	memset(runtime, 0, sizeof *runtime);
	runtime->provider = xstrdup("rehearsal");
	runtime->label = xstrdup("Rehearsal");
	runtime->api_mode = xstrdup(is_folder(file) ? "replay" : "rehearsal");
	runtime->base_url = xstrdup("");
	runtime->model = xstrdup("rehearsal");
	runtime->context_length = runtime_context_length(runtime->model);
	runtime->connect_timeout_ms = 30 * 1000;
	runtime->silence_timeout_ms = 900 * 1000;
	runtime->total_timeout_ms = 1800 * 1000;
	runtime->rehearsal_file = file != NULL ? xstrdup(file) : NULL;
	runtime->rehearsal_faults = faults;
	runtime->reasoning_effort = xstrdup("");
}

static char *
copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

void
runtime_use_credential(struct runtime *runtime, size_t credential)
{
	if (runtime->api_key != NULL)
		explicit_bzero(runtime->api_key, strlen(runtime->api_key));
	free(runtime->api_key);
	runtime->api_key = xstrdup(credential_pool_key(runtime->pool, credential));
	runtime->credential = credential;
	secret_register(runtime->api_key);
}

void
runtime_copy(struct runtime *copy, const struct runtime *runtime)
{
	*copy = *runtime;
	copy->provider = copy_text(runtime->provider);
	copy->label = copy_text(runtime->label);
	copy->api_mode = copy_text(runtime->api_mode);
	copy->base_url = copy_text(runtime->base_url);
	copy->api_key = copy_text(runtime->api_key);
	copy->pool = credential_pool_hold(runtime->pool);
	copy->ca_file = copy_text(runtime->ca_file);
	copy->model = copy_text(runtime->model);
	copy->rehearsal_file = copy_text(runtime->rehearsal_file);
	copy->headers = json_copy(runtime->headers);
	copy->extra_body = json_copy(runtime->extra_body);
	copy->reasoning_effort = copy_text(runtime->reasoning_effort);
}

void
runtime_clear(struct runtime *runtime)
{
	free(runtime->provider);
	free(runtime->label);
	free(runtime->api_mode);
	free(runtime->base_url);
	if (runtime->api_key != NULL)
		explicit_bzero(runtime->api_key, strlen(runtime->api_key));
	free(runtime->api_key);
	credential_pool_release(runtime->pool);
	free(runtime->ca_file);
	free(runtime->model);
	free(runtime->rehearsal_file);
	json_object_put(runtime->headers);
	json_object_put(runtime->extra_body);
	free(runtime->reasoning_effort);
	memset(runtime, 0, sizeof *runtime);
}
