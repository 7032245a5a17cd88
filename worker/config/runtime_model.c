/*
 * The configured model's name, and context windows by families of models. The longest part
 * of the name that is known wins; that is a last resort and must never beat a configured
 * value.
 */
#include <config.h>

#include "worker/config/runtime_private.h"

#include <ctype.h>
#include <string.h>

#define CONTEXT_UNKNOWN 256000

/* Names under which a model's name may stand in the model block. */
static const char *const model_names[] = {"default", "model", "name"};

static const struct {
	const char *part;
	int64_t tokens;
} families[] = {
    {"claude", 200000},
    {"claude-opus-4-6", 1000000},
    {"claude-opus-4.6", 1000000},
    {"claude-sonnet-4-6", 1000000},
    {"claude-sonnet-4.6", 1000000},
    {"claude-opus-4-7", 1000000},
    {"claude-opus-4.7", 1000000},
    {"claude-sonnet-4-7", 1000000},
    {"claude-sonnet-4.7", 1000000},
    {"claude-opus-4-8", 1000000},
    {"claude-opus-4.8", 1000000},
    {"claude-sonnet-4-8", 1000000},
    {"claude-sonnet-4.8", 1000000},
    {"gpt-4", 128000},
    {"gpt-4.1", 1047576},
    {"gpt-5", 400000},
    {"gpt-5.4", 1050000},
    {"gpt-5.5", 1050000},
    {"gemini", 1048576},
    {"deepseek", 128000},
    {"deepseek-v4", 1000000},
    {"llama", 131072},
    {"qwen", 131072},
    {"qwen3-coder", 262144},
    {"kimi", 262144},
    {"glm", 202752},
    {"grok-4", 256000},
    {"minimax", 204800},
};

/* strstr() that takes upper and lower case for the same; `part` is in lower case. */
static bool
contains(const char *text, const char *part)
{
	size_t i;

	for (; *text != '\0'; text++) {
		for (i = 0; part[i] != '\0' && tolower((unsigned char)text[i]) == part[i]; i++)
			;
		if (part[i] == '\0')
			return true;
	}
	return false;
}

int64_t
runtime_context_length(const char *model)
{
	int64_t tokens = CONTEXT_UNKNOWN;
	size_t i, longest = 0;

	for (i = 0; model != NULL && i < sizeof families / sizeof *families; i++)
		if (strlen(families[i].part) > longest && contains(model, families[i].part)) {
			longest = strlen(families[i].part);
			tokens = families[i].tokens;
		}
	return tokens;
}

const char *
runtime_configured_model(const struct configuration *configuration)
{
	struct json_object *block = configuration_value(configuration, "model");
	const char *name;
	size_t i;

	if (block != NULL && !json_object_is_type(block, json_type_object)) {
		name = configuration_string(configuration, "model", NULL);
		return name != NULL && *name != '\0' ? name : NULL;
	}
	for (i = 0; i < sizeof model_names / sizeof *model_names; i++) {
		name = json_member_string(block, model_names[i]);
		if (name != NULL && *name != '\0')
			return name;
	}
	return NULL;
}
