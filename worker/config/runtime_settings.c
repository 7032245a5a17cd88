/*
 * Time limits, window, headers and reasoning effort of a runtime. A value that makes no
 * sense is noted and its default used.
 */
#include <config.h>

#include "worker/config/configuration_private.h"
#include "worker/config/endpoint.h"
#include "worker/config/live_models.h"
#include "worker/config/model_table.h"
#include "worker/config/runtime_private.h"

#include "common/alloc.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Seconds, as in Hermes. The time for a connection is our own number. */
#define CONNECT_SECONDS 30
#define SILENCE_SECONDS 90
#define SILENCE_LOCAL_SECONDS 900
#define SILENCE_REASONING_SECONDS 600
#define SILENCE_ANTHROPIC_SECONDS 900
#define TOTAL_SECONDS 1800
#define TRIES 3
#define TRIES_MAX 20
#define SECONDS_MAX (7 * 24 * 3600)

/* Models that think for minutes before their first byte. */
static const char *const reasoning_models[] = {"o1", "o3", "o4", "gpt-5", "deepseek-r",
    "deepseek-reasoner", "qwq", "grok-4", "thinking", "kimi-k2"};

static const char *const efforts[] = {
    "none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"};

/* A block's member by the first of its names that is there. */
static struct json_object *
first_member(struct json_object *block, const char *const *names)
{
	struct json_object *value = NULL;

	for (; *names != NULL && value == NULL; names++)
		value = json_member(block, *names);
	return value;
}

static void
note_member(
    const struct runtime_choice *choice, const char *base, const char *key, const char *reason)
{
	char *path = xasprintf("%s.%s", base, key);

	configuration_note(choice->configuration, path, "%s; it is not used", reason);
	free(path);
}

/* A positive number of seconds as milliseconds; 0 when absent or senseless. */
static int64_t
block_milliseconds(const struct runtime_choice *choice, struct json_object *block,
    const char *path, const char *key)
{
	double seconds;

	if (!json_has(block, key))
		return 0;
	if (json_member_double(block, key, &seconds) && seconds > 0 && seconds <= SECONDS_MAX)
		return (int64_t)(seconds * 1000) > 0 ? (int64_t)(seconds * 1000) : 1;
	note_member(choice, path, key, "this is not a number of seconds");
	return 0;
}

static int64_t
variable_milliseconds(const struct runtime_choice *choice, const char *name)
{
	const char *text = configuration_variable(choice->configuration, name);
	double seconds;
	char *end;

	if (text == NULL)
		return 0;
	seconds = strtod(text, &end);
	if (*end != '\0' || !(seconds > 0) || seconds > SECONDS_MAX)
		return 0;
	return (int64_t)(seconds * 1000) > 0 ? (int64_t)(seconds * 1000) : 1;
}

static int64_t
block_tokens(const struct runtime_choice *choice, struct json_object *block, const char *path,
    const char *key)
{
	int64_t tokens;

	if (!json_has(block, key))
		return 0;
	if (json_member_integer(block, key, &tokens) && tokens > 0 && tokens <= INT32_MAX)
		return tokens;
	note_member(choice, path, key, "this is not a number of tokens");
	return 0;
}

/* What the provider's block says about one model; borrowed. */
static struct json_object *
model_entry(const struct runtime_choice *choice, const char *model)
{
	return json_member_object(json_member_object(choice->block, "models"), model);
}

static bool
is_reasoning_model(const char *model)
{
	const char *name = strrchr(model, '/');
	size_t i;

	name = name != NULL ? name + 1 : model;
	for (i = 0; i < sizeof reasoning_models / sizeof *reasoning_models; i++)
		if (strncasecmp(name, reasoning_models[i], strlen(reasoning_models[i])) == 0 ||
		    (strlen(reasoning_models[i]) > 3 && strcasestr(name, reasoning_models[i])))
			return true;
	return false;
}

static int64_t
default_silence(const struct runtime_choice *choice, const char *model, const char *api_mode)
{
	int64_t seconds;

	if (endpoint_is_local(choice->base_url)) {
		seconds = configuration_integer(choice->configuration,
		    "agent.local_stream_stale_timeout", SILENCE_LOCAL_SECONDS);
		return seconds > 0 && seconds <= SECONDS_MAX ? seconds * 1000
							     : SILENCE_LOCAL_SECONDS * 1000;
	}
	if (strcmp(api_mode, "anthropic_messages") == 0)
		return SILENCE_ANTHROPIC_SECONDS * 1000;
	return 1000 * (is_reasoning_model(model) ? SILENCE_REASONING_SECONDS : SILENCE_SECONDS);
}

static int64_t
first_set(int64_t a, int64_t b, int64_t c, int64_t d)
{
	return a > 0 ? a : b > 0 ? b : c > 0 ? c : d;
}

static int64_t
default_tries(const struct runtime_choice *choice)
{
	static const char path[] = "agent.api_max_retries";
	int64_t tries = configuration_integer(choice->configuration, path, TRIES);

	if (tries >= 0 && tries <= TRIES_MAX)
		return tries > 0 ? tries : 1;
	configuration_note(choice->configuration, path,
	    "this is not a number from 0 to %d; %d is used", TRIES_MAX, TRIES);
	return TRIES;
}

static void
fill_times(const struct runtime_choice *choice, struct runtime *runtime)
{
	struct json_object *entry = model_entry(choice, runtime->model);
	const char *path = choice->block_path;

	runtime->tries = default_tries(choice);
	runtime->connect_timeout_ms = first_set(
	    block_milliseconds(choice, choice->block, path, "connect_timeout_seconds"),
	    CONNECT_SECONDS * 1000, 0, 0);
	runtime->total_timeout_ms =
	    first_set(block_milliseconds(choice, entry, path, "timeout_seconds"),
		block_milliseconds(choice, choice->block, path, "request_timeout_seconds"),
		variable_milliseconds(choice, "HERMES_API_TIMEOUT"), TOTAL_SECONDS * 1000);
	runtime->silence_timeout_ms =
	    first_set(block_milliseconds(choice, entry, path, "stale_timeout_seconds"),
		block_milliseconds(choice, choice->block, path, "stale_timeout_seconds"),
		variable_milliseconds(choice, "HERMES_API_CALL_STALE_TIMEOUT"),
		default_silence(choice, runtime->model, runtime->api_mode));
}

/* A file of certificates that the endpoint's block names, or one of the variables: in .env they
 * reach no library. A file that cannot be read is not used: the others refuse more, not less.
 */
static void
fill_certificates(const struct runtime_choice *choice, struct runtime *runtime)
{
	static const char *const names[] = {
	    "HERMES_CA_BUNDLE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"};
	const char *file = json_member_string(choice->block, "ssl_ca_cert");
	size_t i;

	if (file != NULL && *file != '\0') {
		if (*file == '/' && access(file, R_OK) == 0)
			runtime->ca_file = xstrdup(file);
		else
			note_member(choice, choice->block_path, "ssl_ca_cert",
			    *file == '/' ? "this file cannot be read"
					 : "this is not a path from the root");
	}
	for (i = 0; runtime->ca_file == NULL && i < sizeof names / sizeof *names; i++) {
		file = configuration_variable(choice->configuration, names[i]);
		if (file == NULL || *file == '\0')
			continue;
		if (access(file, R_OK) == 0)
			runtime->ca_file = xstrdup(file);
		else
			configuration_note_variable(choice->configuration, names[i],
			    "this names no file that can be read; it is not used");
	}
}

/* The window stands with the model that it was measured for. */
static void
fill_tokens(const struct runtime_choice *choice, struct runtime *runtime)
{
	const char *configured = runtime_configured_model(choice->configuration);
	struct json_object *block = configuration_value(choice->configuration, "model");
	struct json_object *entry = model_entry(choice, runtime->model);
	const struct model_row *row = model_table_find(choice->id, runtime->model);
	int64_t window = 0, live;

	live = live_models_window(
	    choice->configuration, choice->id, choice->base_url, runtime->model);
	if (configured != NULL && strcmp(configured, runtime->model) == 0)
		window = block_tokens(choice, block, "model", "context_length");
	runtime->context_length =
	    first_set(window, block_tokens(choice, entry, choice->block_path, "context_length"),
		block_tokens(choice, choice->block, choice->block_path, "context_length"),
		live	      ? live
		: row != NULL ? row->context
			      : runtime_context_length(runtime->model));
	runtime->max_tokens =
	    first_set(block_tokens(choice, choice->model_block, "model", "max_tokens"),
		block_tokens(choice, choice->block, choice->block_path, "max_output_tokens"),
		block_tokens(choice, choice->block, choice->block_path, "max_tokens"), 0);
}

static bool
fits_header(const char *name, const char *value)
{
	static const char token[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";

	if (*name == '\0' || name[strspn(name, token)] != '\0')
		return false;
	for (; *value != '\0'; value++)
		if ((unsigned char)*value < 0x20 || *value == 0x7f)
			return false;
	return true;
}

/* A header of the user's own may hold a key, with or without a scheme before it. */
static void
register_header(const char *name, const char *value)
{
	static const char *const parts[] = {"auth", "cookie", "key", "secret", "token"};
	const char *space = strrchr(value, ' ');
	size_t i;

	for (i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strcasestr(name, parts[i]) != NULL) {
			secret_register(value);
			secret_register(space != NULL ? space + 1 : NULL);
			return;
		}
}

static void
fill_headers(const struct runtime_choice *choice, struct runtime *runtime)
{
	static const char *const names[] = {
	    "extra_headers", "headers", "default_headers", NULL};
	struct json_object *wanted = first_member(choice->block, names);
	char host[ENDPOINT_HOST_SIZE];

	endpoint_host(choice->base_url, host);
	runtime->headers = json_object_new_object();
	if (endpoint_host_within(host, "openrouter.ai")) {
		json_set_text(
		    runtime->headers, "HTTP-Referer", "https://hermes-agent.nousresearch.com");
		json_set_text(runtime->headers, "X-Title", "Hermes Agent");
	}
	if (!json_object_is_type(wanted, json_type_object))
		return;
	json_object_object_foreach(wanted, name, value)
	{
		if (!json_object_is_type(value, json_type_object) &&
		    !json_object_is_type(value, json_type_array) && value != NULL &&
		    fits_header(name, json_object_get_string(value))) {
			register_header(name, json_object_get_string(value));
			json_set_text(runtime->headers, name, json_object_get_string(value));
		} else {
			note_member(
			    choice, choice->block_path, name, "this cannot be a header");
		}
	}
}

static void
fill_body(const struct runtime_choice *choice, struct runtime *runtime)
{
	struct json_object *body = json_member_object(choice->block, "extra_body"), *routing;

	runtime->extra_body = json_copy(body);
	routing = configuration_value(choice->configuration, "provider_routing");
	if (strcmp(choice->id, "openrouter") != 0 ||
	    !json_object_is_type(routing, json_type_object))
		return;
	if (runtime->extra_body == NULL)
		runtime->extra_body = json_object_new_object();
	if (!json_has(runtime->extra_body, "provider"))
		json_set(runtime->extra_body, "provider", json_copy(routing));
}

static void
fill_effort(const struct runtime_choice *choice, struct runtime *runtime)
{
	const char *effort =
	    configuration_string(choice->configuration, "agent.reasoning_effort", "");
	struct json_object *overrides =
	    configuration_value(choice->configuration, "agent.reasoning_overrides");
	size_t i;

	effort = json_member_text(overrides, runtime->model, effort);
	if (strcmp(effort, "false") == 0) /* YAML reads "off" as false */
		effort = "none";
	for (i = 0; i < sizeof efforts / sizeof *efforts; i++)
		if (strcasecmp(effort, efforts[i]) == 0)
			break;
	if (i == sizeof efforts / sizeof *efforts && *effort != '\0')
		configuration_note(choice->configuration, "agent.reasoning_effort",
		    "\"%.40s\" is not one of none, minimal, low, medium, high, xhigh, max, "
		    "ultra; the provider's default is used",
		    effort);
	runtime->reasoning_effort =
	    xstrdup(i < sizeof efforts / sizeof *efforts ? efforts[i] : "");
}

void
runtime_settings_fill(const struct runtime_choice *choice, struct runtime *runtime)
{
	fill_times(choice, runtime);
	fill_certificates(choice, runtime);
	fill_tokens(choice, runtime);
	fill_headers(choice, runtime);
	fill_body(choice, runtime);
	fill_effort(choice, runtime);
}
