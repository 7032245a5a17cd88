/*
 * What a session uses is counted: in memory for the client, in the database for good. Requests
 * beside the conversation (titles) count like all others; one that failed and of which the
 * server told nothing does not.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/providers/provider.h"
#include "worker/store/store_sqlite.h"

#include <string.h>

static void
store(struct worker *worker, const struct model_usage *usage, const struct runtime *runtime,
    const char *task, const struct model_cost *cost)
{
	const struct store_usage row = {.model = runtime->model,
	    .provider = runtime->provider,
	    .base_url = runtime->base_url,
	    .mode = runtime->api_mode,
	    .task = task,
	    .input = model_usage_plain_input(usage),
	    .output = usage->output_tokens,
	    .cache_read = usage->cache_read_tokens,
	    .cache_write = usage->cache_write_tokens,
	    .reasoning = usage->reasoning_tokens,
	    .cost = cost->known ? cost->dollars : -1,
	    .cost_status = cost->status,
	    .cost_source = cost->source};

	store_sqlite_add_usage(worker->agent.store, &row);
}

void
session_count_usage(struct worker *worker, const struct model_usage *usage,
    const struct runtime *runtime, const char *task)
{
	struct model_cost cost;

	prices_cost(runtime, usage, &cost);
	usage_total_add(&worker->agent.usage, usage, &cost);
	if (worker->durable)
		store(worker, usage, runtime, task, &cost);
}

static int64_t
count(struct json_object *session, const char *key)
{
	int64_t value = 0;

	json_member_integer(session, key, &value);
	return value > 0 ? value : 0;
}

void
session_restore_usage(struct worker *worker, struct json_object *session)
{
	struct usage_total *total = &worker->agent.usage;
	const char *status = json_member_text(session, "cost_status", "unknown");
	double dollars = 0;

	*total = (struct usage_total){.input = count(session, "input_tokens"),
	    .output = count(session, "output_tokens"),
	    .cache_read = count(session, "cache_read_tokens"),
	    .cache_write = count(session, "cache_write_tokens"),
	    .reasoning = count(session, "reasoning_tokens")};
	if (usage_total_tokens(total) == 0)
		return;
	total->known = json_member_double(session, "estimated_cost_usd", &dollars) &&
		       dollars >= 0 && dollars < 1e9;
	total->unknown = !total->known || strcmp(status, "unknown") == 0;
	total->dollars = total->known ? dollars : 0;
}
