/*
 * Building the request's messages. The conversation itself must stay as it is: repair is
 * done on the copy, so that what was stored is what was said.
 */
#include <config.h>

#include "worker/agent/request.h"
#include "worker/agent/conversation.h"
#include "worker/agent/display.h"
#include "worker/providers/anthropic_kept.h"
#include "worker/tools/tool.h"

#include <stdlib.h>
#include <string.h>

/* DeepSeek and Kimi refuse a history of tool calls without reasoning_content;
 * OpenRouter and Nous pass signed reasoning_details on. */
static const struct {
	const char *provider;
	enum request_reasoning reasoning;
} defaults[] = {
    {"deepseek", REQUEST_REASONING_CONTENT},
    {"kimi-coding", REQUEST_REASONING_CONTENT},
    {"kimi-coding-cn", REQUEST_REASONING_CONTENT},
    {"openrouter", REQUEST_REASONING_DETAILS},
    {"nous", REQUEST_REASONING_DETAILS},
};

enum request_reasoning
request_reasoning_default(const char *provider, const char *api_mode)
{
	size_t i;

	if (strcmp(api_mode, "anthropic_messages") == 0)
		return REQUEST_REASONING_BLOCKS;
	if (strcmp(api_mode, "codex_responses") == 0)
		return REQUEST_REASONING_ITEMS;
	for (i = 0; provider != NULL && i < sizeof defaults / sizeof defaults[0]; i++)
		if (strcmp(defaults[i].provider, provider) == 0)
			return defaults[i].reasoning;
	return REQUEST_REASONING_NONE;
}

static bool
wants_content(enum request_reasoning reasoning)
{
	return reasoning == REQUEST_REASONING_ALL || reasoning == REQUEST_REASONING_CONTENT;
}

static bool
wants_details(enum request_reasoning reasoning)
{
	return reasoning == REQUEST_REASONING_ALL || reasoning == REQUEST_REASONING_DETAILS ||
	       reasoning == REQUEST_REASONING_BLOCKS;
}

/* Sealed thoughts, and messages of which the phase counts. */
static bool
is_item(const char *key)
{
	return strcmp(key, "codex_reasoning_items") == 0 ||
	       strcmp(key, "codex_message_items") == 0;
}

/* Members that a provider may get, per role; everything else is ours. */
static bool
is_sent(const char *role, const char *key, enum request_reasoning reasoning)
{
	if (strcmp(key, "role") == 0 || strcmp(key, "content") == 0)
		return true;
	if (strcmp(role, "assistant") == 0)
		return strcmp(key, "tool_calls") == 0 ||
		       (wants_content(reasoning) && strcmp(key, "reasoning_content") == 0) ||
		       (wants_details(reasoning) && strcmp(key, "reasoning_details") == 0) ||
		       (reasoning == REQUEST_REASONING_ITEMS && is_item(key));
	return strcmp(role, "tool") == 0 &&
	       (strcmp(key, "tool_call_id") == 0 || strcmp(key, "name") == 0);
}

/* A part list without its pictures. */
static struct json_object *
without_images(struct json_object *parts)
{
	struct json_object *list = json_object_new_array(), *part;
	size_t i;

	for (i = 0; i < json_object_array_length(parts); i++) {
		part = json_object_array_get_idx(parts, i);
		if (json_has(part, "image_url")) {
			part = json_object_new_object();
			json_set_text(part, "type", "text");
			json_set_text(part, "text",
			    "[An image stood here; the model does not take images.]");
			json_object_array_add(list, part);
		} else {
			json_object_array_add(list, json_object_get(part));
		}
	}
	return list;
}

/* Without thinking of the Messages API, which other dialects do not know; NULL when nothing is
 * left. */
static struct json_object *
without_blocks(struct json_object *details)
{
	struct json_object *list = json_object_new_array(), *entry;
	size_t i;

	for (i = 0; i < json_object_array_length(details); i++) {
		entry = json_object_array_get_idx(details, i);
		if (!anthropic_kept_is_type(json_member_text(entry, "type", "")))
			json_object_array_add(list, json_object_get(entry));
	}
	if (json_object_array_length(list) > 0)
		return list;
	json_object_put(list);
	return NULL;
}

/* Thoughts that came under another name go back as reasoning_content; with tool calls the
 * member has to be there, be it empty. */
static void
complete_reasoning(struct json_object *copy, struct json_object *message)
{
	const char *thoughts = json_member_string(message, "reasoning");

	if (json_has(copy, "reasoning_content"))
		return;
	if (thoughts != NULL || json_has(copy, "tool_calls"))
		json_set_text(copy, "reasoning_content", thoughts != NULL ? thoughts : "");
}

static struct json_object *
copy_message(struct json_object *message, bool images, enum request_reasoning reasoning)
{
	struct json_object *copy = json_object_new_object(), *details;
	const char *role = json_member_text(message, "role", "user");

	json_object_object_foreach(message, key, value)
	{
		if (!is_sent(role, key, reasoning))
			continue;
		if (!images && strcmp(key, "content") == 0 &&
		    json_object_is_type(value, json_type_array))
			json_set(copy, key, without_images(value));
		else if (reasoning != REQUEST_REASONING_BLOCKS &&
			 strcmp(key, "reasoning_details") == 0 &&
			 json_object_is_type(value, json_type_array)) {
			details = without_blocks(value);
			if (details != NULL)
				json_set(copy, key, details);
		} else
			json_set(copy, key, json_object_get(value));
	}
	if (wants_content(reasoning) && strcmp(role, "assistant") == 0)
		complete_reasoning(copy, message);
	return copy;
}

/* Content as a list of parts. */
static struct json_object *
as_parts(struct json_object *content)
{
	struct json_object *list, *part;

	if (json_object_is_type(content, json_type_array))
		return json_object_get(content);
	list = json_object_new_array();
	part = json_object_new_object();
	json_set_text(part, "type", "text");
	json_set(part, "text", json_object_get(content));
	json_object_array_add(list, part);
	return list;
}

static struct json_object *
join_contents(struct json_object *first, struct json_object *second)
{
	struct json_object *a, *b, *list;
	struct buffer text = BUFFER_EMPTY;
	size_t i;

	if (json_object_is_type(first, json_type_string) &&
	    json_object_is_type(second, json_type_string)) {
		buffer_append_text(&text, json_object_get_string(first));
		buffer_append_text(&text, "\n\n");
		buffer_append_text(&text, json_object_get_string(second));
		list = json_new_bytes(buffer_text(&text), text.length);
		buffer_free(&text);
		return list;
	}
	a = as_parts(first);
	b = as_parts(second);
	list = json_object_new_array();
	for (i = 0; i < json_object_array_length(a); i++)
		json_object_array_add(list, json_object_get(json_object_array_get_idx(a, i)));
	for (i = 0; i < json_object_array_length(b); i++)
		json_object_array_add(list, json_object_get(json_object_array_get_idx(b, i)));
	json_object_put(a);
	json_object_put(b);
	return list;
}

static bool
has_role(struct json_object *message, const char *role)
{
	return strcmp(json_member_text(message, "role", ""), role) == 0;
}

/* Two messages of the user in a row become one. */
static bool
merge_user(struct json_object *list, struct json_object *message)
{
	size_t count = json_object_array_length(list);
	struct json_object *last =
	    count > 0 ? json_object_array_get_idx(list, count - 1) : NULL;

	if (last == NULL || !has_role(last, "user") || !has_role(message, "user"))
		return false;
	json_set(last, "content",
	    join_contents(json_member(last, "content"), json_member(message, "content")));
	return true;
}

/* Answers the calls of `assistant` from the tool messages that follow at `*at`, in the order
 * of the calls; a call without a result gets one that says so. */
static void
append_results(struct json_object *list, struct json_object *messages, size_t *at,
    struct json_object *calls)
{
	size_t count = json_object_array_length(messages), first = *at, i, j;
	static const char no_result[] =
	    "{\"error\":\"The result is not available: the call was not finished.\"}";
	struct json_object *result, *found;
	const char *id;

	while (*at < count && has_role(json_object_array_get_idx(messages, *at), "tool"))
		(*at)++;
	for (i = 0; i < json_object_array_length(calls); i++) {
		id = json_member_text(json_object_array_get_idx(calls, i), "id", "");
		found = NULL;
		for (j = first; j < *at && found == NULL; j++) {
			result = json_object_array_get_idx(messages, j);
			if (strcmp(json_member_text(result, "tool_call_id", ""), id) == 0)
				found = copy_message(result, true, REQUEST_REASONING_NONE);
		}
		if (found == NULL)
			found = conversation_tool(id,
			    json_member_text(
				json_member_object(
				    json_object_array_get_idx(calls, i), "function"),
				"name", ""),
			    no_result, sizeof no_result - 1);
		json_object_array_add(list, found);
	}
}

static bool
is_blank(struct json_object *content)
{
	const char *text;

	if (content == NULL)
		return true;
	if (!json_object_is_type(content, json_type_string))
		return false;
	text = json_object_get_string(content);
	return text[strspn(text, " \t\r\n")] == '\0';
}

/* "Go on" of a recovery, or of a cut answer, that was not answered: the answer needed no more,
 * or the user cancelled it. It must not be read as part of the next prompt. */
static bool
is_spent(struct json_object *messages, size_t at)
{
	struct json_object *message = json_object_array_get_idx(messages, at);
	struct json_object *next = at + 1 < json_object_array_length(messages)
				       ? json_object_array_get_idx(messages, at + 1)
				       : NULL;

	return next != NULL && has_role(message, "user") && has_role(next, "user") &&
	       json_member_boolean(
		   json_member_object(message, DISPLAY_MEMBER), "hidden", false);
}

struct json_object *
request_messages(const struct conversation *conversation, const char *system_prompt,
    bool images, enum request_reasoning reasoning)
{
	struct json_object *list = json_object_new_array(), *message, *copy, *calls;
	struct json_object *messages = conversation_messages(conversation);
	size_t count = json_object_array_length(messages), at = 0;

	if (system_prompt != NULL) {
		copy = json_object_new_object();
		json_set_text(copy, "role", "system");
		json_set_text(copy, "content", system_prompt);
		json_object_array_add(list, copy);
	}
	while (at < count) {
		message = json_object_array_get_idx(messages, at++);
		if (has_role(message, "tool"))
			continue; /* a result without its call */
		if (is_spent(messages, at - 1))
			continue;
		copy = copy_message(message, images, reasoning);
		calls = json_member_array(copy, "tool_calls");
		if (has_role(copy, "assistant") && calls == NULL &&
		    is_blank(json_member(copy, "content"))) {
			json_object_put(copy);
			continue;
		}
		if (merge_user(list, copy)) {
			json_object_put(copy);
			continue;
		}
		json_object_array_add(list, copy);
		if (calls != NULL)
			append_results(list, messages, &at, calls);
	}
	return list;
}

struct json_object *
request_tools(const struct tool_context *context)
{
	struct json_object *list = json_object_new_array(), *tool, *function;
	const struct tool *row;
	const char *reason;

	for (row = tool_table(); row->name != NULL; row++) {
		if (!tool_is_offered(row, context))
			continue;
		function = json_object_new_object();
		json_set_text(function, "name", row->name);
		json_set_text(function, "description", row->description);
		json_set(function, "parameters",
		    json_parse(row->parameters, strlen(row->parameters), &reason));
		tool = json_object_new_object();
		json_set_text(tool, "type", "function");
		json_set(tool, "function", function);
		json_object_array_add(list, tool);
	}
	return list;
}
