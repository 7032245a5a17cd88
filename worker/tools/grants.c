/*
 * What the user allowed and refused: three short lists of texts. Nothing here is ever
 * guessed: a text that was not put in is not there.
 */
#include <config.h>

#include "worker/tools/grants.h"

#include "common/alloc.h"
#include "worker/tools/path_rules.h"

#include <stdlib.h>
#include <string.h>

#define EDIT_PREFIX "edit:"

struct text_list {
	char **items;
	size_t count;
};

struct grants {
	struct text_list granted;
	struct text_list refused;
	struct text_list denied_paths;
};

static bool
list_has(const struct text_list *list, const char *text)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

static void
list_add(struct text_list *list, const char *text)
{
	if (text == NULL || *text == '\0' || list_has(list, text))
		return;
	list->items = xreallocarray(list->items, list->count + 1, sizeof *list->items);
	list->items[list->count++] = xstrdup(text);
}

static void
list_clear(struct text_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	list->items = NULL;
	list->count = 0;
}

struct grants *
grants_new(void)
{
	return xcalloc(1, sizeof(struct grants));
}

void
grants_free(struct grants *grants)
{
	if (grants == NULL)
		return;
	list_clear(&grants->granted);
	list_clear(&grants->refused);
	list_clear(&grants->denied_paths);
	free(grants);
}

void
grants_add(struct grants *grants, const char *grant)
{
	list_add(&grants->granted, grant);
}

bool
grants_has(const struct grants *grants, const char *grant)
{
	return list_has(&grants->granted, grant);
}

bool
grants_cover_edit(const struct grants *grants, const char *path)
{
	const size_t prefix = sizeof EDIT_PREFIX - 1;
	size_t i;

	for (i = 0; i < grants->granted.count; i++) {
		const char *grant = grants->granted.items[i];

		/* An absolute folder, or it would cover more than its words say. */
		if (strncmp(grant, EDIT_PREFIX, prefix) == 0 && grant[prefix] == '/' &&
		    path_rules_below(grant + prefix, path))
			return true;
	}
	return false;
}

void
grants_refuse(struct grants *grants, const char *question)
{
	list_add(&grants->refused, question);
}

bool
grants_refused(const struct grants *grants, const char *question)
{
	return question != NULL && list_has(&grants->refused, question);
}

void
grants_deny_path(struct grants *grants, const char *path)
{
	list_add(&grants->denied_paths, path);
}

/* True for what cannot be a part of a longer file name. */
static bool
is_boundary(char byte)
{
	return byte == '\0' || (strchr(" \t\r\n'\"`;&|<>()=:,/\\{}[]$*?!#", byte) != NULL);
}

/* True when `word` stands in `text` with no name character on either side. A false alarm
 * only asks once more; a miss would let a refused edit through. */
static bool
names_word(const char *text, const char *word)
{
	const size_t length = strlen(word);
	const char *at = text;

	while (length > 0 && (at = strstr(at, word)) != NULL) {
		if ((at == text || is_boundary(at[-1])) && is_boundary(at[length]))
			return true;
		at++;
	}
	return false;
}

bool
grants_denied_in(const struct grants *grants, const char *command)
{
	size_t i;

	for (i = 0; i < grants->denied_paths.count; i++) {
		const char *path = grants->denied_paths.items[i];
		const char *name = strrchr(path, '/');

		/* The last component is enough: the shell may stand in any folder. */
		if (names_word(command, name != NULL && name[1] != '\0' ? name + 1 : path))
			return true;
	}
	return false;
}

void
grants_forget_denied(struct grants *grants)
{
	list_clear(&grants->denied_paths);
}

static struct json_object *
list_describe(const struct text_list *list)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < list->count; i++)
		json_object_array_add(array, json_new_text(list->items[i]));
	return array;
}

static void
list_restore(struct text_list *list, struct json_object *array)
{
	size_t count = array != NULL ? json_object_array_length(array) : 0, i;

	for (i = 0; i < count; i++)
		list_add(list, json_object_get_string(json_object_array_get_idx(array, i)));
}

struct json_object *
grants_describe(const struct grants *grants)
{
	struct json_object *description = json_object_new_object();

	json_set(description, "allowed", list_describe(&grants->granted));
	json_set(description, "refused", list_describe(&grants->refused));
	return description;
}

void
grants_restore(struct grants *grants, struct json_object *description)
{
	list_restore(&grants->granted, json_member_array(description, "allowed"));
	list_restore(&grants->refused, json_member_array(description, "refused"));
}
