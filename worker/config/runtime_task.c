/*
 * The runtime of a task beside the conversation. Its block of config.yaml is read as `model`
 * is, by the same rules: a key reaches no host that it does not belong to.
 */
#include <config.h>

#include "worker/config/runtime.h"

#include "common/alloc.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *
text_of(struct json_object *block, const char *key)
{
	const char *text = json_member_string(block, key);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

/* The provider that the block names; NULL when it leaves that open. */
static const char *
provider_of(struct json_object *block)
{
	const char *provider = text_of(block, "provider");

	return provider != NULL && strcasecmp(provider, "auto") != 0 ? provider : NULL;
}

/* Another provider or address than the conversation's. `configuration` is changed. */
static int
resolve_block(const struct configuration *configuration, struct json_object *block,
    const struct runtime *main, struct runtime *runtime, struct buffer *error)
{
	const char *provider = provider_of(block), *model = text_of(block, "model");
	struct json_object *model_block = json_copy(block);

	/* An address without a name is judged by its host, whatever the environment names. */
	if (provider == NULL)
		json_set_text(model_block, "provider", "auto");
	if (model == NULL && provider != NULL && strcmp(provider, main->provider) == 0)
		model = main->model;
	json_set(configuration_tree(configuration), "model", model_block);
	return runtime_resolve(configuration, NULL, model, runtime, error);
}

static void
replace_model(struct runtime *runtime, const char *model)
{
	free(runtime->model);
	runtime->model = xstrdup(model);
	runtime->context_length = runtime_context_length(model);
}

static void
merge_body(struct runtime *runtime, struct json_object *body)
{
	if (body == NULL)
		return;
	if (runtime->extra_body == NULL)
		runtime->extra_body = json_object_new_object();
	json_object_object_foreach(body, key, value)
	{
		json_set(runtime->extra_body, key, json_copy(value));
	}
}

int
runtime_resolve_block(struct json_object *block, struct runtime *runtime, struct buffer *error)
{
	struct configuration *configuration = configuration_load();
	struct json_object *model_block = json_copy(block);
	int status;

	if (provider_of(block) == NULL)
		json_set_text(model_block, "provider", "auto");
	json_set(configuration_tree(configuration), "model", model_block);
	status = runtime_resolve(configuration, NULL, text_of(block, "model"), runtime, error);
	configuration_free(configuration);
	return status;
}

int
runtime_resolve_task(
    const char *task, const struct runtime *main, struct runtime *runtime, struct buffer *error)
{
	struct configuration *configuration = configuration_load();
	char *path = xasprintf("auxiliary.%s", task);
	struct json_object *block = json_copy(configuration_value(configuration, path));
	int status = 0;

	if (strcmp(main->provider, "rehearsal") == 0 ||
	    (provider_of(block) == NULL && text_of(block, "base_url") == NULL)) {
		runtime_copy(runtime, main);
		if (strcmp(main->provider, "rehearsal") != 0 && text_of(block, "model") != NULL)
			replace_model(runtime, text_of(block, "model"));
	} else {
		status = resolve_block(configuration, block, main, runtime, error);
	}
	if (status == 0)
		merge_body(runtime, json_member_object(block, "extra_body"));
	json_object_put(block);
	free(path);
	configuration_free(configuration);
	return status;
}
