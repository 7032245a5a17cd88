/*
 * Previews of sessions.
 */
#include <config.h>

#include "worker/store/state_preview.h"
#include "worker/store/state_row.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

#define PREVIEW_MAX 60 /* characters */
#define BLANKS " \t\r\n"
/* Bytes that are looked at: leading blanks and 60 characters. */
#define LOOKED_AT 4096

static char *
shape(const char *text, size_t length)
{
	struct buffer line = BUFFER_EMPTY;
	size_t i, cut;

	while (length > 0 && strchr(BLANKS, *text) != NULL && *text != '\0') {
		text++;
		length--;
	}
	if (length > LOOKED_AT)
		length = utf8_floor(text, length, LOOKED_AT);
	for (i = 0; i < length; i++)
		buffer_append_byte(&line, text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
	while (line.length > 0 && strchr(BLANKS, line.data[line.length - 1]) != NULL)
		line.length--;
	if (line.length == 0) {
		buffer_free(&line);
		return NULL;
	}
	cut = utf8_offset(line.data, line.length, PREVIEW_MAX);
	if (cut < line.length) {
		line.length = cut;
		buffer_append_text(&line, "...");
	}
	buffer_append_byte(&line, '\0');
	return line.data;
}

char *
state_preview_of(const char *content, size_t length)
{
	const char *reason, *text;
	struct json_object *value = state_row_content(content, length, &reason);
	char *preview = NULL;
	size_t i, count;

	if (json_object_is_type(value, json_type_string)) {
		preview = shape(
		    json_object_get_string(value), (size_t)json_object_get_string_len(value));
	} else if (json_object_is_type(value, json_type_array)) {
		count = json_object_array_length(value);
		for (i = 0; i < count && preview == NULL; i++) {
			text = json_member_string(json_object_array_get_idx(value, i), "text");
			if (text != NULL)
				preview = shape(text, strlen(text));
		}
	}
	json_object_put(value);
	return preview;
}

int
state_preview(struct state *state, const char *session, char **preview)
{
	sqlite3_stmt *statement = state_sql_prepare(state->db,
	    "SELECT content FROM messages WHERE session_id = ? AND role = 'user' AND "
	    "content IS NOT NULL AND content <> '' AND _compressed_summary = 0 AND "
	    "coalesce(display_kind, '') <> 'hidden' AND (active = 1 OR compacted = 1) "
	    "ORDER BY id LIMIT 5",
	    "t", session);
	const char *content;
	size_t length;
	int code = SQLITE_ROW;

	*preview = NULL;
	if (statement == NULL)
		return sqlite3_extended_errcode(state->db);
	while (*preview == NULL && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		content = state_sql_bytes(statement, 0, &length);
		*preview = state_preview_of(content, length);
	}
	sqlite3_finalize(statement);
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK
							 : sqlite3_extended_errcode(state->db);
}

static const char *
last_component(const char *cwd)
{
	const char *slash = strrchr(cwd, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : "New session";
}

int
state_preview_title(struct state *state, struct json_object *entry, const char *id,
    const char *title, const char *cwd)
{
	char *preview = NULL;
	int code = SQLITE_OK;

	if (title == NULL || title[0] == '\0')
		code = state_preview(state, id, &preview);
	if (preview != NULL)
		title = preview;
	json_set_text(
	    entry, "title", title != NULL && title[0] != '\0' ? title : last_component(cwd));
	free(preview);
	return code;
}
