/*
 * What the Messages API lets a model do, by its name: length of an answer, kind of thinking.
 * Unknown names are taken for new models.
 */
#ifndef HERMES_WORKER_PROVIDERS_ANTHROPIC_MODEL_H
#define HERMES_WORKER_PROVIDERS_ANTHROPIC_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum anthropic_thinking {
	ANTHROPIC_THINKING_NONE,     /* the model takes no such member */
	ANTHROPIC_THINKING_BUDGET,   /* a number of tokens */
	ANTHROPIC_THINKING_ADAPTIVE, /* an effort; also on when nothing is said */
};

/* The name that the API knows: without "anthropic/", a Claude's version with hyphens. The
 * caller frees it. */
char *anthropic_model_name(const char *model);
bool anthropic_model_is_claude(const char *model);
/* The most tokens that an answer may have. */
int64_t anthropic_model_output(const char *model);
enum anthropic_thinking anthropic_model_thinking(const char *model);
/* True when {"type":"disabled"} may be sent, and has to be to switch thinking off. */
bool anthropic_model_can_disable(const char *model);
/* An effort of the configuration as output_config.effort. Constant text. */
const char *anthropic_model_effort(const char *model, const char *effort);
/* The same as a number of thinking tokens. */
int64_t anthropic_model_budget(const char *effort);

#endif
