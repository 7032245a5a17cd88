/*
 * Results of edits. It must never report a change that was not made.
 */
#include <config.h>

#include "worker/tools/edit_report.h"

#include "worker/tools/unified_diff.h"

#include <string.h>

static void
append_diff(struct buffer *out, const struct edit_change *change)
{
	struct edit_text before = edit_change_before(change);
	struct edit_text after = edit_change_content(change);
	struct unified_side old = {change->existed ? before.bytes : NULL, before.length};
	struct unified_side new = {change->exists ? after.bytes : NULL, after.length};
	const char *path = change->target.shown;

	unified_diff_append(out, path[0] == '/' ? path + 1 : path, &old, &new);
}

/* Adds the path to the list `key`, which is made when it is not there. */
static void
list_path(struct json_object *result, const char *key, const char *path)
{
	struct json_object *list = json_member_array(result, key);

	if (list == NULL) {
		list = json_object_new_array();
		json_set(result, key, list);
	}
	(void)json_object_array_add(list, json_new_text(path));
}

static const char *
json_fault(const char *text, size_t length)
{
	const char *reason = NULL;

	json_object_put(json_parse(text, length, &reason));
	return reason;
}

/* A JSON file that no longer parses: told, because the edit was probably not meant so. */
static void
add_lint(struct json_object *result, const struct edit_change *change)
{
	const char *dot = strrchr(change->target.real, '.'), *reason;
	struct edit_text text = edit_change_content(change), old = edit_change_before(change);
	struct json_object *lint;
	struct buffer output = BUFFER_EMPTY;

	if (!change->exists || dot == NULL || strcmp(dot, ".json") != 0)
		return;
	reason = json_fault(text.bytes, text.length);
	if (reason != NULL && change->existed && json_fault(old.bytes, old.length) != NULL)
		return; /* it was not JSON before either */
	lint = json_object_new_object();
	json_set_text(lint, "status", reason == NULL ? "ok" : "error");
	if (reason != NULL) {
		(void)buffer_printf(
		    &output, "%s is not valid JSON: %s", change->target.shown, reason);
		json_set_text(lint, "output", buffer_text(&output));
	}
	buffer_free(&output);
	json_set(result, "lint", lint);
}

struct json_object *
edit_report_new(const struct edit_proposal *proposal)
{
	struct json_object *result = json_object_new_object();
	struct buffer diff = BUFFER_EMPTY;
	const struct edit_change *change;
	size_t i;

	json_set_boolean(result, "success", true);
	for (i = 0; i < proposal->count; i++) {
		change = proposal->changes[i];
		if (!edit_change_differs(change))
			continue;
		if (diff.length <= UNIFIED_DIFF_MAX)
			append_diff(&diff, change);
		list_path(result,
		    !change->exists   ? "files_deleted"
		    : change->existed ? "files_modified"
				      : "files_created",
		    change->target.real);
		add_lint(result, change);
	}
	if (proposal->unkept != NULL)
		json_set_text(result, "_checkpoint", proposal->unkept);
	json_set(result, "diff", json_new_bytes(buffer_text(&diff), diff.length));
	buffer_free(&diff);
	return result;
}

struct json_object *
edit_report_unchanged(const char *note)
{
	struct json_object *result = json_object_new_object();

	json_set_boolean(result, "success", true);
	json_set_boolean(result, "no_change", true);
	json_set_text(result, "note", note);
	return result;
}
