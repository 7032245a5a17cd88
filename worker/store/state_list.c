/*
 * The list of sessions.
 */
#include <config.h>

#include "worker/store/state_list.h"
#include "worker/store/state_cursor.h"
#include "worker/store/state_folder.h"
#include "worker/store/state_json.h"
#include "worker/store/state_preview.h"
#include "worker/store/state_shown.h"
#include "worker/store/state_time.h"

#include <stdlib.h>
#include <string.h>

#define OURS(column) column " = 'acp'"
/* What programs keep for themselves is nobody's conversation (as in Hermes). */
#define ALL(column) column " NOT IN ('kanban', 'tool', 'oneshot')"
#define QUERY(sources)                                                                         \
	"SELECT id, cwd, title, active, config, source FROM (SELECT s.id AS "                  \
	"id, " STATE_SHOWN_FOLDER " AS cwd, s.title AS title, s.model_config AS config, "      \
	"s.source AS source, " STATE_SHOWN_ACTIVE " AS active FROM " STATE_SHOWN_CANDIDATES(   \
	    sources("source")) " AS s WHERE s.newest IS NOT NULL AND " STATE_SHOWN_IS_ROOT     \
			       " AND NOT " STATE_SHOWN_GOES_ON(sources(                        \
				   "n.source")) ") WHERE ?1 IS NULL OR active < ?2 OR "        \
						"(active = ?2 AND id < ?1) ORDER BY active "   \
						"DESC, id DESC"

static const char query_ours[] = QUERY(OURS), query_all[] = QUERY(ALL);

/* Of another program's session a client is told whose it is. */
static void
add_source(struct json_object *entry, const char *source)
{
	struct json_object *meta, *ours;

	if (strcmp(source, "acp") == 0)
		return;
	meta = json_object_new_object();
	ours = json_object_new_object();
	json_set_text(ours, "source", source);
	json_set(meta, "hermesAcp", ours);
	json_set(entry, "_meta", meta);
}

/* The folders that the client gave beside the first: it has to give them again with a load. */
static void
add_directories(struct json_object *entry, sqlite3_stmt *statement)
{
	size_t length;
	const char *text = state_sql_bytes(statement, 4, &length);
	struct json_object *config = state_json_object(text, length);
	struct json_object *list = json_member_array(config, "additional_directories");

	if (list != NULL && json_object_array_length(list) > 0)
		json_set(entry, "additionalDirectories", json_copy(list));
	json_object_put(config);
}

static int
add_entry(struct state *state, struct json_object *sessions, sqlite3_stmt *statement)
{
	struct json_object *entry = json_object_new_object();
	const char *id = (const char *)sqlite3_column_text(statement, 0);
	const char *cwd = (const char *)sqlite3_column_text(statement, 1);
	const char *title = (const char *)sqlite3_column_text(statement, 2);
	int code;

	json_set_text(entry, "sessionId", id);
	json_set_text(entry, "cwd", cwd);
	add_directories(entry, statement);
	code = state_preview_title(state, entry, id, title, cwd);
	state_time_set(entry, "updatedAt", sqlite3_column_double(statement, 3));
	add_source(entry, (const char *)sqlite3_column_text(statement, 5));
	json_object_array_add(sessions, entry);
	return code;
}

/* Walks until the page is full and one more is found. */
static int
fill(struct state *state, sqlite3_stmt *statement, struct state_folder *folder,
    struct json_object *page)
{
	struct json_object *sessions = json_object_new_array();
	struct buffer cursor = BUFFER_EMPTY;
	size_t count = 0;
	int code;

	json_set(page, "sessions", sessions);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		if (!state_folder_is(folder, (const char *)sqlite3_column_text(statement, 1)))
			continue;
		if (count == STATE_LIST_PAGE) {
			json_set_text(page, "nextCursor", buffer_text(&cursor));
			code = SQLITE_DONE;
			break;
		}
		code = add_entry(state, sessions, statement);
		if (code != SQLITE_OK)
			break;
		buffer_clear(&cursor);
		state_cursor_append(&cursor, sqlite3_column_double(statement, 3),
		    (const char *)sqlite3_column_text(statement, 0));
		count++;
	}
	buffer_free(&cursor);
	if (code == SQLITE_DONE || code == SQLITE_OK)
		return SQLITE_OK;
	return sqlite3_extended_errcode(state->db);
}

int
state_list(struct state *state, const char *cwd, const char *cursor, bool all_sources,
    struct json_object **page, struct buffer *error)
{
	struct state_folder *folder;
	sqlite3_stmt *statement;
	const char *after = NULL;
	double active = 0;
	int code;

	*page = NULL;
	if (cursor != NULL && state_cursor_read(cursor, &active, &after) == -1) {
		buffer_append_text(error, "the cursor is not one of a list of sessions");
		return STATE_REFUSED;
	}
	statement = state_sql_prepare(
	    state->db, all_sources ? query_all : query_ours, "tr", after, active);
	if (statement == NULL)
		return sqlite3_extended_errcode(state->db);
	folder = state_folder_new(cwd);
	*page = json_object_new_object();
	code = fill(state, statement, folder, *page);
	state_folder_free(folder);
	sqlite3_finalize(statement);
	if (code != SQLITE_OK) {
		json_object_put(*page);
		*page = NULL;
	}
	return code;
}
