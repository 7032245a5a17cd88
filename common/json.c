/*
 * Access to json-c. It must never hand text to json-c that the strict scan refused.
 */
#include <config.h>

#include "common/json.h"
#include "common/json_scan.h"
#include "common/utf8.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct json_object *
json_parse(const char *text, size_t length, const char **reason)
{
	struct json_object *value = NULL;
	struct json_tokener *tokener;

	*reason = json_scan_check(text, length, JSON_DEPTH_MAX);
	if (*reason != NULL)
		return NULL;
	if (length >= INT_MAX) {
		*reason = "too long";
		return NULL;
	}
	tokener = json_tokener_new_ex(JSON_DEPTH_MAX + 2);
	if (tokener == NULL) {
		*reason = "out of memory";
		return NULL;
	}
	value = json_tokener_parse_ex(tokener, text, (int)length);
	if (json_tokener_get_error(tokener) == json_tokener_continue)
		value = json_tokener_parse_ex(tokener, "", 1); /* a bare number ends here */
	if (json_tokener_get_error(tokener) != json_tokener_success) {
		*reason = json_tokener_error_desc(json_tokener_get_error(tokener));
		json_object_put(value);
		value = NULL;
	}
	json_tokener_free(tokener);
	return value;
}

struct json_object *
json_member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &value);
	return value;
}

struct json_object *
json_member_object(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_object) ? value : NULL;
}

struct json_object *
json_member_array(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_array) ? value : NULL;
}

const char *
json_member_string(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);
	const char *text;

	if (!json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

const char *
json_member_text(struct json_object *object, const char *key, const char *otherwise)
{
	const char *text = json_member_string(object, key);

	return text != NULL ? text : otherwise;
}

static bool
parse_integer(const char *text, int64_t *value)
{
	char *end;
	long long parsed;

	errno = 0;
	parsed = strtoll(text, &end, 10);
	if (end == text || errno != 0)
		return false;
	while (*end == ' ' || *end == '\t')
		end++;
	if (*end != '\0')
		return false;
	*value = parsed;
	return true;
}

bool
json_member_integer(struct json_object *object, const char *key, int64_t *value)
{
	struct json_object *member = json_member(object, key);
	double number;

	switch (json_object_get_type(member)) {
	case json_type_int:
		*value = json_object_get_int64(member);
		return true;
	case json_type_double:
		number = json_object_get_double(member);
		if (!isfinite(number) || number != floor(number) || fabs(number) > 9e15)
			return false;
		*value = (int64_t)number;
		return true;
	case json_type_string:
		return parse_integer(json_object_get_string(member), value);
	default:
		return false;
	}
}

bool
json_member_boolean(struct json_object *object, const char *key, bool otherwise)
{
	struct json_object *member = json_member(object, key);
	const char *text;

	if (json_object_is_type(member, json_type_boolean))
		return json_object_get_boolean(member);
	text = json_member_string(object, key);
	if (text != NULL && strcasecmp(text, "true") == 0)
		return true;
	if (text != NULL && strcasecmp(text, "false") == 0)
		return false;
	return otherwise;
}

bool
json_member_double(struct json_object *object, const char *key, double *value)
{
	struct json_object *member = json_member(object, key);

	if (!json_object_is_type(member, json_type_int) &&
	    !json_object_is_type(member, json_type_double))
		return false;
	*value = json_object_get_double(member);
	return true;
}

bool
json_has(struct json_object *object, const char *key)
{
	return json_member(object, key) != NULL;
}

struct json_object *
json_new_text(const char *text)
{
	return text == NULL ? NULL : json_new_bytes(text, strlen(text));
}

struct json_object *
json_new_bytes(const char *text, size_t length)
{
	struct json_object *value;
	size_t clean_length;
	char *clean;

	if (length >= INT_MAX)
		length = utf8_floor(text, length, INT_MAX - 1);
	if (utf8_valid(text, length))
		return json_object_new_string_len(text, (int)length);
	clean = utf8_clean(text, length, &clean_length);
	if (clean == NULL)
		return NULL;
	value = json_object_new_string_len(clean, (int)clean_length);
	free(clean);
	return value;
}

void
json_set(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value) != 0)
		json_object_put(value);
}

void
json_set_text(struct json_object *object, const char *key, const char *text)
{
	json_set(object, key, json_new_text(text));
}

void
json_set_integer(struct json_object *object, const char *key, int64_t value)
{
	json_set(object, key, json_object_new_int64(value));
}

void
json_set_boolean(struct json_object *object, const char *key, bool value)
{
	json_set(object, key, json_object_new_boolean(value));
}

const char *
json_text(struct json_object *value, size_t *length)
{
	size_t ignored;

	return json_object_to_json_string_length(value,
	    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
	    length != NULL ? length : &ignored);
}

static int
compare_keys(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
append_sorted_object(struct buffer *buffer, struct json_object *object)
{
	size_t count = (size_t)json_object_object_length(object), i = 0;
	const char **keys = calloc(count ? count : 1, sizeof *keys);

	if (keys == NULL) {
		buffer->failed = true;
		return -1;
	}
	json_object_object_foreach(object, key, member)
	{
		(void)member;
		keys[i++] = key;
	}
	qsort(keys, count, sizeof *keys, compare_keys);
	buffer_append_byte(buffer, '{');
	for (i = 0; i < count; i++) {
		if (i > 0)
			buffer_append_byte(buffer, ',');
		buffer_append_json_text(buffer, keys[i]);
		buffer_append_byte(buffer, ':');
		json_append_sorted(buffer, json_member(object, keys[i]));
	}
	free(keys);
	return buffer_append_byte(buffer, '}');
}

int
json_append_sorted(struct buffer *buffer, struct json_object *value)
{
	size_t i, count, length;
	const char *text;

	if (json_object_is_type(value, json_type_object))
		return append_sorted_object(buffer, value);
	if (!json_object_is_type(value, json_type_array)) {
		text = json_text(value, &length);
		return buffer_append(buffer, text, length);
	}
	count = json_object_array_length(value);
	buffer_append_byte(buffer, '[');
	for (i = 0; i < count; i++) {
		if (i > 0)
			buffer_append_byte(buffer, ',');
		json_append_sorted(buffer, json_object_array_get_idx(value, i));
	}
	return buffer_append_byte(buffer, ']');
}

struct json_object *
json_copy(struct json_object *value)
{
	struct json_object *copy = NULL;

	if (value != NULL && json_object_deep_copy(value, &copy, NULL) != 0)
		return NULL;
	return copy;
}
