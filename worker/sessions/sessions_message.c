/*
 * Stored messages. What was put into a message for the model alone is not shown to people.
 */
#include <config.h>

#include "worker/sessions/sessions_message.h"
#include "worker/agent/display.h"
#include "worker/store/state_time.h"

#include <string.h>

enum sessions_message_kind
sessions_message_kind(struct json_object *message)
{
	struct json_object *display = json_member_object(message, DISPLAY_MEMBER);
	const char *role = json_member_text(message, "role", "");

	if (json_member_boolean(message, "_summary", false))
		return SESSIONS_MESSAGE_SUMMARY;
	if (json_member_boolean(display, "hidden", false) ||
	    strcmp(json_member_text(message, "_display_kind", ""), "hidden") == 0)
		return SESSIONS_MESSAGE_OTHER;
	if (strcmp(role, "user") == 0)
		return SESSIONS_MESSAGE_PROMPT;
	return strcmp(role, "assistant") == 0 ? SESSIONS_MESSAGE_ANSWER
					      : SESSIONS_MESSAGE_OTHER;
}

static void
append_value(struct buffer *out, struct json_object *text)
{
	if (json_object_is_type(text, json_type_string))
		buffer_append(out, json_object_get_string(text),
		    (size_t)json_object_get_string_len(text));
}

/* "[image: image/png]" */
static void
append_mark(struct buffer *out, const char *what, const char *detail)
{
	buffer_printf(out, "[%s%s%s]", what, detail[0] != '\0' ? ": " : "", detail);
}

/* The type of a data: URL; another one as it is. */
static void
append_image(struct buffer *out, const char *url)
{
	size_t length = strcspn(url, ";,");

	if (strncmp(url, "data:", 5) == 0 && length < 200)
		buffer_printf(out, "[image: %.*s]", (int)length - 5, url + 5);
	else
		append_mark(out, "image", url);
}

/* A part of Chat Completions or a content block of the protocol. */
static void
append_part(struct buffer *out, struct json_object *part)
{
	const char *type = json_member_text(part, "type", "");
	struct json_object *resource = json_member_object(part, "resource");

	if (json_object_is_type(json_member(part, "text"), json_type_string))
		append_value(out, json_member(part, "text"));
	else if (json_has(part, "image_url"))
		append_image(
		    out, json_member_text(json_member_object(part, "image_url"), "url", ""));
	else if (strcmp(type, "resource_link") == 0)
		append_mark(out, "file", json_member_text(part, "uri", ""));
	else if (resource != NULL)
		append_mark(out, "resource", json_member_text(resource, "uri", ""));
	else
		append_mark(out, type[0] != '\0' ? type : "part",
		    json_member_text(part, "mimeType", ""));
}

static void
append_parts(struct buffer *out, struct json_object *parts)
{
	size_t i, count = json_object_array_length(parts);

	for (i = 0; i < count; i++) {
		if (i > 0)
			buffer_append_byte(out, '\n');
		append_part(out, json_object_array_get_idx(parts, i));
	}
}

void
sessions_message_content(struct buffer *out, struct json_object *message)
{
	struct json_object *content = json_member(message, "content");

	if (json_object_is_type(content, json_type_array))
		append_parts(out, content);
	else
		append_value(out, content);
}

void
sessions_message_prompt(struct buffer *out, struct json_object *message)
{
	struct json_object *display = json_member_object(message, DISPLAY_MEMBER);
	struct json_object *blocks = json_member_array(display, "prompt");

	if (blocks != NULL)
		append_parts(out, blocks);
	else
		sessions_message_content(out, message);
}

const char *
sessions_message_thought(struct json_object *message)
{
	const char *thought = json_member_text(message, "reasoning_content", "");

	return thought[0] != '\0' ? thought : json_member_text(message, "reasoning", "");
}

struct json_object *
sessions_message_result(struct json_object *messages, size_t at, const char *id)
{
	size_t count = json_object_array_length(messages);
	struct json_object *message;

	for (; at < count; at++) {
		message = json_object_array_get_idx(messages, at);
		if (strcmp(json_member_text(message, "role", ""), "tool") != 0)
			return NULL;
		if (strcmp(json_member_text(message, "tool_call_id", ""), id) == 0)
			return message;
	}
	return NULL;
}

void
sessions_message_call(struct buffer *out, struct json_object *call, struct json_object *result)
{
	struct json_object *function = json_member_object(call, "function");
	const char *name = json_member_text(function, "name", "unnamed");
	const char *title =
	    json_member_text(json_member_object(result, DISPLAY_MEMBER), "title", "");

	if (title[0] == '\0')
		title = json_member_text(function, "arguments", "");
	buffer_append_text(out, name);
	if (title[0] != '\0' && strcmp(title, name) != 0)
		buffer_printf(out, ": %s", title);
}

static void
append_member(struct buffer *out, const char *key, struct json_object *value)
{
	const char *text = json_object_is_type(value, json_type_string)
			       ? json_object_get_string(value)
			       : json_text(value, NULL);

	buffer_append_text(out, key);
	buffer_append_text(out, strchr(text, '\n') != NULL ? ":\n" : ": ");
	buffer_append_text(out, text);
	if (out->data[out->length - 1] != '\n')
		buffer_append_byte(out, '\n');
}

void
sessions_message_answer(struct buffer *out, struct json_object *result)
{
	const char *text = json_member_text(result, "content", ""), *reason;
	struct json_object *value =
	    text[0] == '{' ? json_parse(text, strlen(text), &reason) : NULL;

	if (!json_object_is_type(value, json_type_object)) {
		sessions_message_content(out, result);
	} else {
		json_object_object_foreach(value, key, member)
		{
			if (member != NULL)
				append_member(out, key, member);
		}
	}
	json_object_put(value);
}

const char *
sessions_message_failure(struct json_object *result)
{
	if (result == NULL)
		return "no result";
	if (strcmp(json_member_text(result, "_effect", ""), "unknown") == 0)
		return "outcome unknown";
	if (json_member_boolean(json_member_object(result, DISPLAY_MEMBER), "failed", false))
		return "failed";
	return NULL;
}

struct json_object *
sessions_message_record(struct json_object *message)
{
	struct json_object *record = json_object_new_object();
	double time = 0;

	json_set(record, "id", json_copy(json_member(message, "_id")));
	json_member_double(message, "_timestamp", &time);
	state_time_set(record, "timestamp", time);
	json_object_object_foreach(message, key, value)
	{
		if (strcmp(key, "_id") != 0 && strcmp(key, "_timestamp") != 0)
			json_set(record, key[0] == '_' ? key + 1 : key, json_object_get(value));
	}
	return record;
}
