/*
 * Values of config.yaml by dotted path. A value of the wrong kind never counts: the default
 * is used and the problem noted with line and key.
 */
#include <config.h>

#include "worker/config/configuration.h"

#include "worker/config/configuration_private.h"

#include "common/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct json_object *
configuration_value(const struct configuration *configuration, const char *path)
{
	struct json_object *value = configuration_tree(configuration);
	char *copy = xstrdup(path), *key, *next = copy;
	size_t used;

	while (value != NULL && (key = strsep(&next, ".")) != NULL) {
		used = (size_t)(key - copy);
		/* "model: name" is a short form; elsewhere a section must hold keys. */
		if (!json_object_is_type(value, json_type_object) &&
		    strncmp(path, "model.", 6) != 0) {
			copy[used > 0 ? used - 1 : 0] = '\0';
			configuration_note(configuration, copy,
			    "this must hold keys with values; it is not used");
		}
		value = json_member(value, key);
	}
	free(copy);
	return value;
}

static const char *
kind_of(struct json_object *value)
{
	if (json_object_is_type(value, json_type_array))
		return "a list";
	return json_object_is_type(value, json_type_object) ? "a mapping" : "this";
}

/* Says what stands there; never the text of a whole list. */
static void
note_kind(const struct configuration *configuration, const char *path,
    struct json_object *value, const char *wanted, const char *otherwise)
{
	if (json_object_is_type(value, json_type_array) ||
	    json_object_is_type(value, json_type_object))
		configuration_note(configuration, path, "%s is not %s; the default%s%s is used",
		    kind_of(value), wanted, *otherwise != '\0' ? " " : "", otherwise);
	else
		configuration_note(configuration, path,
		    "\"%.80s\" is not %s; the default%s%s is used",
		    json_object_get_string(value), wanted, *otherwise != '\0' ? " " : "",
		    otherwise);
}

int64_t
configuration_integer(
    const struct configuration *configuration, const char *path, int64_t otherwise)
{
	struct json_object *value = configuration_value(configuration, path), *holder;
	int64_t number = otherwise;
	char text[32];
	bool fits;

	if (value == NULL)
		return otherwise;
	holder = json_object_new_object();
	json_set(holder, "", json_object_get(value));
	fits = json_member_integer(holder, "", &number);
	json_object_put(holder);
	if (!fits) {
		snprintf(text, sizeof text, "%" PRId64, otherwise);
		note_kind(configuration, path, value, "a whole number", text);
	}
	return number;
}

bool
configuration_boolean(
    const struct configuration *configuration, const char *path, bool otherwise)
{
	static const char *const words[] = {
	    "false", "true", "no", "yes", "off", "on", "0", "1"};
	struct json_object *value = configuration_value(configuration, path);
	const char *text;
	size_t i;

	if (value == NULL)
		return otherwise;
	if (json_object_is_type(value, json_type_boolean))
		return json_object_get_boolean(value);
	text = json_object_get_string(value);
	for (i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasecmp(text, words[i]) == 0)
			return i % 2 == 1;
	note_kind(configuration, path, value, "true or false", otherwise ? "true" : "false");
	return otherwise;
}

const char *
configuration_string(
    const struct configuration *configuration, const char *path, const char *otherwise)
{
	struct json_object *value = configuration_value(configuration, path);

	if (value == NULL)
		return otherwise;
	if (json_object_is_type(value, json_type_array) ||
	    json_object_is_type(value, json_type_object)) {
		note_kind(
		    configuration, path, value, "a text", otherwise != NULL ? otherwise : "");
		return otherwise;
	}
	if (strlen(json_object_get_string(value)) !=
		(size_t)json_object_get_string_len(value) &&
	    json_object_is_type(value, json_type_string)) {
		configuration_note(configuration, path, "there is a NUL in it; it is not used");
		return otherwise;
	}
	return json_object_get_string(value);
}
