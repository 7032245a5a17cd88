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

/* The row keeps what else it has; only the text grows and the mark goes. */
static int
finish_partial(struct state *state, const char *session, int64_t id, const char *text)
{
	int code = state_sql_run(state->db,
	    "UPDATE messages SET content = coalesce(content, '') || ?2, display_metadata = "
	    "nullif(json_remove(display_metadata, '$.partial'), '{}') WHERE id = ?1",
	    "it", id, text);

	return code == SQLITE_OK ? count_row(state, session, 0, 0, state_sql_now()) : code;
}

int
state_messages_end_partial(struct state *state, const char *session)
{
	int64_t id;
	bool partial;
	int code = state_messages_last(state, session, &id, &partial);

	if (code == SQLITE_OK && partial)
		code = finish_partial(state, session, id, "");
	return code;
}

/* How many pieces of the turn's text its last answer accounts for. What a successor was told in
 * the user's name begins no turn. */
static int
count_saved_texts(struct state *state, const char *session, int64_t *count)
{
	*count = 0;
	return found(state_sql_integer(state->db, count,
	    "SELECT CASE WHEN role = 'assistant' AND json_valid(display_metadata) THEN "
	    "coalesce(json_extract(display_metadata, '$.texts'), 0) ELSE 0 END FROM messages "
	    "WHERE session_id = ? AND active = 1 AND (role = 'assistant' OR role = 'user' AND "
	    "NOT "
	    "CASE WHEN json_valid(display_metadata) THEN "
	    "coalesce(json_extract(display_metadata, '$.hidden'), 0) ELSE 0 END) "
	    "ORDER BY id DESC LIMIT 1",
	    "t", session));
}

/* The pieces from number `from` on. */
static struct json_object *
join_texts(struct json_object *texts, int64_t from)
{
	size_t count = json_object_array_length(texts), i;
	struct buffer joined = BUFFER_EMPTY;
	struct json_object *text;

	for (i = from > 0 ? (size_t)from : 0; i < count; i++) {
		text = json_object_array_get_idx(texts, i);
		buffer_append(&joined, json_object_get_string(text),
		    (size_t)json_object_get_string_len(text));
	}
	text = json_new_bytes(buffer_text(&joined), joined.length);
	buffer_free(&joined);
	return text;
}

static int
append_text(struct state *state, const char *session, struct json_object *content)
{
	struct json_object *message = json_object_new_object();
	double stamp = 0;
	int64_t id;
	int code;

	json_set_text(message, "role", "assistant");
	json_set(message, "content", json_object_get(content));
	code = state_messages_append(state, session, message, 0, &stamp, &id);
	json_object_put(message);
	return code;
}

int
state_messages_commit_tail(
    struct state *state, const char *session, struct json_object *texts, int64_t first)
{
	struct json_object *content;
	int64_t id, saved = 0;
	bool partial;
	int code = state_messages_last(state, session, &id, &partial);

	if (code == SQLITE_OK)
		code = count_saved_texts(state, session, &saved);
	if (code != SQLITE_OK)
		return code;
	content = join_texts(texts, saved - first);
	if (partial)
		code = finish_partial(state, session, id, json_object_get_string(content));
	else if (json_object_get_string_len(content) > 0)
		code = append_text(state, session, content);
	json_object_put(content);
	return code;
}
