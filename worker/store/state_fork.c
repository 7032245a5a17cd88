/*
 * Forking a session.
 */
#include <config.h>

#include "worker/store/state_fork.h"
#include "worker/store/state_json.h"
#include "worker/store/state_lease.h"
#include "worker/store/state_messages.h"
#include "worker/store/state_row.h"
#include "worker/store/state_session.h"
#include "worker/store/state_title.h"

#include <stdlib.h>
#include <string.h>

/* Where the exchanges of a session end. */
struct walk {
	struct json_object *open; /* calls without a result, as keys */
	int64_t complete;	  /* the last row of the last complete exchange */
	int64_t last;		  /* the row before */
	bool answered;		  /* something follows the last prompt */
};

static void
open_calls(struct walk *walk, const char *text, size_t length)
{
	const char *reason;
	struct json_object *calls = json_parse(text, length, &reason);
	size_t i, count;

	count =
	    json_object_is_type(calls, json_type_array) ? json_object_array_length(calls) : 0;
	for (i = 0; i < count; i++)
		json_set_boolean(walk->open,
		    json_member_text(json_object_array_get_idx(calls, i), "id", ""), true);
	json_object_put(calls);
}

static void
close_exchange(struct walk *walk)
{
	if (walk->answered && json_object_object_length(walk->open) == 0)
		walk->complete = walk->last;
}

static void
take_row(struct walk *walk, sqlite3_stmt *statement)
{
	const char *role = (const char *)sqlite3_column_text(statement, 1), *text;
	size_t length;

	if (strcmp(role, "user") == 0) {
		close_exchange(walk);
		walk->answered = false;
		/* What an earlier crash left open stays out of the count from here on. */
		json_object_put(walk->open);
		walk->open = json_object_new_object();
	} else if (strcmp(role, "assistant") == 0) {
		text = state_sql_bytes(statement, 2, &length);
		if (text != NULL)
			open_calls(walk, text, length);
		walk->answered = true;
	} else if (strcmp(role, "tool") == 0) {
		text = (const char *)sqlite3_column_text(statement, 3);
		json_object_object_del(walk->open, text != NULL ? text : "");
	}
	walk->last = sqlite3_column_int64(statement, 0);
}

/* The last row that is copied; 0 when none is. */
static int
find_end(struct state *state, const char *source, int64_t *end)
{
	struct walk walk = {.open = json_object_new_object()};
	sqlite3_stmt *statement = NULL;
	int64_t limit = INT64_MAX;
	bool running = false;
	int code = state_lease_running(state, source, &running);

	if (code == SQLITE_OK && running)
		code = state_messages_last_user(state, source, &limit);
	if (code == SQLITE_OK) {
		statement = state_sql_prepare(state->db,
		    "SELECT id, role, tool_calls, tool_call_id FROM messages WHERE "
		    "session_id = ? AND active = 1 AND id < ? ORDER BY id",
		    "ti", source, limit);
		while (statement != NULL && (code = sqlite3_step(statement)) == SQLITE_ROW)
			take_row(&walk, statement);
		if (statement == NULL || code != SQLITE_DONE)
			code = sqlite3_extended_errcode(state->db);
		else
			code = SQLITE_OK;
		sqlite3_finalize(statement);
	}
	close_exchange(&walk);
	*end = walk.complete;
	json_object_put(walk.open);
	return code;
}

static int
copy_messages(struct state *state, const char *source, const char *id, int64_t end)
{
	struct buffer sql = BUFFER_EMPTY;
	size_t i, pass;
	int code;

	for (pass = 0; pass < 2; pass++) {
		buffer_append_text(
		    &sql, pass == 0 ? "INSERT INTO messages(session_id" : ") SELECT ?2");
		buffer_append_text(&sql, ", timestamp, _compressed_summary");
		for (i = 0; i < STATE_ROW_COLUMNS; i++)
			buffer_printf(&sql, ", %s", state_row_column(i));
	}
	buffer_append_text(&sql,
	    " FROM messages WHERE session_id = ?1 AND active = 1 AND id <= ?3 ORDER BY id");
	code = state_sql_run(state->db, buffer_text(&sql), "tti", source, id, end);
	buffer_free(&sql);
	return code;
}

static void
append_config(struct buffer *text, struct json_object *row, const char *source, const char *cwd)
{
	struct json_object *config = json_copy(json_member_object(row, "config"));

	json_object_object_del(config, "_delegate_from");
	json_object_object_del(config, "_reset_from");
	json_object_object_del(config, "additional_directories"); /* the request has its own */
	json_set_text(config, "_branched_from", source);
	if (cwd != NULL)
		json_set_text(config, "cwd", cwd);
	state_json_append(text, config);
	json_object_put(config);
}

/* The prompt is not taken over: it names the folder and is made anew. */
static int
copy_row(struct state *state, struct json_object *row, const char *source, const char *id,
    const char *cwd)
{
	struct buffer config = BUFFER_EMPTY;
	double now = state_sql_now();
	char *title = NULL;
	int code;

	append_config(&config, row, source, cwd);
	code = state_sql_run(state->db,
	    "INSERT INTO sessions(id, source, cwd, git_branch, git_repo_root, model, "
	    "model_config, "
	    "billing_provider, billing_base_url, billing_mode, parent_session_id, started_at, "
	    "last_activity_at) SELECT ?2, 'acp', coalesce(?3, cwd), "
	    "CASE WHEN ?3 IS NULL OR ?3 = cwd THEN git_branch END, "
	    "CASE WHEN ?3 IS NULL OR ?3 = cwd THEN git_repo_root END, model, ?4, "
	    "billing_provider, billing_base_url, billing_mode, id, ?5, ?5 FROM sessions "
	    "WHERE id = ?1",
	    "ttttr", source, id, cwd, buffer_text(&config), now);
	if (code == SQLITE_OK && json_member_string(row, "title") != NULL)
		code = state_title_set(
		    state, id, json_member_string(row, "title"), "branch", &title);
	free(title);
	buffer_free(&config);
	return code;
}

static int
count_messages(struct state *state, const char *id, int64_t *copied)
{
	int code = state_sql_run(state->db,
	    "UPDATE sessions SET message_count = (SELECT count(*) FROM messages WHERE "
	    "session_id = ?1), tool_call_count = (SELECT coalesce(sum(json_array_length("
	    "tool_calls)), 0) FROM messages WHERE session_id = ?1 AND json_valid(tool_calls)) "
	    "WHERE id = ?1",
	    "t", id);

	if (code != SQLITE_OK)
		return code;
	code = state_sql_integer(
	    state->db, copied, "SELECT message_count FROM sessions WHERE id = ?", "t", id);
	return code == SQLITE_ROW ? SQLITE_OK : code;
}

static int
refuse_existing(struct state *state, const char *id, struct buffer *error)
{
	int64_t value;
	int code = state_sql_integer(
	    state->db, &value, "SELECT 1 FROM sessions WHERE id = ?", "t", id);

	if (code == SQLITE_DONE)
		return SQLITE_OK;
	if (code != SQLITE_ROW)
		return code;
	buffer_printf(error, "there is a session %s already", id);
	return STATE_REFUSED;
}

int
state_fork(struct state *state, const char *source, const char *id, const char *cwd,
    int64_t *copied, struct buffer *error)
{
	struct json_object *row;
	int64_t end = 0;
	int code = state_session_read_any(state, source, &row);

	*copied = 0;
	if (code == SQLITE_NOTFOUND)
		buffer_printf(error, "there is no session %s", source);
	if (code == SQLITE_OK)
		code = refuse_existing(state, id, error);
	if (code == SQLITE_OK)
		code = find_end(state, source, &end);
	if (code == SQLITE_OK)
		code = copy_row(state, row, source, id, cwd);
	if (code == SQLITE_OK && end > 0)
		code = copy_messages(state, source, id, end);
	if (code == SQLITE_OK)
		code = count_messages(state, id, copied);
	json_object_put(row);
	return code;
}
