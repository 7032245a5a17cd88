/*
 * Excerpts of stored sessions.
 */
#include <config.h>

#include "worker/store/state_excerpt.h"
#include "worker/store/state_row.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

/* More is not parsed when it has parts: pictures and files. */
#define PARTS_MAX (1024 * 1024)

#define COLUMNS "id, role, content, timestamp, tool_name, tool_calls, tool_call_id"
#define NOT_HIDDEN "coalesce(display_kind, '') <> 'hidden'"
#define VISIBLE "(active = 1 OR compacted = 1) AND " NOT_HIDDEN
#define IN_USE "active = 1 AND " NOT_HIDDEN
/* ?1 is the session in all of them. */
#define MESSAGES "SELECT " COLUMNS " FROM messages WHERE session_id = ?1 AND "
#define IN_ORDER(select) "SELECT * FROM (" select ") ORDER BY id"
#define TALK "role IN ('user', 'assistant')"
#define HAS_TEXT "coalesce(content, '') <> ''"

/* The text of one part of a message. */
static void
append_part(struct buffer *text, struct json_object *part)
{
	const char *words = json_member_string(part, "text");

	if (text->length > 0)
		buffer_append_byte(text, '\n');
	if (words != NULL)
		buffer_append_text(text, words);
	else
		buffer_printf(text, "[%.40s]", json_member_text(part, "type", "a part"));
}

/* What is in a content column, as text. */
static void
append_content(struct buffer *text, const char *content, size_t length)
{
	struct json_object *value;
	const char *reason;
	size_t i;

	if (length > PARTS_MAX && content[0] == '\0') {
		buffer_printf(text, "[a message with attachments, %zu bytes]", length);
		return;
	}
	value = state_row_content(content, length, &reason);
	if (json_object_is_type(value, json_type_string))
		buffer_append(text, json_object_get_string(value),
		    (size_t)json_object_get_string_len(value));
	for (i = 0;
	     json_object_is_type(value, json_type_array) && i < json_object_array_length(value);
	     i++)
		append_part(text, json_object_array_get_idx(value, i));
	json_object_put(value);
}

/* Sets `key` to the text, cut. */
static void
set_cut(struct json_object *object, const char *key, const char *text, size_t length,
    int64_t characters)
{
	struct buffer cut = BUFFER_EMPTY;
	size_t end = utf8_offset(text, length, (size_t)characters);

	buffer_append(&cut, text, end);
	if (end < length)
		buffer_append_text(&cut, "…");
	json_set(object, key, json_new_bytes(buffer_text(&cut), cut.length));
	buffer_free(&cut);
}

static void
set_content(struct json_object *message, const char *content, size_t length, int64_t characters)
{
	struct buffer text = BUFFER_EMPTY;

	append_content(&text, content, length);
	set_cut(message, "content", buffer_text(&text), text.length, characters);
	if (utf8_count(buffer_text(&text), text.length) > (size_t)characters) {
		json_set_boolean(message, "content_truncated", true);
		json_set_integer(message, "original_content_chars",
		    (int64_t)utf8_count(buffer_text(&text), text.length));
	}
	buffer_free(&text);
}

/* The calls with their arguments cut. */
static struct json_object *
shape_calls(const char *text, size_t length, int64_t characters)
{
	const char *reason, *arguments;
	struct json_object *calls = json_parse(text, length, &reason), *function;
	size_t i;

	for (i = 0;
	     json_object_is_type(calls, json_type_array) && i < json_object_array_length(calls);
	     i++) {
		function = json_member_object(json_object_array_get_idx(calls, i), "function");
		arguments = json_member_string(function, "arguments");
		if (arguments != NULL)
			set_cut(
			    function, "arguments", arguments, strlen(arguments), characters);
	}
	if (json_object_is_type(calls, json_type_array))
		return calls;
	json_object_put(calls);
	return NULL;
}

static struct json_object *
shape(sqlite3_stmt *statement, const struct state_excerpt_place *place)
{
	static const char *const names[] = {
	    [1] = "role", [4] = "tool_name", [6] = "tool_call_id"};
	struct json_object *message = json_object_new_object(), *calls;
	size_t i, length;
	const char *text;

	json_set_integer(message, "id", sqlite3_column_int64(statement, 0));
	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		text = state_sql_bytes(statement, (int)i, &length);
		if (names[i] != NULL && text != NULL)
			json_set(message, names[i], json_new_bytes(text, length));
	}
	text = state_sql_bytes(statement, 2, &length);
	if (text != NULL)
		set_content(message, text, length, place->characters);
	else
		json_set(message, "content", NULL);
	json_set(
	    message, "timestamp", json_object_new_double(sqlite3_column_double(statement, 3)));
	text = state_sql_bytes(statement, 5, &length);
	calls = text != NULL ? shape_calls(text, length, place->characters) : NULL;
	if (calls != NULL)
		json_set(message, "tool_calls", calls);
	if (sqlite3_column_int64(statement, 0) == place->anchor)
		json_set_boolean(message, "anchor", true);
	return message;
}

/* Appends the rows of a query with the parameters ?1 session, ?2 number, ?3 limit. */
static int
add_rows(sqlite3 *db, const struct state_excerpt_place *place, const char *sql, int64_t number,
    int64_t limit, struct json_object *list)
{
	sqlite3_stmt *statement =
	    state_sql_prepare(db, sql, "tii", place->session, number, limit);
	int code;

	if (statement == NULL)
		return sqlite3_extended_errcode(db);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW)
		json_object_array_add(list, shape(statement, place));
	sqlite3_finalize(statement);
	return code == SQLITE_DONE ? SQLITE_OK : sqlite3_extended_errcode(db);
}

int
state_excerpt_around(sqlite3 *db, const struct state_excerpt_place *place, int64_t window,
    bool talk, struct json_object *list, int64_t *before, int64_t *after)
{
	static const char *const befores[] = {
	    IN_ORDER(MESSAGES VISIBLE " AND id < ?2 ORDER BY id DESC LIMIT ?3"),
	    IN_ORDER(MESSAGES VISIBLE " AND id < ?2 AND " TALK " ORDER BY id DESC LIMIT ?3")};
	static const char *const afters[] = {MESSAGES VISIBLE
	    " AND id > ?2 ORDER BY id LIMIT ?3",
	    MESSAGES VISIBLE " AND id > ?2 AND " TALK " ORDER BY id LIMIT ?3"};
	struct json_object *anchor = json_object_new_array();
	int64_t count;
	int code;

	*before = *after = 0;
	code = add_rows(
	    db, place, MESSAGES VISIBLE " AND id = ?2 LIMIT ?3", place->anchor, 1, anchor);
	if (code == SQLITE_OK && json_object_array_length(anchor) == 1) {
		code = add_rows(db, place, befores[talk], place->anchor, window, list);
		*before = (int64_t)json_object_array_length(list);
		json_object_array_add(
		    list, json_object_get(json_object_array_get_idx(anchor, 0)));
		count = (int64_t)json_object_array_length(list);
		if (code == SQLITE_OK)
			code = add_rows(db, place, afters[talk], place->anchor, window, list);
		*after = (int64_t)json_object_array_length(list) - count;
	}
	json_object_put(anchor);
	return code;
}

#define BOOKENDS                                                                               \
	MESSAGES VISIBLE " AND " TALK " AND " HAS_TEXT " AND _compressed_summary = 0 AND "     \
			 "content NOT LIKE '[CONTEXT COMPACTION%' AND content NOT LIKE "       \
			 "'[CONTEXT SUMMARY]:%' "                                              \
			 "AND id <> ?2 ORDER BY id "

int
state_excerpt_end(sqlite3 *db, const struct state_excerpt_place *place, bool last,
    int64_t count, struct json_object *list)
{
	return add_rows(db, place,
	    last ? IN_ORDER(BOOKENDS "DESC LIMIT ?3") : BOOKENDS "LIMIT ?3", 0, count, list);
}

int
state_excerpt_whole(sqlite3 *db, const struct state_excerpt_place *place, int64_t first,
    int64_t last, struct json_object *list, int64_t *total)
{
	int code = state_sql_integer(db, total,
	    "SELECT count(*) FROM messages WHERE session_id = ?1 AND " IN_USE, "t",
	    place->session);

	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? SQLITE_ERROR : code;
	if (*total <= first + last)
		return add_rows(db, place, MESSAGES IN_USE " AND id > ?2 ORDER BY id LIMIT ?3",
		    0, first + last, list);
	code = add_rows(
	    db, place, MESSAGES IN_USE " AND id > ?2 ORDER BY id LIMIT ?3", 0, first, list);
	if (code == SQLITE_OK)
		code = add_rows(db, place,
		    IN_ORDER(MESSAGES IN_USE " AND id > ?2 ORDER BY id DESC LIMIT ?3"), 0, last,
		    list);
	return code;
}

int
state_excerpt_text(sqlite3 *db, int64_t id, char **text)
{
	sqlite3_stmt *statement =
	    state_sql_prepare(db, "SELECT content FROM messages WHERE id = ?", "i", id);
	struct buffer content = BUFFER_EMPTY;
	const char *bytes;
	size_t length;
	int code;

	*text = NULL;
	if (statement == NULL)
		return sqlite3_extended_errcode(db);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		bytes = state_sql_bytes(statement, 0, &length);
		if (bytes != NULL)
			append_content(&content, bytes, length);
		*text = utf8_clean(buffer_text(&content), content.length, NULL);
	}
	buffer_free(&content);
	sqlite3_finalize(statement);
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK
							 : sqlite3_extended_errcode(db);
}
