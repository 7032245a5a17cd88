/*
 * The arguments of a change of memory, and whether the texts in them may be saved. It looks at
 * no file.
 */
#include <config.h>

#include "worker/tools/memory_change.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/utf8.h"
#include "worker/tools/memory_entries.h"
#include "worker/tools/threat_scan.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	bool content; /* it needs one */
	const char *titles[MEMORY_TARGETS];
} actions[] = {
    [MEMORY_ADD] = {"add", true, {"Add to memory", "Add to the user profile"}},
    [MEMORY_REPLACE] = {"replace", true, {"Replace in memory", "Replace in the user profile"}},
    [MEMORY_REMOVE] = {"remove", false, {"Remove from memory", "Remove from the user profile"}},
};

#define ACTIONS (sizeof actions / sizeof actions[0])

const char *
memory_action_name(enum memory_action action)
{
	return actions[action].name;
}

/* A text argument, trimmed. -1 when it is something else. */
static int
take_text(struct json_object *object, const char *key, char **text, struct buffer *error)
{
	struct json_object *value = json_member(object, key);
	const char *given = json_member_string(object, key);

	if (value == NULL || json_object_is_type(value, json_type_null)) {
		*text = xstrdup("");
		return 0;
	}
	if (given == NULL) {
		buffer_printf(error, "%s must be a string without NUL characters.", key);
		return -1;
	}
	*text = memory_trimmed(given, strlen(given));
	return 0;
}

/* The delimiter would make two entries of one. */
static bool
has_delimiter(const char *content)
{
	char *framed = xasprintf("\n%s\n", content);
	bool has = strstr(framed, MEMORY_DELIMITER) != NULL;

	free(framed);
	return has;
}

static int
check_content(const char *content, size_t limit, struct buffer *error)
{
	struct buffer names = BUFFER_EMPTY;
	size_t length = strlen(content);

	if (has_delimiter(content)) {
		buffer_append_text(error, "content must not have a line with nothing but the "
					  "section sign, which divides entries.");
	} else if (utf8_count(content, length) > limit || length > THREAT_SCAN_MAX) {
		buffer_printf(error,
		    "content has %zu characters, and the whole file may have "
		    "%zu. Save something shorter.",
		    utf8_count(content, length), limit);
	} else if (threat_scan(content, length, &names)) {
		buffer_printf(error,
		    "Blocked: the content has suspicious wording (%s). It would "
		    "become part of the system prompt of later sessions, which "
		    "must not hold commands to an agent, secrets or the way "
		    "to them.",
		    buffer_text(&names));
	}
	buffer_free(&names);
	return error->length == 0 ? 0 : -1;
}

static int
take_action(struct json_object *object, enum memory_action *action, struct buffer *error)
{
	const char *name = json_member_text(object, "action", "");
	size_t i;

	for (i = 0; i < ACTIONS; i++)
		if (strcmp(name, actions[i].name) == 0) {
			*action = (enum memory_action)i;
			return 0;
		}
	if (*name == '\0')
		buffer_append_text(error, "action is missing. Use add, replace or remove.");
	else
		buffer_printf(
		    error, "Unknown action '%.40s'. Use add, replace or remove.", name);
	return -1;
}

static int
take_operation(struct memory_operation *operation, struct json_object *object, size_t limit,
    struct buffer *error)
{
	if (take_action(object, &operation->action, error) == -1 ||
	    take_text(object, "content", &operation->content, error) == -1 ||
	    take_text(object, "old_text", &operation->old_text, error) == -1)
		return -1;
	if (!actions[operation->action].content)
		return 0;
	if (*operation->content != '\0')
		return check_content(operation->content, limit, error);
	buffer_printf(error, "content is required for '%s'.%s", actions[operation->action].name,
	    operation->action == MEMORY_REPLACE ? " Use 'remove' to delete an entry." : "");
	return -1;
}

static int
take_operations(
    struct memory_change *change, struct json_object *list, size_t limit, struct buffer *error)
{
	struct buffer reason = BUFFER_EMPTY;
	size_t count = json_object_array_length(list), i;

	if (count > MEMORY_OPERATIONS_MAX) {
		buffer_printf(error, "operations has %zu items; at most %d are taken.", count,
		    MEMORY_OPERATIONS_MAX);
		return -1;
	}
	change->operations = xcalloc(count, sizeof *change->operations);
	change->count = count;
	change->batch = true;
	for (i = 0; i < count; i++)
		if (take_operation(&change->operations[i], json_object_array_get_idx(list, i),
			limit, &reason) == -1) {
			buffer_printf(error, "Operation %zu: %s Nothing was changed.", i + 1,
			    buffer_text(&reason));
			break;
		}
	buffer_free(&reason);
	return error->length == 0 ? 0 : -1;
}

static int
take_target(struct memory_change *change, const struct memory *memory,
    struct json_object *arguments, struct buffer *error)
{
	const char *name = json_member_text(arguments, "target", NULL);

	if (name == NULL)
		name = json_has(arguments, "target") ? "" : "memory";
	if (!memory_target_parse(name, &change->target))
		buffer_printf(error, "Invalid target '%.40s'. Use 'memory' or 'user'.", name);
	else if (!memory_enabled(memory, change->target))
		buffer_printf(
		    error, "The target '%s' is turned off in the configuration.", name);
	return error->length == 0 ? 0 : -1;
}

int
memory_change_parse(struct memory_change *change, const struct memory *memory,
    struct json_object *arguments, struct buffer *error)
{
	struct json_object *list = json_member(arguments, "operations");

	memset(change, 0, sizeof *change);
	if (take_target(change, memory, arguments, error) == -1)
		return -1;
	if (list != NULL && !json_object_is_type(list, json_type_array)) {
		buffer_append_text(error, "operations must be a list of objects with action, "
					  "content and old_text.");
		return -1;
	}
	if (list != NULL && json_object_array_length(list) > 0)
		return take_operations(
		    change, list, memory_limit(memory, change->target), error);
	change->operations = xcalloc(1, sizeof *change->operations);
	change->count = 1;
	return take_operation(
	    change->operations, arguments, memory_limit(memory, change->target), error);
}

void
memory_change_clear(struct memory_change *change)
{
	size_t i;

	for (i = 0; i < change->count; i++) {
		free(change->operations[i].content);
		free(change->operations[i].old_text);
	}
	free(change->operations);
	memset(change, 0, sizeof *change);
}

void
memory_change_title(const struct memory_change *change, struct buffer *title)
{
	if (change->count == 1)
		buffer_append_text(
		    title, actions[change->operations[0].action].titles[change->target]);
	else
		buffer_printf(title, "Change %s: %zu entries",
		    change->target == MEMORY_USER ? "the user profile" : "memory",
		    change->count);
}
