/*
 * Texts of calls. Nothing may be guessed into arguments, and nothing may be stored that a
 * provider would refuse in every later request.
 */
#include <config.h>

#include "worker/agent/call_text.h"
#include "worker/agent/conversation.h"
#include "common/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64

static const char *
skip_blanks(const char *text)
{
	return text + strspn(text, " \t\r\n");
}

struct json_object *
call_text_arguments(const char *text, char *error, size_t size)
{
	const char *reason;
	struct json_object *value, *inner;

	if (*skip_blanks(text) == '\0')
		return json_object_new_object();
	value = json_parse(text, strlen(text), &reason);
	if (value == NULL && reason == NULL)
		return json_object_new_object();
	if (json_object_is_type(value, json_type_string)) {
		inner = json_parse(json_object_get_string(value),
		    (size_t)json_object_get_string_len(value), &reason);
		json_object_put(value);
		value = inner;
	}
	if (json_object_is_type(value, json_type_object))
		return value;
	if (value == NULL)
		snprintf(error, size,
		    "The arguments were not complete JSON (%s); nothing was done. Send the "
		    "call "
		    "again, in smaller parts if it is long.",
		    reason != NULL ? reason : "null");
	else
		snprintf(error, size,
		    "The arguments must be a JSON object; nothing was done. Send the call "
		    "again.");
	json_object_put(value);
	return NULL;
}

char *
call_text_storable(const char *text)
{
	char error[256];
	struct json_object *value = call_text_arguments(text, error, sizeof error);
	char *storable;

	if (value != NULL && *skip_blanks(text) == '{') {
		json_object_put(value);
		return xstrdup(text);
	}
	if (value == NULL) {
		value = json_object_new_object();
		json_set(value, "_unparsed", json_new_bytes(text, strlen(text)));
	}
	storable = xstrdup(json_text(value, NULL));
	json_object_put(value);
	return storable;
}

char *
call_text_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";
	char *copy;
	size_t i;

	if (name[0] == '\0')
		return xstrdup("unnamed");
	copy = xstrndup(name, NAME_MAX_BYTES);
	for (i = 0; copy[i] != '\0'; i++)
		if (strchr(allowed, copy[i]) == NULL)
			copy[i] = '_';
	return copy;
}

const char call_text_unknown[] =
    "The outcome is unknown: the process died while this call ran. It may have had its effect. "
    "Check that before you do it again.";

struct json_object *
call_text_unknown_result(const char *call_id, const char *name)
{
	struct json_object *result = json_object_new_object(), *message;
	const char *text;
	size_t length;

	json_set_text(result, "error", call_text_unknown);
	text = json_text(result, &length);
	message = conversation_tool(call_id, name, text, length);
	json_object_put(result);
	return message;
}
