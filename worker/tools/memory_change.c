/*
 * Carrying out changes of one memory file.
 */
#include <config.h>

#include "worker/tools/memory_change.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/utf8.h"
#include "worker/tools/memory_file.h"
#include "worker/tools/memory_prompt.h"
#include "worker/tools/tool.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FAILURES_MAX 3	  /* in a row in one turn (as in Hermes) */
#define PREVIEW_LENGTH 80 /* characters of an entry that an error names */

static const char *const done[] = {
    [MEMORY_ADD] = "Entry added.",
    [MEMORY_REPLACE] = "Entry replaced.",
    [MEMORY_REMOVE] = "Entry removed.",
};

/* A failure as it is told: text, and whether the entries stand below it. */
struct refusal {
	struct buffer text;
	bool entries;		  /* the model needs to see them */
	bool counts;		  /* as one of the failures of a turn */
	struct json_object *more; /* further members; NULL = none */
};

static void refuse(struct refusal *refusal, bool entries, bool counts, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void
refuse(struct refusal *refusal, bool entries, bool counts, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	buffer_vprintf(&refusal->text, format, arguments);
	va_end(arguments);
	refusal->entries = entries;
	refusal->counts = counts;
}

/* The first words of the entries that a text stands in. */
static struct json_object *
previews(const struct memory_entries *entries, const char *part)
{
	struct memory_entries matched = {NULL, 0};
	struct json_object *list;
	size_t i, length, cut;
	char *text;

	for (i = 0; i < entries->count; i++) {
		if (strstr(entries->items[i], part) == NULL)
			continue;
		length = strlen(entries->items[i]);
		cut = utf8_offset(entries->items[i], length, PREVIEW_LENGTH);
		text =
		    xasprintf("%.*s%s", (int)cut, entries->items[i], cut < length ? "..." : "");
		memory_entries_add(&matched, text);
		free(text);
	}
	list = memory_prompt_entries(&matched, MEMORY_NOTES);
	memory_entries_clear(&matched);
	return list;
}

static void
refuse_match(const struct memory_change *change, const struct memory_operation *operation,
    const struct memory_entries *entries, enum memory_match match, struct refusal *refusal)
{
	const char *name = memory_action_name(operation->action);

	if (*operation->old_text == '\0') {
		refuse(refusal, true, change->batch,
		    "'%s' needs old_text, a short text that only the entry to %s has. Send the "
		    "call again with a part of one of current_entries.",
		    name, name);
	} else if (match == MEMORY_MATCH_NONE) {
		refuse(refusal, true, true,
		    "No entry matched '%.200s'. Look at current_entries and send the exact "
		    "text "
		    "of the entry to %s.",
		    operation->old_text, name);
	} else {
		refuse(refusal, false, change->batch,
		    "Multiple entries matched '%.200s'. Be more specific.",
		    operation->old_text);
		refusal->more = json_object_new_object();
		json_set(refusal->more, "matches", previews(entries, operation->old_text));
	}
}

/* 0, or -1 with a refusal. `*message` tells what was done. */
static int
apply(const struct memory_change *change, const struct memory_operation *operation,
    struct memory_entries *entries, const char **message, struct refusal *refusal)
{
	enum memory_match match = MEMORY_MATCH_NONE;
	size_t index = 0;

	*message = done[operation->action];
	if (operation->action == MEMORY_ADD) {
		if (memory_entries_has(entries, operation->content))
			*message = "Entry already exists (no duplicate added).";
		memory_entries_add(entries, operation->content);
		return 0;
	}
	if (*operation->old_text != '\0')
		match = memory_entries_find(entries, operation->old_text, &index);
	if (match != MEMORY_MATCH_ONE) {
		refuse_match(change, operation, entries, match, refusal);
		return -1;
	}
	if (operation->action == MEMORY_REPLACE)
		memory_entries_replace(entries, index, operation->content);
	else
		memory_entries_remove(entries, index);
	return 0;
}

static int
apply_all(const struct memory_change *change, struct memory_entries *entries,
    const char **message, struct refusal *refusal)
{
	struct buffer text = BUFFER_EMPTY;
	size_t i;

	for (i = 0; i < change->count; i++) {
		if (apply(change, &change->operations[i], entries, message, refusal) == 0)
			continue;
		if (change->batch) {
			buffer_printf(&text, "Operation %zu: %s Nothing was changed.", i + 1,
			    buffer_text(&refusal->text));
			buffer_free(&refusal->text);
			refusal->text = text;
		}
		return -1;
	}
	return 0;
}

static void
append_usage(struct buffer *text, size_t characters, size_t limit)
{
	memory_append_number(text, characters);
	buffer_append_byte(text, '/');
	memory_append_number(text, limit);
}

/* What is there must fit, unless it does not become longer. */
static int
check_limit(
    size_t before, const struct memory_entries *entries, size_t limit, struct refusal *refusal)
{
	struct buffer usage = BUFFER_EMPTY;
	size_t after = memory_entries_characters(entries);

	if (after <= limit || after <= before)
		return 0;
	append_usage(&usage, after, limit);
	refuse(refusal, true, true,
	    "Memory would have %s characters, which is over the limit. Make room first: merge "
	    "entries with 'replace' or 'remove' what is old or unimportant (see "
	    "current_entries), best together with this change in one call with operations.",
	    buffer_text(&usage));
	buffer_free(&usage);
	return -1;
}

/* Another program has put something there that a change would destroy. */
static int
check_shape(struct memory_file *file, size_t limit, struct refusal *refusal)
{
	struct buffer copy = BUFFER_EMPTY, error = BUFFER_EMPTY;
	const char *reason = file->damage;

	if (reason == NULL && memory_entries_longest(&file->entries) > limit)
		reason = "it has an entry that is longer than the whole file may be";
	if (reason == NULL)
		return 0;
	if (memory_file_keep(file, &copy, &error) == -1)
		buffer_printf(&copy, " (which failed: %s)", buffer_text(&error));
	refuse(refusal, false, false,
	    "%s was not changed: %s, so it was probably changed by hand or by another program. "
	    "A copy was made: %s. Tell the user to make it a list of entries divided by lines "
	    "with a section sign.",
	    file->path, reason, buffer_text(&copy));
	refusal->more = json_object_new_object();
	json_set_text(refusal->more, "drift_backup", buffer_text(&copy));
	buffer_free(&copy);
	buffer_free(&error);
	return -1;
}

static struct json_object *
success(const struct memory_change *change, const struct memory_file *file, size_t limit,
    const char *message)
{
	struct json_object *result = json_object_new_object();
	struct buffer text = BUFFER_EMPTY;
	size_t characters = memory_entries_characters(&file->entries);

	json_set_boolean(result, "success", true);
	json_set_boolean(result, "done", true);
	json_set_text(result, "target", memory_target_name(change->target));
	buffer_printf(&text, "%u%% — ", memory_percent(characters, limit));
	append_usage(&text, characters, limit);
	buffer_append_text(&text, " chars");
	json_set_text(result, "usage", buffer_text(&text));
	json_set_integer(result, "entry_count", (int64_t)file->entries.count);
	buffer_clear(&text);
	if (change->batch)
		buffer_printf(&text, "Applied %zu operation%s.", change->count,
		    change->count == 1 ? "" : "s");
	json_set_text(result, "message", change->batch ? buffer_text(&text) : message);
	json_set(result, "entries", memory_prompt_entries(&file->entries, change->target));
	json_set_text(result, "note",
	    "Saved; do not repeat it. The system prompt shows it "
	    "from the next session on.");
	buffer_free(&text);
	return result;
}

static struct json_object *
give_up(unsigned failures)
{
	struct json_object *result = json_object_new_object();
	struct buffer text = BUFFER_EMPTY;

	json_set_boolean(result, "success", false);
	json_set_boolean(result, "done", true);
	buffer_printf(&text,
	    "Changing memory has failed %u times in this turn. Stop trying: leave memory as it "
	    "is and go on with the answer to the user.",
	    failures);
	json_set_text(result, "error", buffer_text(&text));
	buffer_free(&text);
	return result;
}

static struct json_object *
failure(const struct memory_change *change, const struct memory_file *file, size_t before,
    struct memory *memory, struct refusal *refusal)
{
	struct json_object *result = refusal->more;
	struct buffer usage = BUFFER_EMPTY;
	unsigned failures = refusal->counts ? memory_failed(memory) : 0;

	if (failures > FAILURES_MAX) {
		json_object_put(result);
		return give_up(failures);
	}
	if (result == NULL)
		result = json_object_new_object();
	json_set_boolean(result, "success", false);
	json_set_text(result, "error", buffer_text(&refusal->text));
	if (refusal->entries) {
		json_set(result, "current_entries",
		    memory_prompt_entries(&file->entries, change->target));
		append_usage(&usage, before, memory_limit(memory, change->target));
		json_set_text(result, "usage", buffer_text(&usage));
	}
	buffer_free(&usage);
	return result;
}

/* A second list of the same entries. */
static void
copy_entries(const struct memory_entries *from, struct memory_entries *to)
{
	size_t i;

	for (i = 0; i < from->count; i++)
		memory_entries_add(to, from->items[i]);
}

static bool
same_entries(const struct memory_entries *one, const struct memory_entries *other)
{
	size_t i;

	for (i = 0; i < one->count && i < other->count; i++)
		if (strcmp(one->items[i], other->items[i]) != 0)
			return false;
	return one->count == other->count;
}

/* 0, or -1 with a refusal; then `file` has the entries that are on disk. */
static int
change_file(const struct memory_change *change, struct memory_file *file, size_t limit,
    const char **message, struct refusal *refusal)
{
	struct memory_entries old = file->entries, changed = {NULL, 0};
	struct buffer error = BUFFER_EMPTY;

	copy_entries(&old, &changed);
	if (apply_all(change, &changed, message, refusal) == 0 &&
	    check_limit(memory_entries_characters(&old), &changed, limit, refusal) == 0) {
		file->entries = changed;
		changed = old;
		if (!same_entries(&changed, &file->entries) &&
		    memory_file_save(file, change->target, &error) == -1)
			refuse(refusal, false, false, "%s", buffer_text(&error));
	}
	memory_entries_clear(&changed);
	buffer_free(&error);
	return refusal->text.length == 0 ? 0 : -1;
}

struct json_object *
memory_change_run(
    const struct memory_change *change, const struct tool_context *context, bool *failed)
{
	struct memory *memory = context->memory;
	struct refusal refusal = {.entries = false};
	struct memory_file file;
	struct json_object *result;
	size_t limit = memory_limit(memory, change->target), before;
	const char *message = "";

	(void)memory_file_read(context, change->target, &file, &refusal.text);
	before = memory_entries_characters(&file.entries);
	if (refusal.text.length == 0 && check_shape(&file, limit, &refusal) == 0)
		(void)change_file(change, &file, limit, &message, &refusal);
	*failed = refusal.text.length > 0;
	if (*failed)
		result = failure(change, &file, before, memory, &refusal);
	else
		result = success(change, &file, limit, message);
	if (!*failed)
		memory_succeeded(memory);
	buffer_free(&refusal.text);
	memory_file_clear(&file);
	return result;
}
