/*
 * JSON in Python's default form.
 */
#include <config.h>

#include "worker/store/state_json.h"
#include "common/utf8.h"

#include <string.h>

static void
append_code(struct buffer *buffer, uint32_t code)
{
	if (code < 0x10000) {
		buffer_printf(buffer, "\\u%04x", (unsigned)code);
		return;
	}
	code -= 0x10000;
	buffer_printf(buffer, "\\u%04x\\u%04x", (unsigned)(0xd800 + (code >> 10)),
	    (unsigned)(0xdc00 + (code & 0x3ff)));
}

/* How many bytes at `text` stand for themselves. */
static size_t
plain_run(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7e ||
		    text[i] == '"' || text[i] == '\\')
			break;
	return i;
}

static void
append_character(struct buffer *buffer, char byte)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *found = byte != '\0' ? strchr(plain, byte) : NULL;

	if (found != NULL)
		buffer_printf(buffer, "\\%c", letters[found - plain]);
	else
		append_code(buffer, (unsigned char)byte);
}

static void
append_string(struct buffer *buffer, const char *text, size_t length)
{
	size_t run, i = 0;
	uint32_t code;

	buffer_append_byte(buffer, '"');
	while (i < length) {
		run = plain_run(text + i, length - i);
		buffer_append(buffer, text + i, run);
		i += run;
		if (i == length)
			break;
		if ((unsigned char)text[i] < 0x80) {
			append_character(buffer, text[i++]);
			continue;
		}
		run = utf8_decode(text + i, length - i, &code);
		append_code(buffer, run > 0 ? code : 0xfffd);
		i += run > 0 ? run : utf8_invalid_length(text + i, length - i);
	}
	buffer_append_byte(buffer, '"');
}

static void
append_object(struct buffer *buffer, struct json_object *object)
{
	bool first = true;

	buffer_append_byte(buffer, '{');
	json_object_object_foreach(object, key, value)
	{
		if (!first)
			buffer_append_text(buffer, ", ");
		first = false;
		append_string(buffer, key, strlen(key));
		buffer_append_text(buffer, ": ");
		state_json_append(buffer, value);
	}
	buffer_append_byte(buffer, '}');
}

static void
append_array(struct buffer *buffer, struct json_object *array)
{
	size_t i, count = json_object_array_length(array);

	buffer_append_byte(buffer, '[');
	for (i = 0; i < count; i++) {
		if (i > 0)
			buffer_append_text(buffer, ", ");
		state_json_append(buffer, json_object_array_get_idx(array, i));
	}
	buffer_append_byte(buffer, ']');
}

void
state_json_append(struct buffer *buffer, struct json_object *value)
{
	const char *text;
	size_t length;

	switch (json_object_get_type(value)) {
	case json_type_object:
		append_object(buffer, value);
		break;
	case json_type_array:
		append_array(buffer, value);
		break;
	case json_type_string:
		append_string(buffer, json_object_get_string(value),
		    (size_t)json_object_get_string_len(value));
		break;
	default:
		text = json_text(value, &length);
		buffer_append(buffer, text, length);
		break;
	}
}

struct json_object *
state_json_object(const char *text, size_t length)
{
	const char *reason;
	struct json_object *value;

	if (text == NULL)
		return NULL;
	value = json_parse(text, length, &reason);
	if (json_object_is_type(value, json_type_object))
		return value;
	json_object_put(value);
	return NULL;
}
