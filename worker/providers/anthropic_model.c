/*
 * Models by parts of their names. A limit here must never be higher than the model's own: the
 * API refuses the request then.
 */
#include <config.h>

#include "worker/providers/anthropic_model.h"
#include "common/alloc.h"

#include <string.h>
#include <strings.h>

#define OUTPUT_UNKNOWN 128000
#define BUDGET_DEFAULT 8000

/* The longest part that is found in the name counts; versions with hyphens. */
static const struct {
	const char *part;
	int64_t output;
	enum anthropic_thinking thinking;
} models[] = {
    {"claude", OUTPUT_UNKNOWN, ANTHROPIC_THINKING_ADAPTIVE},
    {"claude-3", 4096, ANTHROPIC_THINKING_NONE},
    {"claude-3-5", 8192, ANTHROPIC_THINKING_NONE},
    {"claude-3-7", 64000, ANTHROPIC_THINKING_BUDGET},
    {"claude-opus-4", 32000, ANTHROPIC_THINKING_BUDGET},
    {"claude-sonnet-4", 64000, ANTHROPIC_THINKING_BUDGET},
    {"claude-haiku-4", 64000, ANTHROPIC_THINKING_BUDGET},
    {"claude-opus-4-5", 64000, ANTHROPIC_THINKING_BUDGET},
    {"claude-opus-4-6", 128000, ANTHROPIC_THINKING_ADAPTIVE},
    {"claude-opus-4-7", 128000, ANTHROPIC_THINKING_ADAPTIVE},
    {"claude-opus-4-8", 128000, ANTHROPIC_THINKING_ADAPTIVE},
    {"claude-sonnet-4-6", 64000, ANTHROPIC_THINKING_ADAPTIVE},
    {"claude-sonnet-4-7", 64000, ANTHROPIC_THINKING_ADAPTIVE},
    {"claude-sonnet-4-8", 64000, ANTHROPIC_THINKING_ADAPTIVE},
    {"kimi", OUTPUT_UNKNOWN, ANTHROPIC_THINKING_ADAPTIVE},
    {"minimax", 131072, ANTHROPIC_THINKING_BUDGET},
    {"qwen3", 65536, ANTHROPIC_THINKING_BUDGET},
};

/* Efforts of the configuration. Models before Claude 4.7 know no xhigh. */
static const struct {
	const char *name, *effort, *effort_46;
	int64_t budget;
} efforts[] = {
    {"minimal", "low", "low", 1024},
    {"low", "low", "low", 4000},
    {"medium", "medium", "medium", BUDGET_DEFAULT},
    {"high", "high", "high", 16000},
    {"xhigh", "xhigh", "max", 32000},
    {"max", "max", "max", 32000},
    {"ultra", "max", "max", 32000},
};

/* True when `part` stands in `model`, dots counting as hyphens. */
static bool
contains(const char *model, const char *part)
{
	size_t i;

	for (; *model != '\0'; model++) {
		for (i = 0; part[i] != '\0' && model[i] != '\0' &&
			    (strncasecmp(model + i, part + i, 1) == 0 ||
				(model[i] == '.' && part[i] == '-'));
		     i++)
			;
		if (part[i] == '\0')
			return true;
	}
	return false;
}

/* The row of the model; -1 when it is unknown. */
static int
find(const char *model)
{
	size_t i, longest = 0;
	int found = -1;

	for (i = 0; i < sizeof models / sizeof models[0]; i++) {
		if (strlen(models[i].part) > longest && contains(model, models[i].part)) {
			longest = strlen(models[i].part);
			found = (int)i;
		}
	}
	return found;
}

char *
anthropic_model_name(const char *model)
{
	static const char prefix[] = "anthropic/";
	char *name, *dot;

	if (strncasecmp(model, prefix, sizeof prefix - 1) == 0)
		model += sizeof prefix - 1;
	name = xstrdup(model);
	if (strncasecmp(name, "claude-", 7) == 0)
		for (dot = strchr(name, '.'); dot != NULL; dot = strchr(dot, '.'))
			*dot = '-';
	return name;
}

bool
anthropic_model_is_claude(const char *model)
{
	return contains(model, "claude");
}

int64_t
anthropic_model_output(const char *model)
{
	int row = find(model);

	return row >= 0 ? models[row].output : OUTPUT_UNKNOWN;
}

enum anthropic_thinking
anthropic_model_thinking(const char *model)
{
	int row = find(model);

	return row >= 0 ? models[row].thinking : ANTHROPIC_THINKING_BUDGET;
}

bool
anthropic_model_can_disable(const char *model)
{
	return anthropic_model_is_claude(model) && !contains(model, "claude-fable") &&
	       anthropic_model_thinking(model) == ANTHROPIC_THINKING_ADAPTIVE;
}

const char *
anthropic_model_effort(const char *model, const char *effort)
{
	bool early = contains(model, "-4-6");
	size_t i;

	for (i = 0; i < sizeof efforts / sizeof efforts[0]; i++)
		if (strcmp(efforts[i].name, effort) == 0)
			return early ? efforts[i].effort_46 : efforts[i].effort;
	return "medium";
}

int64_t
anthropic_model_budget(const char *effort)
{
	size_t i;

	for (i = 0; i < sizeof efforts / sizeof efforts[0]; i++)
		if (strcmp(efforts[i].name, effort) == 0)
			return efforts[i].budget;
	return BUDGET_DEFAULT;
}
