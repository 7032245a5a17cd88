/*
 * Sessions as their operator sees them.
 */
#include <config.h>

#include "worker/store/state_overview.h"
#include "worker/store/state_folder.h"
#include "worker/store/state_preview.h"
#include "worker/store/state_shown.h"
#include "worker/store/state_time.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_LEAST 8

/* ?1 the source, ?2 the time before which it was last active or 0, ?3 the session. */
#define WANTED(column) "(?1 IS NULL OR " column " = ?1)"
#define ENTRY                                                                                  \
	"SELECT s.id AS id, s.title AS title, " STATE_SHOWN_FOLDER                             \
	" AS cwd, s.source AS source, s.model AS model, s.started_at AS "                      \
	"started_at, " STATE_SHOWN_ACTIVE " AS active FROM "
static const char query_sessions[] = "SELECT * FROM (" ENTRY STATE_SHOWN_CANDIDATES(
    WANTED("source")) " AS s WHERE " STATE_SHOWN_IS_ROOT
		      " AND NOT " STATE_SHOWN_GOES_ON(
			  WANTED("n.source")) " AND CASE ?2 WHEN 0 THEN s.newest IS NOT "
					      "NULL ELSE s.pinned = 0 END) WHERE "
					      "(?2 = 0 OR active < ?2) AND (?3 IS NULL OR "
					      "id = ?3) ORDER BY active DESC, id DESC";
static const char query_one[] = ENTRY STATE_SHOWN_ROWS("id = ?") " AS s";

enum { ID, TITLE, CWD, SOURCE, MODEL, STARTED, ACTIVE };

static const char *
column(sqlite3_stmt *statement, int index)
{
	const char *text = (const char *)sqlite3_column_text(statement, index);

	return text != NULL ? text : "";
}

/* Length of the beginning that both have in common. */
static size_t
common_length(const char *one, const char *other)
{
	size_t i = 0;

	while (one[i] != '\0' && one[i] == other[i])
		i++;
	return i;
}

/* The neighbours in the order of ids are those that have most in common with one. */
static int
set_short(struct state *state, struct json_object *entry, const char *id)
{
	static const char *const neighbours[] = {
	    "SELECT max(id) FROM sessions WHERE id < ?",
	    "SELECT min(id) FROM sessions WHERE id > ?",
	};
	size_t i, needed = 0, length, total = strlen(id);
	int code = SQLITE_ROW;
	char *other;

	for (i = 0; i < 2 && code == SQLITE_ROW; i++) {
		other = NULL;
		code = state_sql_text(state->db, &other, neighbours[i], "t", id);
		length = other != NULL ? common_length(id, other) + 1 : 0;
		needed = length > needed ? length : needed;
		free(other);
	}
	length = utf8_offset(id, total, SHORT_LEAST);
	if (length < needed)
		length = needed < total ? needed : total;
	while (length < total && ((unsigned char)id[length] & 0xc0) == 0x80)
		length++;
	json_set(entry, "_short", json_new_bytes(id, length));
	return code == SQLITE_ROW ? SQLITE_OK : code;
}

static int
set_count(struct state *state, struct json_object *entry, const char *id)
{
	int64_t count = 0;
	int code = state_sql_integer(state->db, &count,
	    "SELECT count(*) FROM messages WHERE session_id = ? AND active = 1", "t", id);

	json_set_integer(entry, "messages", count);
	return code == SQLITE_ROW ? SQLITE_OK : code;
}

static int
add_entry(struct state *state, struct json_object *sessions, sqlite3_stmt *statement)
{
	struct json_object *entry = json_object_new_object();
	const char *id = column(statement, ID);
	int code;

	json_object_array_add(sessions, entry);
	json_set_text(entry, "sessionId", id);
	code = state_preview_title(state, entry, id,
	    (const char *)sqlite3_column_text(statement, TITLE), column(statement, CWD));
	json_set_text(entry, "cwd", column(statement, CWD));
	json_set_text(entry, "source", column(statement, SOURCE));
	json_set_text(entry, "model", column(statement, MODEL));
	state_time_set(entry, "createdAt", sqlite3_column_double(statement, STARTED));
	state_time_set(entry, "updatedAt", sqlite3_column_double(statement, ACTIVE));
	json_set(entry, "_updated",
	    json_object_new_double(sqlite3_column_double(statement, ACTIVE)));
	if (code == SQLITE_OK)
		code = set_count(state, entry, id);
	return code == SQLITE_OK ? set_short(state, entry, id) : code;
}

static int
fill(struct state *state, sqlite3_stmt *statement, const struct state_overview_query *query,
    struct json_object *sessions)
{
	struct state_folder *folder = state_folder_new(query->cwd);
	int64_t count = 0;
	int code = SQLITE_OK, step = SQLITE_ROW;

	while (code == SQLITE_OK && (query->limit == 0 || count < query->limit) &&
	       (step = sqlite3_step(statement)) == SQLITE_ROW) {
		if (!state_folder_is(folder, column(statement, CWD)))
			continue;
		code = add_entry(state, sessions, statement);
		count++;
	}
	if (code == SQLITE_OK && step != SQLITE_ROW && step != SQLITE_DONE)
		code = sqlite3_extended_errcode(state->db);
	state_folder_free(folder);
	return code;
}

int
state_overview(struct state *state, const struct state_overview_query *query,
    struct json_object **sessions)
{
	sqlite3_stmt *statement = state_sql_prepare(
	    state->db, query_sessions, "trt", query->source, query->idle_since, query->session);
	int code;

	*sessions = NULL;
	if (statement == NULL)
		return sqlite3_extended_errcode(state->db);
	*sessions = json_object_new_array();
	code = fill(state, statement, query, *sessions);
	sqlite3_finalize(statement);
	if (code != SQLITE_OK) {
		json_object_put(*sessions);
		*sessions = NULL;
	}
	return code;
}

int
state_overview_one(struct state *state, const char *session, struct json_object **entry)
{
	sqlite3_stmt *statement = state_sql_prepare(state->db, query_one, "t", session);
	struct json_object *list = json_object_new_array();
	int code = SQLITE_ERROR;

	*entry = NULL;
	if (statement != NULL && (code = sqlite3_step(statement)) == SQLITE_ROW)
		code = add_entry(state, list, statement);
	else if (code == SQLITE_DONE)
		code = SQLITE_NOTFOUND;
	else
		code = sqlite3_extended_errcode(state->db);
	sqlite3_finalize(statement);
	if (code == SQLITE_OK)
		*entry = json_object_get(json_object_array_get_idx(list, 0));
	json_object_put(list);
	return code;
}

int
state_overview_find(
    struct state *state, const char *text, const char *source, struct json_object **found)
{
	/* An id that is the whole text stands alone, whatever begins with it. */
	sqlite3_stmt *statement = state_sql_prepare(state->db,
	    "SELECT id AS sessionId, source FROM sessions WHERE " WANTED(
		"source") " AND id >= ?2 AND substr(id, 1, length(?2)) = ?2 AND (id = ?2 OR "
			  "NOT EXISTS "
			  "(SELECT 1 FROM sessions WHERE id = ?2 AND " WANTED(
			      "source") ")) ORDER BY id "
					"LIMIT ?3",
	    "tti", source, text, (int64_t)STATE_FOUND_MAX);
	int code;

	*found = NULL;
	if (statement == NULL)
		return sqlite3_extended_errcode(state->db);
	*found = json_object_new_array();
	while ((code = sqlite3_step(statement)) == SQLITE_ROW)
		json_object_array_add(*found, state_sql_row(statement));
	sqlite3_finalize(statement);
	if (code == SQLITE_DONE)
		return SQLITE_OK;
	json_object_put(*found);
	*found = NULL;
	return sqlite3_extended_errcode(state->db);
}
