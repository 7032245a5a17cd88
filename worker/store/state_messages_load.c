/*
 * Reading a session's messages. It writes nothing.
 */
#include <config.h>

#include "worker/store/state_messages.h"
#include "worker/store/state_row.h"
#include "common/alloc.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_COLUMN 2
#define SUMMARY_COLUMN (FIRST_COLUMN + STATE_ROW_COLUMNS)

/* Rows that the model reads. */
static const char in_use[] =
    ", 0 FROM messages WHERE session_id = ? AND active = 1 ORDER BY id";
/* And those that a summary has taken out of use. What is there twice after a summary has one
 * display_order; max() picks the row, one in use where there is one. */
static const char whole[] =
    ", _compressed_summary, max((active = 1) * 4611686018427387904 + id) FROM messages WHERE "
    "session_id = ? AND (active = 1 OR compacted = 1) GROUP BY coalesce(display_order, id) "
    "ORDER BY coalesce(display_order, id)";

static void
append_select(struct buffer *sql, const char *rest)
{
	size_t i;

	buffer_append_text(sql, "SELECT id, timestamp");
	for (i = 0; i < STATE_ROW_COLUMNS; i++)
		buffer_printf(sql, ", %s", state_row_column(i));
	buffer_append_text(sql, rest);
}

static void
add_row(struct json_object *messages, sqlite3_stmt *statement, const char *session)
{
	const char *reason;
	struct json_object *message = state_row_message(statement, FIRST_COLUMN, &reason);
	int64_t id = sqlite3_column_int64(statement, 0);

	if (message == NULL) {
		log_warning("store",
		    "session %s: message %lld cannot be read and is left out: %s", session,
		    (long long)id, reason);
		return;
	}
	json_set_integer(message, "_id", id);
	json_set(
	    message, "_timestamp", json_object_new_double(sqlite3_column_double(statement, 1)));
	if (sqlite3_column_int(statement, SUMMARY_COLUMN) != 0)
		json_set_boolean(message, "_summary", true);
	json_object_array_add(messages, message);
}

/* Place of a result among the calls that it may answer; behind all of them when it answers
 * none. */
static size_t
place_of(struct json_object *calls, struct json_object *result)
{
	const char *id = json_member_text(result, "tool_call_id", "");
	size_t i, count = json_object_array_length(calls);

	for (i = 0; i < count; i++)
		if (strcmp(json_member_text(json_object_array_get_idx(calls, i), "id", ""),
			id) == 0)
			return i;
	return count;
}

struct placed {
	struct json_object *result;
	size_t place, order;
};

static int
compare_placed(const void *a, const void *b)
{
	const struct placed *left = a, *right = b;

	if (left->place != right->place)
		return left->place < right->place ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

/* Results stand in the order in which the calls ended or started; a model gets them in the
 * order of its calls. */
static void
sort_results(struct json_object *messages, size_t begin, size_t end, struct json_object *calls)
{
	struct placed *placed = xcalloc(end - begin, sizeof *placed);
	size_t i;

	for (i = begin; i < end; i++) {
		placed[i - begin].result =
		    json_object_get(json_object_array_get_idx(messages, i));
		placed[i - begin].place = place_of(calls, placed[i - begin].result);
		placed[i - begin].order = i;
	}
	qsort(placed, end - begin, sizeof *placed, compare_placed);
	for (i = begin; i < end; i++)
		json_object_array_put_idx(messages, i, placed[i - begin].result);
	free(placed);
}

static void
sort_all_results(struct json_object *messages)
{
	struct json_object *calls;
	size_t i, end, count = json_object_array_length(messages);

	for (i = 0; i < count; i++) {
		calls = json_member_array(json_object_array_get_idx(messages, i), "tool_calls");
		if (calls == NULL)
			continue;
		for (end = i + 1; end < count; end++)
			if (strcmp(json_member_text(
				       json_object_array_get_idx(messages, end), "role", ""),
				"tool") != 0)
				break;
		if (end > i + 2)
			sort_results(messages, i + 1, end, calls);
	}
}

static int
load(struct state *state, const char *session, const char *rest, struct json_object **messages)
{
	struct buffer sql = BUFFER_EMPTY;
	sqlite3_stmt *statement;
	int code;

	append_select(&sql, rest);
	*messages = NULL;
	statement = state_sql_prepare(state->db, buffer_text(&sql), "t", session);
	buffer_free(&sql);
	if (statement == NULL)
		return sqlite3_extended_errcode(state->db);
	*messages = json_object_new_array();
	while ((code = sqlite3_step(statement)) == SQLITE_ROW)
		add_row(*messages, statement, session);
	sqlite3_finalize(statement);
	if (code != SQLITE_DONE) {
		json_object_put(*messages);
		*messages = NULL;
		return sqlite3_extended_errcode(state->db);
	}
	sort_all_results(*messages);
	return SQLITE_OK;
}

int
state_messages_load(struct state *state, const char *session, struct json_object **messages)
{
	return load(state, session, in_use, messages);
}

int
state_messages_load_whole(
    struct state *state, const char *session, struct json_object **messages)
{
	return load(state, session, whole, messages);
}
