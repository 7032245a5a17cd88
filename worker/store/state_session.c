/*
 * Rows of sessions.
 */
#include <config.h>

#include "worker/store/state_session.h"
#include "worker/store/state_hash.h"
#include "worker/store/state_json.h"
#include "worker/store/state_lease.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                \
	"SELECT id, source, cwd, model, model_config, title, title_source, "                   \
	"parent_session_id, started_at, ended_at, end_reason, last_activity_at, "              \
	"message_count, tool_call_count, api_call_count, input_tokens, output_tokens, "        \
	"cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd, "        \
	"cost_status, billing_provider, billing_base_url, billing_mode"
#define FROM " FROM sessions WHERE id = ?"
#define PROMPT                                                                                 \
	", (SELECT p.prompt FROM system_prompts AS p WHERE p.hash = system_prompt_hash) AS "   \
	"system_prompt"

static int
read_row(struct state *state, const char *sql, const char *id, struct json_object **session)
{
	sqlite3_stmt *statement = state_sql_prepare(state->db, sql, "t", id);
	struct json_object *config;
	const char *text;
	size_t length;
	int code;

	*session = NULL;
	if (statement == NULL)
		return sqlite3_extended_errcode(state->db);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		*session = state_sql_row(statement);
		text = state_sql_bytes(statement, 4, &length);
		config = state_json_object(text, length);
		json_set(
		    *session, "config", config != NULL ? config : json_object_new_object());
	}
	sqlite3_finalize(statement);
	if (code == SQLITE_ROW)
		return SQLITE_OK;
	return code == SQLITE_DONE ? SQLITE_NOTFOUND : sqlite3_extended_errcode(state->db);
}

int
state_session_read(struct state *state, const char *id, struct json_object **session)
{
	return read_row(state, COLUMNS PROMPT FROM " AND source = 'acp'", id, session);
}

int
state_session_read_any(struct state *state, const char *id, struct json_object **session)
{
	return read_row(state, COLUMNS FROM, id, session);
}

/* The stored model_config with what `info` has put over it, as text. `over` false: what is
 * stored wins. */
static void
append_config(struct buffer *text, struct json_object *stored,
    const struct store_session_info *info, bool over)
{
	const struct {
		const char *key, *value;
	} fields[] = {
	    {"cwd", info->cwd},
	    {"provider", info->provider},
	    {"base_url", info->base_url},
	    {"api_mode", info->api_mode},
	};
	struct json_object *config =
	    stored != NULL ? json_copy(stored) : json_object_new_object();
	size_t i;

	for (i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (fields[i].value != NULL && fields[i].value[0] != '\0' &&
		    (over || !json_has(config, fields[i].key)))
			json_set_text(config, fields[i].key, fields[i].value);
	if (json_object_is_type(info->config, json_type_object)) {
		json_object_object_foreach(info->config, key, value)
		{
			if (!over && json_has(config, key))
				continue;
			if (value != NULL)
				json_set(config, key, json_copy(value));
			else
				json_object_object_del(config, key);
		}
	}
	state_json_append(text, config);
	json_object_put(config);
}

/* Stores the prompt under its hash, once for all sessions that have it. */
static int
store_prompt(struct state *state, const char *prompt, char hash[STATE_HASH_SIZE])
{
	hash[0] = '\0';
	if (prompt == NULL)
		return SQLITE_OK;
	state_hash(prompt, strlen(prompt), hash);
	return state_sql_run(state->db,
	    "INSERT INTO system_prompts(hash, prompt) VALUES (?, ?) ON CONFLICT(hash) DO "
	    "NOTHING",
	    "tt", hash, prompt);
}

static int
insert_row(struct state *state, const struct store_session_info *info)
{
	struct buffer config = BUFFER_EMPTY;
	char hash[STATE_HASH_SIZE];
	double now = state_sql_now();
	int code = store_prompt(state, info->system_prompt, hash);

	append_config(&config, NULL, info, true);
	if (code == SQLITE_OK)
		code = state_sql_run(state->db,
		    "INSERT INTO sessions(id, source, cwd, model, model_config, "
		    "billing_provider, billing_base_url, billing_mode, system_prompt_hash, "
		    "started_at, last_activity_at) VALUES (?, 'acp', ?, ?, ?, ?, ?, ?, ?, ?, "
		    "?)",
		    "ttttttttrr", info->session_id, info->cwd, info->model,
		    buffer_text(&config), info->provider, info->base_url, info->api_mode,
		    hash[0] != '\0' ? hash : NULL, now, now);
	buffer_free(&config);
	return code;
}

/* What the row lacks is filled in, and it is open again. */
static int
complete_row(
    struct state *state, const struct store_session_info *info, struct json_object *config)
{
	struct buffer text = BUFFER_EMPTY;
	char hash[STATE_HASH_SIZE];
	int code = store_prompt(state, info->system_prompt, hash);

	append_config(&text, config, info, false);
	if (code == SQLITE_OK)
		code = state_sql_run(state->db,
		    "UPDATE sessions SET source = CASE source WHEN 'unknown' THEN 'acp' ELSE "
		    "source END, cwd = coalesce(cwd, ?2), model = coalesce(model, ?3), "
		    "model_config = ?4, billing_provider = coalesce(billing_provider, ?5), "
		    "billing_base_url = coalesce(billing_base_url, ?6), "
		    "billing_mode = coalesce(billing_mode, ?7), "
		    "system_prompt_hash = coalesce(system_prompt_hash, ?8), "
		    "ended_at = NULL, end_reason = NULL WHERE id = ?1",
		    "tttttttt", info->session_id, info->cwd, info->model, buffer_text(&text),
		    info->provider, info->base_url, info->api_mode,
		    hash[0] != '\0' ? hash : NULL);
	buffer_free(&text);
	return code;
}

/* The row's end_reason and model_config; SQLITE_ROW, SQLITE_DONE or an error. */
static int
read_state(struct state *state, const char *id, struct json_object **config, bool *continued)
{
	sqlite3_stmt *statement = state_sql_prepare(state->db,
	    "SELECT model_config, ended_at IS NOT NULL AND end_reason = 'compression' "
	    "FROM sessions WHERE id = ?",
	    "t", id);
	const char *text;
	size_t length;
	int code;

	*config = NULL;
	*continued = false;
	if (statement == NULL)
		return sqlite3_extended_errcode(state->db);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		text = state_sql_bytes(statement, 0, &length);
		*config = state_json_object(text, length);
		*continued = sqlite3_column_int(statement, 1) != 0;
	}
	sqlite3_finalize(statement);
	return code == SQLITE_ROW || code == SQLITE_DONE ? code
							 : sqlite3_extended_errcode(state->db);
}

int
state_session_create(
    struct state *state, const struct store_session_info *info, struct buffer *error)
{
	struct json_object *config;
	bool continued;
	int code = read_state(state, info->session_id, &config, &continued);

	if (code == SQLITE_DONE) {
		code = insert_row(state, info);
	} else if (code == SQLITE_ROW && continued) {
		buffer_printf(error,
		    "session %s was summed up and goes on in another session; load that one",
		    info->session_id);
		code = STATE_REFUSED;
	} else if (code == SQLITE_ROW) {
		code = complete_row(state, info, config);
	}
	json_object_put(config);
	return code;
}

int
state_session_update(struct state *state, const struct store_session_info *info)
{
	struct json_object *config;
	struct buffer text = BUFFER_EMPTY;
	char hash[STATE_HASH_SIZE];
	bool continued;
	int code = read_state(state, info->session_id, &config, &continued);

	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? SQLITE_OK : code;
	code = store_prompt(state, info->system_prompt, hash);
	append_config(&text, config, info, true);
	/* Another folder makes what is known about its git repository void. */
	if (code == SQLITE_OK)
		code = state_sql_run(state->db,
		    "UPDATE sessions SET git_branch = NULL, git_repo_root = NULL, "
		    "git_metadata_generation = coalesce(git_metadata_generation, 0) + 1 "
		    "WHERE id = ?1 AND ?2 IS NOT NULL AND cwd IS NOT NULL AND cwd <> ?2",
		    "tt", info->session_id, info->cwd);
	if (code == SQLITE_OK)
		code = state_sql_run(state->db,
		    "UPDATE sessions SET cwd = coalesce(?2, cwd), model = coalesce(?3, model), "
		    "model_config = ?4, billing_provider = coalesce(?5, billing_provider), "
		    "billing_base_url = coalesce(?6, billing_base_url), "
		    "billing_mode = coalesce(?7, billing_mode), "
		    "system_prompt_hash = coalesce(?8, system_prompt_hash) WHERE id = ?1",
		    "tttttttt", info->session_id, info->cwd, info->model, buffer_text(&text),
		    info->provider, info->base_url, info->api_mode,
		    hash[0] != '\0' ? hash : NULL);
	buffer_free(&text);
	json_object_put(config);
	return code;
}
