/*
 * The conversation in memory.
 */
#include <config.h>

#include "worker/agent/conversation.h"
#include "worker/agent/display.h"
#include "worker/providers/provider.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

struct conversation {
	struct json_object *messages;
	struct json_object *ids; /* call ids in use, as keys */
	unsigned made;		 /* ids that were made here */
	unsigned starts;	 /* workers that the session has had */
	size_t characters;
};

struct conversation *
conversation_new(unsigned starts)
{
	struct conversation *conversation = xcalloc(1, sizeof *conversation);

	conversation->messages = json_object_new_array();
	conversation->ids = json_object_new_object();
	conversation->starts = starts;
	return conversation;
}

void
conversation_free(struct conversation *conversation)
{
	if (conversation == NULL)
		return;
	json_object_put(conversation->messages);
	json_object_put(conversation->ids);
	free(conversation);
}

struct json_object *
conversation_messages(const struct conversation *conversation)
{
	return conversation->messages;
}

size_t
conversation_length(const struct conversation *conversation)
{
	return json_object_array_length(conversation->messages);
}

/* An image counts as its text would: base64 is not what a model reads. */
#define IMAGE_CHARACTERS 6000

static size_t
message_characters(struct json_object *message)
{
	struct json_object *parts = json_member_array(message, "content"), *part;
	size_t length = 0, sum = 0, i;

	if (parts == NULL) {
		sum = strlen(json_member_text(message, "content", ""));
		if (json_has(message, "tool_calls")) {
			json_text(json_member_array(message, "tool_calls"), &length);
			sum += length;
		}
		return sum;
	}
	for (i = 0; i < json_object_array_length(parts); i++) {
		part = json_object_array_get_idx(parts, i);
		if (json_has(part, "image_url"))
			sum += IMAGE_CHARACTERS;
		else
			sum += strlen(json_member_text(part, "text", ""));
	}
	return sum;
}

/* What a message looked like is for the store: here it would only take memory. That the user
 * did not write it counts here, too. */
static struct json_object *
without_display(struct json_object *message)
{
	struct json_object *copy;

	if (!json_has(message, DISPLAY_MEMBER) ||
	    json_member_boolean(json_member_object(message, DISPLAY_MEMBER), "hidden", false))
		return json_object_get(message);
	copy = json_object_new_object();
	json_object_object_foreach(message, key, value)
	{
		if (strcmp(key, DISPLAY_MEMBER) != 0)
			json_set(copy, key, json_object_get(value));
	}
	return copy;
}

static void
add(struct conversation *conversation, struct json_object *message)
{
	conversation->characters += message_characters(message);
	json_object_array_add(conversation->messages, message);
}

void
conversation_append(struct conversation *conversation, struct json_object *message)
{
	add(conversation, without_display(message));
}

void
conversation_adopt(struct conversation *conversation, struct json_object *message)
{
	struct json_object *calls = json_member_array(message, "tool_calls");
	size_t count = calls != NULL ? json_object_array_length(calls) : 0, i;

	for (i = 0; i < count; i++)
		json_set_boolean(conversation->ids,
		    json_member_text(json_object_array_get_idx(calls, i), "id", ""), true);
	add(conversation, json_object_get(message));
}

void
conversation_truncate(struct conversation *conversation, size_t length)
{
	size_t have = conversation_length(conversation), i;

	if (length >= have)
		return;
	json_object_array_del_idx(conversation->messages, length, have - length);
	conversation->characters = 0;
	for (i = 0; i < length; i++)
		conversation->characters +=
		    message_characters(json_object_array_get_idx(conversation->messages, i));
}

struct json_object *
conversation_user(struct json_object *content)
{
	struct json_object *message = json_object_new_object();

	json_set_text(message, "role", "user");
	json_set(message, "content", content);
	return message;
}

static struct json_object *
tool_calls(const struct model_tool_call *calls, size_t count)
{
	struct json_object *list = json_object_new_array(), *call, *function;
	size_t i;

	for (i = 0; i < count; i++) {
		function = json_object_new_object();
		json_set_text(function, "name", calls[i].name);
		json_set_text(function, "arguments", calls[i].arguments);
		call = json_object_new_object();
		json_set_text(call, "id", calls[i].id);
		json_set_text(call, "type", "function");
		json_set(call, "function", function);
		json_object_array_add(list, call);
	}
	return list;
}

struct json_object *
conversation_assistant(const char *text, size_t length, struct json_object *extra,
    const struct model_tool_call *calls, size_t count)
{
	struct json_object *message = json_object_new_object();

	json_set_text(message, "role", "assistant");
	json_set(message, "content", length > 0 ? json_new_bytes(text, length) : NULL);
	if (extra != NULL) {
		json_object_object_foreach(extra, key, value)
		{
			json_set(message, key, json_object_get(value));
		}
	}
	if (count > 0)
		json_set(message, "tool_calls", tool_calls(calls, count));
	return message;
}

struct json_object *
conversation_tool(const char *call_id, const char *name, const char *content, size_t length)
{
	struct json_object *message = json_object_new_object();

	json_set_text(message, "role", "tool");
	json_set_text(message, "tool_call_id", call_id);
	json_set_text(message, "name", name);
	json_set(message, "content", json_new_bytes(content, length));
	return message;
}

void
conversation_claim_id(struct conversation *conversation, char **id)
{
	bool own = conversation->starts > 1;

	while (
	    own || (*id)[0] == '\0' || strlen(*id) > 256 || json_has(conversation->ids, *id)) {
		free(*id);
		*id = xasprintf("call_%u_%u", conversation->starts, ++conversation->made);
		own = false;
	}
	json_set_boolean(conversation->ids, *id, true);
}

size_t
conversation_characters(const struct conversation *conversation)
{
	return conversation->characters;
}
