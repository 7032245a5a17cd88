/*
 * The list of models that are asked when the session's own one does not answer. An entry that
 * names no model is never guessed at.
 */
#include <config.h>

#include "worker/config/configuration_private.h"
#include "worker/config/runtime.h"

#include "common/alloc.h"

#include <stdlib.h>

static bool
names(struct json_object *entry, const char *key)
{
	const char *text = json_member_string(entry, key);

	return text != NULL && *text != '\0';
}

static void
take_entry(const struct configuration *configuration, struct json_object *entry,
    const char *path, struct json_object *list)
{
	const char *fault = NULL;

	if (!json_object_is_type(entry, json_type_object))
		fault = "this must hold keys with values";
	else if (!names(entry, "provider") && !names(entry, "base_url"))
		fault = "this has neither provider nor base_url";
	else if (!names(entry, "model"))
		fault = "this has no model";
	if (fault != NULL)
		configuration_note(configuration, path, "%s; it is not used", fault);
	else
		json_object_array_add(list, json_copy(entry));
}

struct json_object *
runtime_fallbacks(const struct configuration *configuration)
{
	static const char path[] = "fallback_providers", old_path[] = "fallback_model";
	struct json_object *value = configuration_value(configuration, path);
	struct json_object *list = json_object_new_array(), *old;
	char *place;
	size_t i;

	if (json_object_is_type(value, json_type_array)) {
		for (i = 0; i < json_object_array_length(value); i++) {
			place = xasprintf("%s[%zu]", path, i);
			take_entry(
			    configuration, json_object_array_get_idx(value, i), place, list);
			free(place);
		}
	} else if (value != NULL) {
		take_entry(configuration, value, path, list);
	}
	old = configuration_value(configuration, old_path);
	if (json_object_array_length(list) == 0 && old != NULL &&
	    !(json_object_is_type(old, json_type_object) &&
		json_object_object_length(old) == 0))
		take_entry(configuration, old, old_path, list);
	return list;
}
