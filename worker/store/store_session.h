/*
 * What the store is told about a session: who it is, how it is run, and what it used. No key
 * and no other secret is among it.
 */
#ifndef HERMES_WORKER_STORE_STORE_SESSION_H
#define HERMES_WORKER_STORE_STORE_SESSION_H

#include "common/json.h"

/* All borrowed; NULL = not known. */
struct store_session_info {
	const char *session_id;
	const char *cwd; /* absolute */
	const char *model, *provider, *base_url, *api_mode;
	struct json_object *config; /* further members of model_config: mode …; null = none */
	const char *system_prompt;
};

/* One request to a model. Tokens below 0 count as 0; texts are borrowed, NULL = "". */
struct store_usage {
	const char *model, *provider, *base_url, *mode;
	const char *task; /* NULL or "" = the conversation itself */
	int64_t input, output, cache_read, cache_write, reasoning;
	double cost;			       /* dollars, below 0 = not known */
	const char *cost_status, *cost_source; /* NULL = not known */
};

/* Deep copies, released by the clear functions. */
void store_session_copy(struct store_session_info *copy, const struct store_session_info *info);
void store_session_clear(struct store_session_info *info);
/* Gives a copy another id. */
void store_session_set_id(struct store_session_info *copy, const char *id);
void store_usage_copy(struct store_usage *copy, const struct store_usage *usage);
void store_usage_clear(struct store_usage *usage);

#endif
