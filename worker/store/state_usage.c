/*
 * What a session has used. A sum of which a part is not known stays marked as unknown.
 */
#include <config.h>

#include "worker/store/state_usage.h"

static int64_t
positive(int64_t value)
{
	return value > 0 ? value : 0;
}

static const char *
given(const char *text)
{
	return text != NULL ? text : "";
}

static int
add_to_session(struct state *state, const char *id, const struct store_usage *usage)
{
	return state_sql_run(state->db,
	    "UPDATE sessions SET api_call_count = coalesce(api_call_count, 0) + 1, "
	    "input_tokens = coalesce(input_tokens, 0) + ?2, "
	    "output_tokens = coalesce(output_tokens, 0) + ?3, "
	    "cache_read_tokens = coalesce(cache_read_tokens, 0) + ?4, "
	    "cache_write_tokens = coalesce(cache_write_tokens, 0) + ?5, "
	    "reasoning_tokens = coalesce(reasoning_tokens, 0) + ?6, "
	    "estimated_cost_usd = CASE WHEN ?7 >= 0 THEN coalesce(estimated_cost_usd, 0) + ?7 "
	    "ELSE estimated_cost_usd END, cost_status = CASE WHEN cost_status = 'unknown' "
	    "THEN cost_status ELSE coalesce(?8, cost_status) END, "
	    "cost_source = coalesce(?9, cost_source) WHERE id = ?1",
	    "tiiiiirtt", id, positive(usage->input), positive(usage->output),
	    positive(usage->cache_read), positive(usage->cache_write),
	    positive(usage->reasoning), usage->cost, usage->cost_status, usage->cost_source);
}

static int
add_to_model(struct state *state, const char *id, const struct store_usage *usage)
{
	return state_sql_run(state->db,
	    "INSERT INTO session_model_usage(session_id, model, billing_provider, "
	    "billing_base_url, billing_mode, task, api_call_count, input_tokens, "
	    "output_tokens, "
	    "cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd, "
	    "cost_status, cost_source, first_seen, last_seen) VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
	    "1, "
	    "?7, ?8, ?9, ?10, ?11, max(?12, 0), ?13, ?14, ?15, ?15) ON CONFLICT(session_id, "
	    "model, billing_provider, billing_base_url, billing_mode, task) DO UPDATE SET "
	    "api_call_count = api_call_count + 1, "
	    "input_tokens = input_tokens + excluded.input_tokens, "
	    "output_tokens = output_tokens + excluded.output_tokens, "
	    "cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens, "
	    "cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, "
	    "reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens, "
	    "estimated_cost_usd = estimated_cost_usd + excluded.estimated_cost_usd, "
	    "cost_status = CASE WHEN cost_status = 'unknown' THEN cost_status "
	    "ELSE coalesce(excluded.cost_status, cost_status) END, "
	    "cost_source = coalesce(excluded.cost_source, cost_source), "
	    "last_seen = excluded.last_seen",
	    "ttttttiiiiirttr", id, given(usage->model), given(usage->provider),
	    given(usage->base_url), given(usage->mode), given(usage->task),
	    positive(usage->input), positive(usage->output), positive(usage->cache_read),
	    positive(usage->cache_write), positive(usage->reasoning), usage->cost,
	    usage->cost_status, usage->cost_source, state_sql_now());
}

/* An older layout has no column for the task, and its key is another one. */
static int
has_tasks(struct state *state, bool *found)
{
	int64_t value;
	int code = state_sql_integer(state->db, &value,
	    "SELECT 1 FROM pragma_table_info('session_model_usage') WHERE name = 'task'", "");

	*found = code == SQLITE_ROW;
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int
state_usage_add(struct state *state, const char *id, const struct store_usage *usage)
{
	bool tasks = false;
	int code = add_to_session(state, id, usage);

	if (code != SQLITE_OK || sqlite3_changes(state->db) == 0)
		return code;
	code = has_tasks(state, &tasks);
	return code == SQLITE_OK && tasks ? add_to_model(state, id, usage) : code;
}
