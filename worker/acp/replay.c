/*
 * session/load: every message as updates. It must show what was said and no more: no system
 * prompt, nothing that was put into a message for the model alone.
 */
#include <config.h>

#include "worker/acp/replay.h"
#include "worker/agent/display.h"
#include "worker/tools/tool.h"
#include "worker/tools/todo.h"
#include "worker/acp/encode_v1.h"
#include "common/buffer.h"
#include "common/utf8.h"

#include <string.h>

/* Longest text of one chunk, as when it is streamed. */
#define PIECE_MAX (16 * 1024)

struct replay {
	struct json_object *messages;
	struct buffer line;
	void (*send)(const char *update, size_t length, void *arg);
	void *arg;
};

static void
send_line(struct replay *replay)
{
	replay->send(buffer_text(&replay->line), replay->line.length, replay->arg);
	buffer_clear(&replay->line);
}

static void
chunk(struct replay *replay, const char *kind, const char *id, const char *text, size_t length)
{
	buffer_printf(&replay->line, "{\"sessionUpdate\":\"%s\"", kind);
	if (id[0] != '\0') {
		buffer_append_text(&replay->line, ",\"messageId\":");
		buffer_append_json_text(&replay->line, id);
	}
	buffer_append_text(&replay->line, ",\"content\":{\"type\":\"text\",\"text\":");
	buffer_append_json(&replay->line, text, length);
	buffer_append_text(&replay->line, "}}");
	send_line(replay);
}

static void
text_chunks(struct replay *replay, const char *kind, const char *id, struct json_object *value)
{
	const char *text;
	size_t length, size;

	if (!json_object_is_type(value, json_type_string))
		return;
	text = json_object_get_string(value);
	length = (size_t)json_object_get_string_len(value);
	while (length > 0) {
		size = utf8_floor(text, length, PIECE_MAX);
		chunk(replay, kind, id, text, size);
		text += size;
		length -= size;
	}
}

/* A data: URL as an image block. */
static void
image_chunk(struct replay *replay, const char *url)
{
	const char *comma = strchr(url, ','), *end = strchr(url, ';');

	if (strncmp(url, "data:", 5) != 0 || comma == NULL || end == NULL || end > comma)
		return;
	buffer_append_text(&replay->line,
	    "{\"sessionUpdate\":\"user_message_chunk\",\"content\":{\"type\":\"image\","
	    "\"mimeType\":");
	buffer_append_json(&replay->line, url + 5, (size_t)(end - url - 5));
	buffer_append_text(&replay->line, ",\"data\":");
	buffer_append_json_text(&replay->line, comma + 1);
	buffer_append_text(&replay->line, "}}");
	send_line(replay);
}

static void
user_parts(struct replay *replay, struct json_object *parts)
{
	struct json_object *part;
	size_t i;

	for (i = 0; i < json_object_array_length(parts); i++) {
		part = json_object_array_get_idx(parts, i);
		if (json_has(part, "image_url"))
			image_chunk(replay,
			    json_member_text(json_member_object(part, "image_url"), "url", ""));
		else
			text_chunks(
			    replay, "user_message_chunk", "", json_member(part, "text"));
	}
}

static void
user_message(struct replay *replay, struct json_object *message)
{
	struct json_object *display = json_member_object(message, DISPLAY_MEMBER);
	struct json_object *blocks = json_member_array(display, "prompt"), *content;
	const char *text;
	size_t length, i;

	if (json_member_boolean(display, "hidden", false))
		return;
	if (blocks == NULL) {
		content = json_member(message, "content");
		if (json_object_is_type(content, json_type_array))
			user_parts(replay, content);
		else
			text_chunks(replay, "user_message_chunk", "", content);
		return;
	}
	for (i = 0; i < json_object_array_length(blocks); i++) {
		text = json_text(json_object_array_get_idx(blocks, i), &length);
		buffer_append_text(
		    &replay->line, "{\"sessionUpdate\":\"user_message_chunk\",\"content\":");
		buffer_append(&replay->line, text, length);
		buffer_append_byte(&replay->line, '}');
		send_line(replay);
	}
}

/* The result of a call among the tool messages behind it; NULL when a crash cut it off. */
static struct json_object *
find_result(struct replay *replay, size_t at, const char *id)
{
	size_t count = json_object_array_length(replay->messages);
	struct json_object *message;

	for (; at < count; at++) {
		message = json_object_array_get_idx(replay->messages, at);
		if (strcmp(json_member_text(message, "role", ""), "tool") != 0)
			return NULL;
		if (strcmp(json_member_text(message, "tool_call_id", ""), id) == 0)
			return message;
	}
	return NULL;
}

static void
content_item(struct buffer *line, struct json_object *item)
{
	const char *path = json_member_string(item, "path");
	struct json_object *old = json_member(item, "old"), *text = json_member(item, "text");

	if (path == NULL)
		encode_v1_text(line, text != NULL ? json_object_get_string(text) : "");
	else
		encode_v1_diff(line, path, old != NULL ? json_object_get_string(old) : NULL,
		    json_member_text(item, "new", ""));
}

static void
contents(struct buffer *line, struct json_object *items)
{
	size_t i, count = items != NULL ? json_object_array_length(items) : 0;

	buffer_append_text(line, ",\"content\":[");
	for (i = 0; i < count; i++) {
		if (i > 0)
			buffer_append_byte(line, ',');
		content_item(line, json_object_array_get_idx(items, i));
	}
	buffer_append_byte(line, ']');
}

/* The kind of a tool that is known by its name only. */
static const char *
kind_of(const char *name)
{
	const struct tool *tool = tool_find(name);

	return tool_kind_name(tool != NULL ? tool->kind : TOOL_KIND_OTHER);
}

static void
announce_call(struct replay *replay, const char *id, struct json_object *function,
    struct json_object *display)
{
	struct buffer *line = &replay->line;
	const char *name = json_member_text(function, "name", ""), *reason, *text;
	const char *arguments = json_member_text(function, "arguments", "");
	struct json_object *input, *locations = json_member_array(display, "locations");
	size_t length;

	buffer_append_text(line, "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":");
	buffer_append_json_text(line, id);
	buffer_append_text(line, ",\"title\":");
	buffer_append_json_text(line, json_member_text(display, "title", name));
	buffer_append_text(line, ",\"kind\":");
	buffer_append_json_text(line, json_member_text(display, "kind", kind_of(name)));
	buffer_append_text(line, ",\"status\":\"pending\"");
	input = json_parse(arguments, strlen(arguments), &reason);
	if (json_object_is_type(input, json_type_object) && strlen(arguments) <= PIECE_MAX) {
		text = json_text(input, &length);
		buffer_append_text(line, ",\"rawInput\":");
		buffer_append(line, text, length);
	}
	json_object_put(input);
	if (locations != NULL) {
		text = json_text(locations, &length);
		buffer_append_text(line, ",\"locations\":");
		buffer_append(line, text, length);
	}
	buffer_append_byte(line, '}');
	send_line(replay);
}

static void
finish_call(struct replay *replay, const char *id, struct json_object *result,
    struct json_object *display)
{
	struct buffer *line = &replay->line;
	bool failed = result == NULL || json_member_boolean(display, "failed", false);

	buffer_append_text(line, "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":");
	buffer_append_json_text(line, id);
	buffer_printf(line, ",\"status\":\"%s\"", failed ? "failed" : "completed");
	if (display != NULL)
		contents(line, json_member_array(display, "content"));
	buffer_append_byte(line, '}');
	send_line(replay);
}

/* The list that a todo call left, as a plan. */
static void
show_plan(struct replay *replay, const char *name, struct json_object *result)
{
	const char *text = json_member_text(result, "content", ""), *reason;
	struct json_object *value;
	struct todo_list *list;

	if (strcmp(name, "todo") != 0 || result == NULL)
		return;
	value = json_parse(text, strlen(text), &reason);
	list = todo_list_new();
	todo_list_restore(list, value);
	if (todo_list_count(list) > 0) {
		encode_v1_plan(&replay->line, list);
		send_line(replay);
	}
	todo_list_free(list);
	json_object_put(value);
}

static void
assistant_message(struct replay *replay, struct json_object *message, size_t next)
{
	struct json_object *display = json_member_object(message, DISPLAY_MEMBER), *call,
			   *result;
	struct json_object *calls = json_member_array(message, "tool_calls"), *thought;
	size_t count = calls != NULL ? json_object_array_length(calls) : 0, i;
	const char *id;

	thought = json_member(message, "reasoning_content");
	if (thought == NULL)
		thought = json_member(message, "reasoning");
	text_chunks(
	    replay, "agent_thought_chunk", json_member_text(display, "thoughtId", ""), thought);
	text_chunks(replay, "agent_message_chunk", json_member_text(display, "messageId", ""),
	    json_member(message, "content"));
	for (i = 0; i < count; i++) {
		call = json_object_array_get_idx(calls, i);
		id = json_member_text(call, "id", "");
		result = find_result(replay, next, id);
		display = json_member_object(result, DISPLAY_MEMBER);
		announce_call(replay, id, json_member_object(call, "function"), display);
		finish_call(replay, id, result, display);
		show_plan(replay,
		    json_member_text(json_member_object(call, "function"), "name", ""), result);
	}
}

void
replay_messages(struct json_object *messages,
    void (*send)(const char *update, size_t length, void *arg), void *arg)
{
	struct replay replay = {.messages = messages, .send = send, .arg = arg};
	size_t count = json_object_array_length(messages), i;
	struct json_object *message;
	const char *role;

	for (i = 0; i < count; i++) {
		message = json_object_array_get_idx(messages, i);
		role = json_member_text(message, "role", "");
		if (strcmp(role, "user") == 0)
			user_message(&replay, message);
		else if (strcmp(role, "assistant") == 0)
			assistant_message(&replay, message, i + 1);
	}
	buffer_free(&replay.line);
}
