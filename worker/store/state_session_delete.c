/*
 * Removing a session with everything that hangs on it, in one transaction. What was forked
 * from it lives on; what only existed as a part of it goes with it.
 */
#include <config.h>

#include "worker/store/state_lease.h"
#include "worker/store/state_session.h"

#include <stdlib.h>

/* A chain of summed-up sessions or of helpers is not longer (as in Hermes). */
#define CHAIN_MAX 100

/* The sessions that go: the named one, those that it continues after a summary, and the helpers
 * that they started. They are collected in a table of this connection. */
static int
collect(struct state *state, const char *id, const char *source)
{
	int code = state_sql_run(state->db,
	    "CREATE TEMP TABLE IF NOT EXISTS doomed(id TEXT PRIMARY KEY) WITHOUT ROWID", "");

	if (code == SQLITE_OK)
		code = state_sql_run(state->db, "DELETE FROM temp.doomed", "");
	if (code == SQLITE_OK)
		code = state_sql_run(state->db,
		    "INSERT INTO temp.doomed WITH RECURSIVE before(id, depth) AS (SELECT id, 0 "
		    "FROM sessions WHERE id = ?1 UNION SELECT p.id, depth + 1 FROM before JOIN "
		    "sessions AS c ON c.id = before.id JOIN sessions AS p ON "
		    "p.id = c.parent_session_id WHERE p.end_reason = 'compression' AND "
		    "c.started_at >= p.ended_at AND (?3 IS NULL OR p.source = ?3) AND "
		    "depth < ?2) SELECT DISTINCT id FROM before",
		    "tit", id, (int64_t)CHAIN_MAX, source);
	if (code == SQLITE_OK)
		code = state_sql_run(state->db,
		    "INSERT OR IGNORE INTO temp.doomed WITH RECURSIVE helper(id, depth) AS "
		    "(SELECT id, 0 FROM temp.doomed UNION SELECT c.id, depth + 1 FROM helper "
		    "JOIN sessions AS c ON c.parent_session_id = helper.id WHERE "
		    "CASE WHEN json_valid(c.model_config) THEN json_extract(c.model_config, "
		    "'$._delegate_from') END IS NOT NULL AND depth < ?) SELECT id FROM helper",
		    "i", (int64_t)CHAIN_MAX);
	return code;
}

static int
remove_collected(struct state *state)
{
	/* Messages before their sessions: the triggers of the full-text tables look there. */
	static const char *const statements[] = {
	    "DELETE FROM messages WHERE session_id IN (SELECT id FROM temp.doomed)",
	    "DELETE FROM session_model_usage WHERE session_id IN "
	    "(SELECT id FROM temp.doomed)",
	    "DELETE FROM compression_locks WHERE session_id IN (SELECT id FROM temp.doomed)",
	    "DELETE FROM session_turn_leases WHERE conversation_id IN "
	    "(SELECT id FROM temp.doomed)",
	    "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IN "
	    "(SELECT id FROM temp.doomed)",
	    "DELETE FROM sessions WHERE id IN (SELECT id FROM temp.doomed)",
	    "DELETE FROM temp.doomed",
	};
	size_t i;
	int code = SQLITE_OK;

	for (i = 0; i < sizeof statements / sizeof statements[0] && code == SQLITE_OK; i++)
		code = state_sql_run(state->db, statements[i], "");
	return code;
}

/* A prompt can hold the project's notes; it goes with the last session that had it. */
static int
remove_prompt(struct state *state, const char *hash)
{
	return state_sql_run(state->db,
	    "DELETE FROM system_prompts WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM sessions "
	    "WHERE system_prompt_hash = ?1)",
	    "t", hash);
}

static int
refuse_running(struct state *state, const char *id, const char *holder, struct buffer *error)
{
	char *other;
	int code = state_lease_other(state, id, holder, &other);

	if (other != NULL) {
		buffer_printf(error,
		    "session %s is in use: another process (%s) runs a turn in it, so it "
		    "cannot "
		    "be deleted now",
		    id, other);
		code = STATE_REFUSED;
	}
	free(other);
	return code;
}

/* `source` NULL: whatever the source is. */
static int
remove_session(struct state *state, const char *id, const char *source, const char *holder,
    bool *removed, struct buffer *error)
{
	char *hash = NULL;
	int code;

	*removed = false;
	code = state_sql_text(state->db, &hash,
	    "SELECT system_prompt_hash FROM sessions WHERE id = ?1 AND (?2 IS NULL OR "
	    "source = ?2)",
	    "tt", id, source);
	if (code == SQLITE_DONE)
		return SQLITE_OK;
	if (code == SQLITE_ROW)
		code = refuse_running(state, id, holder, error);
	if (code == SQLITE_OK)
		code = collect(state, id, source);
	if (code == SQLITE_OK)
		code = remove_collected(state);
	if (code == SQLITE_OK && hash != NULL)
		code = remove_prompt(state, hash);
	*removed = code == SQLITE_OK;
	free(hash);
	return code;
}

int
state_session_delete(struct state *state, const char *id, const char *holder, bool *removed,
    struct buffer *error)
{
	return remove_session(state, id, "acp", holder, removed, error);
}

int
state_session_delete_any(struct state *state, const char *id, const char *holder, bool *removed,
    struct buffer *error)
{
	return remove_session(state, id, NULL, holder, removed, error);
}
