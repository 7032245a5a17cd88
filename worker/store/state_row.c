/*
 * One message as the columns of its row, and back.
 */
#include <config.h>

#include "worker/store/state_row.h"
#include "worker/store/state_json.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

/* In front of content that is a list: a NUL and "json:". */
static const char prefix[] = "\0json:";

#define PREFIX_LENGTH (sizeof prefix - 1)

enum kind {
	KIND_TEXT,
	KIND_CONTENT, /* text, or a list behind the prefix */
	KIND_JSON,    /* must be JSON, or the row cannot be used */
	KIND_DETAILS, /* JSON; what is not is handed on as text */
	KIND_DISPLAY  /* an object; holds our marks too */
};

static const struct {
	const char *column, *member;
	enum kind kind;
} fields[STATE_ROW_COLUMNS] = {
    {"role", "role", KIND_TEXT},
    {"content", "content", KIND_CONTENT},
    {"tool_call_id", "tool_call_id", KIND_TEXT},
    {"tool_calls", "tool_calls", KIND_JSON},
    {"tool_name", "name", KIND_TEXT},
    {"effect_disposition", "_effect", KIND_TEXT},
    {"finish_reason", "finish_reason", KIND_TEXT},
    {"reasoning", "reasoning", KIND_TEXT},
    {"reasoning_content", "reasoning_content", KIND_TEXT},
    {"reasoning_details", "reasoning_details", KIND_DETAILS},
    {"codex_reasoning_items", "codex_reasoning_items", KIND_DETAILS},
    {"codex_message_items", "codex_message_items", KIND_DETAILS},
    {"api_content", "_api_content", KIND_TEXT},
    {"display_kind", "_display_kind", KIND_TEXT},
    {"display_metadata", "_display", KIND_DISPLAY},
};

const char *
state_row_column(size_t index)
{
	return fields[index].column;
}

size_t
state_row_calls(struct json_object *message)
{
	struct json_object *calls = json_member_array(message, "tool_calls");

	return calls != NULL ? json_object_array_length(calls) : 0;
}

/* Text without NUL bytes and what is not UTF-8; so plain text never begins with the prefix. */
static int
bind_text(sqlite3_stmt *statement, int at, const char *text, size_t length)
{
	size_t clean_length;
	char *clean;

	if (utf8_valid(text, length) && memchr(text, '\0', length) == NULL)
		return sqlite3_bind_text64(
		    statement, at, text, length, SQLITE_TRANSIENT, SQLITE_UTF8);
	clean = utf8_clean(text, length, &clean_length);
	if (clean == NULL)
		return SQLITE_NOMEM;
	return sqlite3_bind_text64(statement, at, clean, clean_length, free, SQLITE_UTF8);
}

static int
bind_json(sqlite3_stmt *statement, int at, struct json_object *value, size_t prefix_length)
{
	struct buffer text = BUFFER_EMPTY;
	int code;

	buffer_append(&text, prefix, prefix_length);
	state_json_append(&text, value);
	code = text.failed ? SQLITE_NOMEM
			   : sqlite3_bind_text64(statement, at, text.data, text.length,
				 SQLITE_TRANSIENT, SQLITE_UTF8);
	buffer_free(&text);
	return code;
}

/* The caller's object with our mark. */
static int
bind_display(sqlite3_stmt *statement, int at, struct json_object *value, bool partial)
{
	struct json_object *display;
	int code;

	if (!partial)
		return value != NULL ? bind_json(statement, at, value, 0)
				     : sqlite3_bind_null(statement, at);
	display = json_object_is_type(value, json_type_object) ? json_copy(value)
							       : json_object_new_object();
	json_set_boolean(display, "partial", true);
	code = bind_json(statement, at, display, 0);
	json_object_put(display);
	return code;
}

static int
bind_field(
    sqlite3_stmt *statement, int at, size_t field, struct json_object *value, bool partial)
{
	if (fields[field].kind == KIND_DISPLAY)
		return bind_display(statement, at, value, partial);
	if (value == NULL)
		return sqlite3_bind_null(statement, at);
	if (json_object_is_type(value, json_type_string))
		return bind_text(statement, at, json_object_get_string(value),
		    (size_t)json_object_get_string_len(value));
	return bind_json(
	    statement, at, value, fields[field].kind == KIND_CONTENT ? PREFIX_LENGTH : 0);
}

int
state_row_bind(
    sqlite3_stmt *statement, int first, struct json_object *message, bool partial, bool unknown)
{
	int code = SQLITE_OK;
	size_t i;

	for (i = 0; i < STATE_ROW_COLUMNS && code == SQLITE_OK; i++) {
		if (unknown && strcmp(fields[i].member, "_effect") == 0)
			code = sqlite3_bind_text(
			    statement, first + (int)i, "unknown", -1, SQLITE_STATIC);
		else
			code = bind_field(statement, first + (int)i, i,
			    json_member(message, fields[i].member), partial);
	}
	return code;
}

struct json_object *
state_row_content(const char *text, size_t length, const char **reason)
{
	struct json_object *value;

	*reason = NULL;
	if (text == NULL)
		return NULL;
	if (length < PREFIX_LENGTH || memcmp(text, prefix, PREFIX_LENGTH) != 0)
		return json_new_bytes(text, length);
	value = json_parse(text + PREFIX_LENGTH, length - PREFIX_LENGTH, reason);
	if (value == NULL && *reason == NULL)
		*reason = "its content is null";
	return value;
}

static struct json_object *
read_field(const char *text, size_t length, enum kind kind, const char **reason)
{
	struct json_object *value;

	switch (kind) {
	case KIND_CONTENT:
		return state_row_content(text, length, reason);
	case KIND_JSON:
		value = json_parse(text, length, reason);
		if (value != NULL && !json_object_is_type(value, json_type_array)) {
			json_object_put(value);
			*reason = "it is not a list";
			return NULL;
		}
		return value;
	case KIND_DETAILS:
		value = json_parse(text, length, reason);
		if (value == NULL && *reason != NULL)
			value = json_new_bytes(text, length);
		*reason = NULL;
		return value;
	case KIND_DISPLAY:
		return state_json_object(text, length);
	case KIND_TEXT:
		break;
	}
	return json_new_bytes(text, length);
}

static bool
is_role(const char *role)
{
	return role != NULL && (strcmp(role, "user") == 0 || strcmp(role, "assistant") == 0 ||
				   strcmp(role, "tool") == 0 || strcmp(role, "system") == 0);
}

/* Our mark is told as a member of its own. */
static void
take_mark(struct json_object *message)
{
	struct json_object *display = json_member_object(message, "_display");

	if (!json_member_boolean(display, "partial", false))
		return;
	json_object_object_del(display, "partial");
	json_set_boolean(message, "_partial", true);
	if (json_object_object_length(display) == 0)
		json_object_object_del(message, "_display");
}

struct json_object *
state_row_message(sqlite3_stmt *statement, int first, const char **reason)
{
	struct json_object *message = json_object_new_object(), *value;
	const char *text;
	size_t i, length;

	*reason = NULL;
	for (i = 0; i < STATE_ROW_COLUMNS && *reason == NULL; i++) {
		text = state_sql_bytes(statement, first + (int)i, &length);
		if (text == NULL)
			continue;
		value = read_field(text, length, fields[i].kind, reason);
		if (value != NULL)
			json_set(message, fields[i].member, value);
	}
	if (*reason == NULL && !is_role(json_member_string(message, "role")))
		*reason = "its role is not known";
	if (*reason != NULL) {
		json_object_put(message);
		return NULL;
	}
	if (!json_has(message, "content"))
		json_set(message, "content", NULL);
	take_mark(message);
	return message;
}
