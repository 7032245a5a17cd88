/*
 * Changes to config.yaml under its lock. It must never write half of what was asked for.
 */
#include <config.h>

#include "worker/config/config_edit.h"

#include "worker/config/config_file.h"
#include "worker/config/yaml_tree.h"

#include "common/alloc.h"
#include "common/fd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
refuse(const char *path, const struct yaml_edit *edit, const char *reason, struct buffer *error)
{
	buffer_printf(error, "%s%s%s in %s cannot be changed: %s.", edit->section,
	    edit->key != NULL ? "." : "", edit->key != NULL ? edit->key : "", path, reason);
	return -1;
}

static int
apply_locked(
    const char *path, const struct yaml_edit *edits, size_t count, struct buffer *error)
{
	struct buffer text = BUFFER_EMPTY, old = BUFFER_EMPTY, reason = BUFFER_EMPTY;
	struct problems problems = {BUFFER_EMPTY, 0};
	struct yaml_tree tree = {NULL, NULL, false};
	const char *why = NULL;
	int result = -1;
	size_t i = 0;

	if (config_file_read(path, YAML_TREE_SIZE_MAX, &text, &reason) ==
	    CONFIG_FILE_UNREADABLE) {
		buffer_printf(error, "%s cannot be read: %s.", path, buffer_text(&reason));
		goto out;
	}
	buffer_append(&old, buffer_text(&text), text.length);
	yaml_tree_parse(&tree, buffer_text(&text), text.length, path, &problems);
	if (tree.broken) {
		buffer_printf(error, "Correct the file first: %s", buffer_text(&problems.text));
		goto out;
	}
	for (i = 0; i < count && why == NULL; i++)
		why = yaml_edit_once(&text, &edits[i]);
	if (why != NULL)
		refuse(path, &edits[i - 1], why, error);
	else if (text.length == old.length && access(path, F_OK) == 0 &&
		 memcmp(buffer_text(&text), buffer_text(&old), old.length) == 0)
		result = 0;
	else
		result = config_file_replace(path, buffer_text(&text), text.length, error);
out:
	yaml_tree_clear(&tree);
	problems_clear(&problems);
	buffer_free(&text);
	buffer_free(&old);
	buffer_free(&reason);
	return result;
}

int
config_edit_apply(
    const char *home, const struct yaml_edit *edits, size_t count, struct buffer *error)
{
	char *path = xasprintf("%s/config.yaml", home);
	int lock = config_file_lock(home, "config.yaml", error), result = -1;

	if (lock != -1)
		result = apply_locked(path, edits, count, error);
	fd_close(&lock);
	free(path);
	return result;
}

int
config_edit_append(const char *home, const char *list, const char *item, struct buffer *error)
{
	struct yaml_edit edit = {.section = list, .value = item};

	return config_edit_apply(home, &edit, 1, error);
}
