/*
 * Which model is talked to, where and with which key. A key goes only to the host that it
 * belongs to.
 */
#ifndef HERMES_WORKER_CONFIG_RUNTIME_H
#define HERMES_WORKER_CONFIG_RUNTIME_H

#include "common/buffer.h"
#include "worker/config/configuration.h"

#include <stdint.h>

struct credential_pool;

struct runtime {
	char *provider; /* "openrouter", "custom", "custom:name", "rehearsal" … */
	char *label;	/* for people: "OpenRouter" */
	char *api_mode; /* name of a row of api_mode_find() */
	char *base_url; /* no trailing slash */
	char *api_key;	/* NULL = the endpoint needs none; registered with log.h */
	/* The keys that may go there, of which api_key is one; NULL when there is just that. */
	struct credential_pool *pool;
	size_t credential; /* its place in the pool */
	char *model;
	int64_t context_length; /* tokens */
	int64_t max_tokens;	/* 0 = not sent */
	char *ca_file; /* certificates to trust besides what libcurl finds; may be NULL */
	int64_t tries; /* of a request that may heal; 0 = the default */
	int64_t connect_timeout_ms, silence_timeout_ms, total_timeout_ms;
	char *rehearsal_file;		/* rehearsal: script, NULL = the built-in one */
	bool rehearsal_faults;		/* rehearsal: faults are allowed */
	struct json_object *headers;	/* further headers, name → value; may be NULL */
	struct json_object *extra_body; /* merged into the request's body; may be NULL */
	char *reasoning_effort;		/* "" or NULL = the provider's default */
};

/* Finds the runtime. `provider` and `model` override the configuration when not NULL.
 * -1 with a text in `error` that says what is missing and where to put it. */
int runtime_resolve(const struct configuration *configuration, const char *provider,
    const char *model, struct runtime *runtime, struct buffer *error);
/* The runtime of the rehearsal provider; always succeeds. */
void runtime_rehearsal(const char *file, bool faults, struct runtime *runtime);
/* The runtime of an auxiliary task ("title_generation"): `main` but for what the block
 * auxiliary.<task> says of provider, model, address and key (as in Hermes). While `main` is the
 * rehearsal nobody else is asked. -1 with a text in `error`. */
int runtime_resolve_task(const char *task, const struct runtime *main, struct runtime *runtime,
    struct buffer *error);
/* The runtime that a block of config.yaml describes like the one under `model`, by the
 * configuration as it is now. -1 with a text in `error`. */
int
runtime_resolve_block(struct json_object *block, struct runtime *runtime, struct buffer *error);
/* The blocks of fallback_providers (or fallback_model) that can be resolved, in order; an array
 * that the caller owns. What cannot be one is noted. */
struct json_object *runtime_fallbacks(const struct configuration *configuration);
/* Another key of the runtime's pool. */
void runtime_use_credential(struct runtime *runtime, size_t credential);
void runtime_copy(struct runtime *copy, const struct runtime *runtime);
void runtime_clear(struct runtime *runtime);
/* Context window of a model by its name (as in Hermes: longest substring; 256,000). */
int64_t runtime_context_length(const char *model);

#endif
