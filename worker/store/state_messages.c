/*
 * Writing rows of messages.
 */
#include <config.h>

#include "worker/store/state_messages.h"
#include "worker/store/state_row.h"

#include <stdlib.h>
#include <string.h>

/* Later than the last one, be it that two came in the same microsecond or that the clock was
 * set back by less than a minute. */
static double
next_stamp(double *stamp)
{
	double now = state_sql_now();

	if (now <= *stamp && *stamp - now < 60)
		now = *stamp + 1e-6;
	*stamp = now;
	return now;
}

/* Parameters: ?1 session, ?2 time, ?3 number, ?4 … the columns of state_row.h. */
#define FIRST_COLUMN 4

static void
append_insert(struct buffer *sql)
{
	size_t i;

	buffer_append_text(sql, "INSERT INTO messages(session_id, timestamp");
	for (i = 0; i < STATE_ROW_COLUMNS; i++)
		buffer_printf(sql, ", %s", state_row_column(i));
	buffer_append_text(sql, ") VALUES (?1, ?2");
	for (i = 0; i < STATE_ROW_COLUMNS; i++)
		buffer_printf(sql, ", ?%zu", FIRST_COLUMN + i);
	buffer_append_text(sql, ")");
}

static void
append_update(struct buffer *sql)
{
	size_t i;

	buffer_append_text(sql, "UPDATE messages SET timestamp = ?2");
	for (i = 0; i < STATE_ROW_COLUMNS; i++)
		buffer_printf(sql, ", %s = ?%zu", state_row_column(i), FIRST_COLUMN + i);
	buffer_append_text(sql, " WHERE id = ?3 AND session_id = ?1");
}

/* `id` 0 inserts. */
static int
write_row(struct state *state, const char *session, int64_t id, struct json_object *message,
    unsigned marks, double stamp)
{
	struct buffer sql = BUFFER_EMPTY;
	sqlite3_stmt *statement;
	int code;

	if (id == 0)
		append_insert(&sql);
	else
		append_update(&sql);
	statement = state_sql_prepare(state->db, buffer_text(&sql), "tr", session, stamp);
	buffer_free(&sql);
	if (statement == NULL)
		return sqlite3_extended_errcode(state->db);
	code = state_row_bind(statement, FIRST_COLUMN, message, (marks & STATE_PARTIAL) != 0,
	    (marks & STATE_UNKNOWN) != 0);
	if (code == SQLITE_OK && id != 0)
		code = sqlite3_bind_int64(statement, 3, id);
	if (code == SQLITE_OK) {
		code = sqlite3_step(statement);
		code = code == SQLITE_DONE ? SQLITE_OK : sqlite3_extended_errcode(state->db);
	}
	sqlite3_finalize(statement);
	return code;
}

static int
count_row(struct state *state, const char *session, int64_t rows, int64_t calls, double stamp)
{
	return state_sql_run(state->db,
	    "UPDATE sessions SET message_count = coalesce(message_count, 0) + ?2, "
	    "tool_call_count = max(coalesce(tool_call_count, 0) + ?3, 0), "
	    "last_activity_at = ?4 WHERE id = ?1",
	    "tiir", session, rows, calls, stamp);
}

int
state_messages_append(struct state *state, const char *session, struct json_object *message,
    unsigned marks, double *stamp, int64_t *id)
{
	double now = next_stamp(stamp);
	int code = write_row(state, session, 0, message, marks, now);

	if (code != SQLITE_OK)
		return code;
	*id = sqlite3_last_insert_rowid(state->db);
	return count_row(state, session, 1, (int64_t)state_row_calls(message), now);
}

int
state_messages_replace(struct state *state, const char *session, int64_t id,
    struct json_object *message, unsigned marks, double *stamp)
{
	double now = next_stamp(stamp);
	int64_t before = 0;
	int code = state_sql_integer(state->db, &before,
	    "SELECT CASE WHEN json_valid(tool_calls) THEN json_array_length(tool_calls) ELSE 0 "
	    "END FROM messages WHERE id = ?",
	    "i", id);

	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? SQLITE_NOTFOUND : code;
	code = write_row(state, session, id, message, marks, now);
	if (code != SQLITE_OK)
		return code;
	return count_row(state, session, 0, (int64_t)state_row_calls(message) - before, now);
}

static int
found(int code)
{
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int
state_messages_last(struct state *state, const char *session, int64_t *id, bool *partial)
{
	int64_t mark = 0;
	int code;

	*id = 0;
	*partial = false;
	code = state_sql_integer(state->db, id,
	    "SELECT id FROM messages WHERE session_id = ? AND active = 1 ORDER BY id DESC "
	    "LIMIT 1",
	    "t", session);
	if (code != SQLITE_ROW)
		return found(code);
	code = state_sql_integer(state->db, &mark,
	    "SELECT role = 'assistant' AND CASE WHEN json_valid(display_metadata) THEN "
	    "coalesce(json_extract(display_metadata, '$.partial'), 0) ELSE 0 END FROM messages "
	    "WHERE id = ?",
	    "i", *id);
	*partial = mark != 0;
	return found(code);
}

int
state_messages_last_user(struct state *state, const char *session, int64_t *id)
{
	*id = 0;
	return found(state_sql_integer(state->db, id,
	    "SELECT id FROM messages WHERE session_id = ? AND active = 1 AND role = 'user' "
	    "ORDER BY id DESC LIMIT 1",
	    "t", session));
}

int
state_messages_started(
    struct state *state, const char *session, const char *call_id, int64_t after, int64_t *id)
{
	*id = 0;
	return found(state_sql_integer(state->db, id,
	    "SELECT id FROM messages WHERE session_id = ? AND id > ? AND active = 1 AND "
	    "role = 'tool' AND tool_call_id = ? AND effect_disposition = 'unknown' "
	    "ORDER BY id DESC LIMIT 1",
	    "tit", session, after, call_id));
}

int
state_messages_call_name(
    struct state *state, const char *session, const char *call_id, int64_t after, char **name)
{
	*name = NULL;
	return found(state_sql_text(state->db, name,
	    "SELECT json_extract(call.value, '$.function.name') FROM messages AS m, "
	    "json_each(CASE WHEN json_valid(m.tool_calls) THEN m.tool_calls ELSE '[]' END) AS "
	    "call WHERE m.session_id = ? AND m.id > ? AND m.active = 1 AND "
	    "m.role = 'assistant' AND m.tool_calls IS NOT NULL AND "
	    "json_extract(call.value, '$.id') = ? ORDER BY m.id DESC LIMIT 1",
	    "tit", session, after, call_id));
}

/* The row keeps what else it has; only the text grows and the mark goes. */
static int
finish_partial(struct state *state, int64_t id, const char *text)
{
	return state_sql_run(state->db,
	    "UPDATE messages SET content = coalesce(content, '') || ?2, display_metadata = "
	    "nullif(json_remove(display_metadata, '$.partial'), '{}') WHERE id = ?1",
	    "it", id, text);
}

int
state_messages_commit_tail(
    struct state *state, const char *session, const char *text, size_t length)
{
	struct json_object *content = json_new_bytes(text, length), *message;
	double stamp = 0;
	int64_t id;
	bool partial;
	int code = state_messages_last(state, session, &id, &partial);

	if (code == SQLITE_OK && partial) {
		code = finish_partial(state, id, json_object_get_string(content));
		if (code == SQLITE_OK)
			code = count_row(state, session, 0, 0, state_sql_now());
	} else if (code == SQLITE_OK && length > 0) {
		message = json_object_new_object();
		json_set_text(message, "role", "assistant");
		json_set(message, "content", json_object_get(content));
		code = state_messages_append(state, session, message, 0, &stamp, &id);
		json_object_put(message);
	}
	json_object_put(content);
	return code;
}
