/*
 * Messages as content blocks. The same conversation must always give the same bytes, else the
 * server's prefix cache is lost; and no block may be one that the API refuses (blank text, ids
 * with odd characters), because it would come again with every request.
 */
#include <config.h>

#include "worker/providers/anthropic_content.h"
#include "worker/providers/anthropic_kept.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

static const char empty_text[] = "(empty)";

static bool
is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

static struct json_object *
new_block(const char *type)
{
	struct json_object *block = json_object_new_object();

	json_set_text(block, "type", type);
	return block;
}

static void
add_text(struct json_object *blocks, const char *text, size_t length)
{
	struct json_object *block, *string = json_new_bytes(text, length);

	if (is_blank(json_object_get_string(string))) {
		json_object_put(string);
		return;
	}
	block = new_block("text");
	json_set(block, "text", string);
	json_object_array_add(blocks, block);
}

/* Ids that the API takes; a changed one gets a check sum, so that two stay two. */
static struct json_object *
safe_id(const char *id)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";
	struct json_object *result;
	uint32_t sum = 2166136261u;
	char *copy, *text;
	size_t i;

	if (id[0] != '\0' && id[strspn(id, allowed)] == '\0')
		return json_new_text(id);
	copy = xstrdup(id);
	for (i = 0; copy[i] != '\0'; i++) {
		sum = (sum ^ (unsigned char)copy[i]) * 16777619u;
		if (strchr(allowed, copy[i]) == NULL)
			copy[i] = '_';
	}
	text = xasprintf("%s_%08x", copy, (unsigned)sum);
	result = json_new_text(text);
	free(text);
	free(copy);
	return result;
}

/* --- images ------------------------------------------------------------------------------ */

/* The type that the API knows for a picture's, or NULL. */
static const char *
media_type(const char *name, size_t length)
{
	static const char *const types[][2] = {{"image/png", "image/png"},
	    {"image/jpeg", "image/jpeg"}, {"image/jpg", "image/jpeg"},
	    {"image/gif", "image/gif"}, {"image/webp", "image/webp"}};
	size_t i;

	for (i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strlen(types[i][0]) == length &&
		    strncasecmp(types[i][0], name, length) == 0)
			return types[i][1];
	return NULL;
}

static void
add_image(struct json_object *blocks, struct json_object *part)
{
	struct json_object *value = json_member(part, "image_url"), *block, *source;
	const char *url = json_object_is_type(value, json_type_string)
			      ? json_object_get_string(value)
			      : json_member_text(value, "url", "");
	const char *data = strstr(url, ";base64,"), *type = NULL;
	static const char unknown[] =
	    "[An image stood here; the model does not take its format.]";

	source = json_object_new_object();
	if (strncmp(url, "data:", 5) != 0) {
		json_set_text(source, "type", "url");
		json_set_text(source, "url", url);
	} else {
		if (data != NULL)
			type = media_type(url + 5, strcspn(url + 5, ";"));
		if (type == NULL) {
			json_object_put(source);
			add_text(blocks, unknown, sizeof unknown - 1);
			return;
		}
		json_set_text(source, "type", "base64");
		json_set_text(source, "media_type", type);
		json_set_text(source, "data", data + 8);
	}
	block = new_block("image");
	json_set(block, "source", source);
	json_object_array_add(blocks, block);
}

/* Content: a string, or a list of parts. */
static void
add_content(struct json_object *blocks, struct json_object *content)
{
	struct json_object *part;
	size_t i;

	if (json_object_is_type(content, json_type_string)) {
		add_text(blocks, json_object_get_string(content),
		    (size_t)json_object_get_string_len(content));
		return;
	}
	if (!json_object_is_type(content, json_type_array))
		return;
	for (i = 0; i < json_object_array_length(content); i++) {
		part = json_object_array_get_idx(content, i);
		if (json_has(part, "image_url"))
			add_image(blocks, part);
		else
			add_content(blocks, json_member(part, "text"));
	}
}

/* --- the assistant ----------------------------------------------------------------------- */

static void
add_call(struct json_object *blocks, struct json_object *call)
{
	struct json_object *function = json_member_object(call, "function");
	const char *arguments = json_member_text(function, "arguments", ""), *reason;
	struct json_object *block = new_block("tool_use");
	struct json_object *input = json_parse(arguments, strlen(arguments), &reason);

	if (!json_object_is_type(input, json_type_object)) {
		json_object_put(input);
		input = json_object_new_object();
	}
	json_set(block, "id", safe_id(json_member_text(call, "id", "")));
	json_set_text(block, "name", json_member_text(function, "name", ""));
	json_set(block, "input", input);
	json_object_array_add(blocks, block);
}

static void
add_calls(struct json_object *blocks, struct json_object *calls)
{
	size_t i;

	for (i = 0; calls != NULL && i < json_object_array_length(calls); i++)
		add_call(blocks, json_object_array_get_idx(calls, i));
}

/* Adds the next thinking block at or after `at`; where the search goes on. */
static size_t
add_thinking(struct json_object *blocks, struct json_object *details, size_t at)
{
	struct json_object *block = NULL;

	while (block == NULL && at < json_object_array_length(details))
		block = anthropic_kept_block(json_object_array_get_idx(details, at++));
	if (block != NULL)
		json_object_array_add(blocks, block);
	return at;
}

static void
add_in_order(struct json_object *blocks, struct json_object *message,
    struct json_object *details, struct json_object *order)
{
	const char *text = json_member_text(message, "content", ""), *type;
	struct json_object *calls = json_member_array(message, "tool_calls"), *entry;
	size_t i, thinking = 0, call = 0;
	int64_t offset, length, whole = (int64_t)strlen(text);

	for (i = 0; i < json_object_array_length(order); i++) {
		entry = json_object_array_get_idx(order, i);
		type = json_member_text(entry, "type", "");
		offset = length = 0;
		json_member_integer(entry, "offset", &offset);
		json_member_integer(entry, "length", &length);
		if (strcmp(type, "thinking") == 0)
			thinking = add_thinking(blocks, details, thinking);
		else if (strcmp(type, "tool_use") == 0)
			add_call(blocks, json_object_array_get_idx(calls, call++));
		else if (offset >= 0 && length >= 0 && offset <= whole &&
			 length <= whole - offset)
			add_text(blocks, text + offset, (size_t)length);
	}
}

static void
add_assistant(struct json_object *blocks, struct json_object *message, const char *model)
{
	struct json_object *details = anthropic_kept_details(message, model);
	struct json_object *order =
	    details != NULL ? anthropic_kept_order(details, message) : NULL;
	size_t at = 0;

	if (order != NULL) {
		add_in_order(blocks, message, details, order);
		return;
	}
	while (details != NULL && at < json_object_array_length(details))
		at = add_thinking(blocks, details, at);
	add_content(blocks, json_member(message, "content"));
	add_calls(blocks, json_member_array(message, "tool_calls"));
}

/* --- the list ---------------------------------------------------------------------------- */

static void
add_result(struct json_object *blocks, struct json_object *message)
{
	struct json_object *block = new_block("tool_result");
	struct json_object *inner = json_object_new_array();

	add_content(inner, json_member(message, "content"));
	if (json_object_array_length(inner) == 0)
		add_text(inner, empty_text, sizeof empty_text - 1);
	json_set(block, "tool_use_id", safe_id(json_member_text(message, "tool_call_id", "")));
	json_set(block, "content", inner);
	json_object_array_add(blocks, block);
}

/* The blocks of the last message when it is of that role, else of a new one. */
static struct json_object *
blocks_for(struct json_object *list, const char *role)
{
	size_t count = json_object_array_length(list);
	struct json_object *last =
	    count > 0 ? json_object_array_get_idx(list, count - 1) : NULL;

	if (last == NULL || strcmp(json_member_text(last, "role", ""), role) != 0) {
		last = json_object_new_object();
		json_set_text(last, "role", role);
		json_set(last, "content", json_object_new_array());
		json_object_array_add(list, last);
	}
	return json_member(last, "content");
}

/* The API wants a user's message first and last, and none without content. */
static void
complete(struct json_object *list)
{
	struct json_object *blocks;
	size_t i, count = json_object_array_length(list);

	for (i = 0; i < count; i++) {
		blocks = json_member(json_object_array_get_idx(list, i), "content");
		if (json_object_array_length(blocks) == 0)
			add_text(blocks, empty_text, sizeof empty_text - 1);
	}
	if (count > 0 &&
	    strcmp(json_member_text(json_object_array_get_idx(list, count - 1), "role", ""),
		"assistant") == 0)
		add_text(blocks_for(list, "user"), "Go on.", 6);
}

void
anthropic_content_build(struct json_object *messages, const char *model,
    struct json_object **system, struct json_object **list)
{
	struct json_object *message;
	const char *role;
	size_t i;

	*system = json_object_new_array();
	*list = json_object_new_array();
	for (i = 0; i < json_object_array_length(messages); i++) {
		message = json_object_array_get_idx(messages, i);
		role = json_member_text(message, "role", "user");
		if (strcmp(role, "system") == 0 || strcmp(role, "developer") == 0) {
			add_content(*system, json_member(message, "content"));
		} else if (strcmp(role, "assistant") == 0) {
			if (json_object_array_length(*list) == 0)
				blocks_for(*list, "user");
			add_assistant(blocks_for(*list, "assistant"), message, model);
		} else if (strcmp(role, "tool") == 0) {
			add_result(blocks_for(*list, "user"), message);
		} else {
			add_content(blocks_for(*list, "user"), json_member(message, "content"));
		}
	}
	complete(*list);
}

struct json_object *
anthropic_content_tools(struct json_object *tools)
{
	struct json_object *list = json_object_new_array(), *tool, *function, *schema;
	size_t i;

	for (i = 0; i < json_object_array_length(tools); i++) {
		function = json_member_object(json_object_array_get_idx(tools, i), "function");
		tool = json_object_new_object();
		json_set_text(tool, "name", json_member_text(function, "name", ""));
		json_set_text(
		    tool, "description", json_member_text(function, "description", ""));
		schema = json_object_get(json_member_object(function, "parameters"));
		if (schema == NULL)
			schema = new_block("object");
		json_set(tool, "input_schema", schema);
		json_object_array_add(list, tool);
	}
	return list;
}
