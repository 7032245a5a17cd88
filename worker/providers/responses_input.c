/*
 * From messages to items. What a server sealed goes back as it came, and only to that server:
 * another one refuses the whole request.
 */
#include <config.h>

#include "worker/providers/responses_input.h"
#include "worker/config/endpoint.h"
#include "common/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_ID_MAX 64 /* OpenAI refuses longer ones; other servers make them */

char *
responses_issuer(const char *base_url)
{
	char host[ENDPOINT_HOST_SIZE];

	endpoint_host(base_url, host);
	if (endpoint_host_within(host, "x.ai"))
		return xstrdup("xai_responses");
	return xasprintf("other:%s", base_url);
}

static struct json_object *
new_item(const char *type)
{
	struct json_object *item = json_object_new_object();

	json_set_text(item, "type", type);
	return item;
}

static void
add_text(struct json_object *parts, const char *type, struct json_object *text)
{
	struct json_object *part = new_item(type);

	json_set(part, "text", json_object_get(text));
	json_object_array_add(parts, part);
}

static void
add_image(struct json_object *parts, struct json_object *image)
{
	struct json_object *part = new_item("input_image");
	struct json_object *url =
	    json_object_is_type(image, json_type_string) ? image : json_member(image, "url");

	json_set(part, "image_url", json_object_get(url));
	if (json_has(image, "detail"))
		json_set(part, "detail", json_object_get(json_member(image, "detail")));
	json_object_array_add(parts, part);
}

/* Content as parts: a string or a list of text and pictures. `text_type`: output_text for the
 * model's own words. */
static struct json_object *
content_parts(struct json_object *content, const char *text_type)
{
	struct json_object *parts = json_object_new_array(), *part, *text;
	size_t count, i;

	if (json_object_is_type(content, json_type_string)) {
		add_text(parts, text_type, content);
		return parts;
	}
	count = json_object_is_type(content, json_type_array)
		    ? json_object_array_length(content)
		    : 0;
	for (i = 0; i < count; i++) {
		part = json_object_array_get_idx(content, i);
		text = json_object_is_type(part, json_type_string) ? part
								   : json_member(part, "text");
		if (json_has(part, "image_url"))
			add_image(parts, json_member(part, "image_url"));
		else if (json_object_is_type(text, json_type_string))
			add_text(parts, text_type, text);
	}
	return parts;
}

/* Takes over `parts`; without any there is no message. */
static void
add_message(
    struct json_object *items, const char *role, struct json_object *parts, const char *phase)
{
	struct json_object *item;

	if (json_object_array_length(parts) == 0) {
		json_object_put(parts);
		return;
	}
	item = new_item("message");
	json_set_text(item, "role", role);
	json_set(item, "content", parts);
	if (phase != NULL)
		json_set_text(item, "phase", phase);
	json_object_array_add(items, item);
}

/* --- the model's own answers ------------------------------------------------------------ */

/* An id that every server takes, the same for the same id. */
static void
call_id(const char *id, char out[CALL_ID_MAX + 1])
{
	uint64_t hash = 14695981039346656037u;
	const char *at;

	if (strlen(id) <= CALL_ID_MAX) {
		strcpy(out, id);
		return;
	}
	for (at = id; *at != '\0'; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	snprintf(out, CALL_ID_MAX + 1, "%.40s_%016llx", id, (unsigned long long)hash);
}

/* Sealed thoughts. Their ids are of use only to a server that stores answers. */
static void
add_reasoning(struct json_object *items, struct json_object *stored, const char *issuer)
{
	const char *sealed = json_member_string(stored, "encrypted_content");
	const char *sealer = json_member_string(stored, "_issuer_kind");
	struct json_object *item, *summary = json_member_array(stored, "summary");

	if (sealed == NULL || sealed[0] == '\0' ||
	    (sealer != NULL && strcmp(sealer, issuer) != 0))
		return;
	item = new_item("reasoning");
	json_set(
	    item, "summary", summary != NULL ? json_copy(summary) : json_object_new_array());
	json_set_text(item, "encrypted_content", sealed);
	json_object_array_add(items, item);
}

/* The text, in the messages that the model made of it when that was kept. */
static void
add_answer(struct json_object *items, struct json_object *message, bool phase)
{
	struct json_object *stored = json_member_array(message, "codex_message_items"), *item;
	size_t count = stored != NULL && phase ? json_object_array_length(stored) : 0, i;
	size_t before = json_object_array_length(items);

	for (i = 0; i < count; i++) {
		item = json_object_array_get_idx(stored, i);
		add_message(items, "assistant",
		    content_parts(json_member(item, "content"), "output_text"),
		    json_member_string(item, "phase"));
	}
	if (json_object_array_length(items) == before)
		add_message(items, "assistant",
		    content_parts(json_member(message, "content"), "output_text"), NULL);
}

static void
add_call(struct json_object *items, struct json_object *call)
{
	struct json_object *function = json_member_object(call, "function");
	struct json_object *item = new_item("function_call");
	char id[CALL_ID_MAX + 1];

	call_id(json_member_text(call, "id", ""), id);
	json_set_text(item, "call_id", id);
	json_set_text(item, "name", json_member_text(function, "name", ""));
	json_set_text(item, "arguments", json_member_text(function, "arguments", "{}"));
	json_object_array_add(items, item);
}

static bool
is_blank(struct json_object *content)
{
	return !json_object_is_type(content, json_type_array) &&
	       (!json_object_is_type(content, json_type_string) ||
		   json_object_get_string_len(content) == 0);
}

/* Thoughts, text, calls: thoughts must be followed by what they led to. */
static void
add_assistant(
    struct json_object *items, struct json_object *message, const struct responses_echo *echo)
{
	struct json_object *thoughts = json_member_array(message, "codex_reasoning_items");
	struct json_object *calls = json_member_array(message, "tool_calls");
	size_t count = calls != NULL ? json_object_array_length(calls) : 0, i;
	bool blank = is_blank(json_member(message, "content"));

	if (blank && count == 0)
		return;
	for (i = 0; thoughts != NULL && i < json_object_array_length(thoughts); i++)
		add_reasoning(items, json_object_array_get_idx(thoughts, i), echo->issuer);
	if (!blank)
		add_answer(items, message, echo->phase);
	for (i = 0; i < count; i++)
		add_call(items, json_object_array_get_idx(calls, i));
}

/* --- the others ------------------------------------------------------------------------- */

static bool
has_image(struct json_object *parts)
{
	size_t i;

	for (i = 0; i < json_object_array_length(parts); i++)
		if (json_has(json_object_array_get_idx(parts, i), "image_url"))
			return true;
	return false;
}

/* An output is a string, which all servers take; only pictures make a list of it. */
static struct json_object *
output_of(struct json_object *content)
{
	struct json_object *parts, *text;
	struct buffer joined = BUFFER_EMPTY;
	size_t i;

	if (json_object_is_type(content, json_type_string))
		return json_object_get(content);
	parts = content_parts(content, "input_text");
	if (has_image(parts))
		return parts;
	for (i = 0; i < json_object_array_length(parts); i++) {
		text = json_member(json_object_array_get_idx(parts, i), "text");
		buffer_append_text(&joined, i > 0 ? "\n" : "");
		buffer_append(&joined, json_object_get_string(text),
		    (size_t)json_object_get_string_len(text));
	}
	json_object_put(parts);
	text = json_new_bytes(buffer_text(&joined), joined.length);
	buffer_free(&joined);
	return text;
}

static void
add_output(struct json_object *items, struct json_object *message)
{
	struct json_object *item = new_item("function_call_output");
	char id[CALL_ID_MAX + 1];

	call_id(json_member_text(message, "tool_call_id", ""), id);
	json_set_text(item, "call_id", id);
	json_set(item, "output", output_of(json_member(message, "content")));
	json_object_array_add(items, item);
}

static void
add_instructions(struct buffer *instructions, struct json_object *content)
{
	struct json_object *text = output_of(content);

	buffer_append_text(instructions, instructions->length > 0 ? "\n\n" : "");
	if (json_object_is_type(text, json_type_string))
		buffer_append(instructions, json_object_get_string(text),
		    (size_t)json_object_get_string_len(text));
	json_object_put(text);
}

struct json_object *
responses_input(struct json_object *messages, const struct responses_echo *echo,
    struct buffer *instructions)
{
	struct json_object *items = json_object_new_array(), *message;
	size_t count = json_object_array_length(messages), i;
	const char *role;

	for (i = 0; i < count; i++) {
		message = json_object_array_get_idx(messages, i);
		role = json_member_text(message, "role", "user");
		if (strcmp(role, "system") == 0)
			add_instructions(instructions, json_member(message, "content"));
		else if (strcmp(role, "assistant") == 0)
			add_assistant(items, message, echo);
		else if (strcmp(role, "tool") == 0)
			add_output(items, message);
		else
			add_message(items, role,
			    content_parts(json_member(message, "content"), "input_text"), NULL);
	}
	return items;
}
