/*
 * Memory as a model sees it. It reads the files and never writes one; what has suspicious
 * wording is left out wherever a model would read it.
 */
#include <config.h>

#include "worker/tools/memory_prompt.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/log.h"
#include "common/utf8.h"
#include "worker/tools/memory_file.h"
#include "worker/tools/threat_scan.h"
#include "worker/tools/tool.h"

#include <stdlib.h>
#include <string.h>

/* Files that another program has made too long are cut in the prompt: 70 % from the head and
 * 20 % from the tail of this much, or of twice the limit (as in Hermes). */
#define SHOWN_LEAST 4000
#define RULE_WIDTH 46

static const char *const headings[MEMORY_TARGETS] = {
    [MEMORY_NOTES] = "MEMORY (your personal notes)",
    [MEMORY_USER] = "USER PROFILE (who the user is)",
};

/* The entry, or what stands in its place; the caller frees it. */
static char *
safe_text(const char *entry, enum memory_target target)
{
	struct buffer names = BUFFER_EMPTY;
	size_t length = strlen(entry);
	char *text = NULL;

	if (length > THREAT_SCAN_MAX)
		text =
		    xasprintf("[BLOCKED: an entry of %s is too long to be checked (%zu bytes). "
			      "Remove it with the memory tool.]",
			memory_file_name(target), length);
	else if (threat_scan(entry, length, &names))
		text =
		    xasprintf("[BLOCKED: an entry of %s has suspicious wording: %s. Remove it "
			      "with the memory tool.]",
			memory_file_name(target), buffer_text(&names));
	else
		text = xstrdup(entry);
	if (names.length > 0)
		log_warning("memory", "an entry of %s is kept from the model: %s",
		    memory_file_name(target), buffer_text(&names));
	buffer_free(&names);
	return text;
}

struct json_object *
memory_prompt_entries(const struct memory_entries *entries, enum memory_target target)
{
	struct json_object *list = json_object_new_array();
	char *text;
	size_t i;

	for (i = 0; i < entries->count; i++) {
		text = safe_text(entries->items[i], target);
		json_object_array_add(list, json_new_text(text));
		free(text);
	}
	return list;
}

static void
append_cut(struct buffer *prompt, const char *text, size_t length, size_t limit)
{
	size_t characters = utf8_count(text, length);
	size_t most = 2 * limit > SHOWN_LEAST ? 2 * limit : SHOWN_LEAST;
	size_t head, tail;

	if (characters <= most) {
		buffer_append(prompt, text, length);
		return;
	}
	head = utf8_offset(text, length, most * 7 / 10);
	tail = utf8_offset(text, length, characters - most / 5);
	buffer_append(prompt, text, head);
	buffer_printf(prompt,
	    "\n\n[… %zu characters left out: the memory is over its limit; "
	    "shorten it with the memory tool …]\n\n",
	    characters - most * 7 / 10 - most / 5);
	buffer_append(prompt, text + tail, length - tail);
}

static void
append_rule(struct buffer *prompt)
{
	int i;

	for (i = 0; i < RULE_WIDTH; i++)
		buffer_append_text(prompt, "\xe2\x95\x90");
	buffer_append_byte(prompt, '\n');
}

static void
append_block(struct buffer *prompt, enum memory_target target,
    const struct memory_entries *entries, size_t limit)
{
	struct memory_entries safe = {NULL, 0};
	struct buffer text = BUFFER_EMPTY;
	size_t characters, i;

	safe.items = xcalloc(entries->count, sizeof *safe.items);
	for (i = 0; i < entries->count; i++)
		safe.items[safe.count++] = safe_text(entries->items[i], target);
	memory_entries_join(&safe, &text);
	characters = memory_entries_characters(&safe);
	buffer_append_byte(prompt, '\n');
	append_rule(prompt);
	buffer_printf(
	    prompt, "%s [%u%% — ", headings[target], memory_percent(characters, limit));
	memory_append_number(prompt, characters);
	buffer_append_byte(prompt, '/');
	memory_append_number(prompt, limit);
	buffer_printf(prompt, " chars%s]\n", characters > limit ? ", over the limit" : "");
	append_rule(prompt);
	append_cut(prompt, buffer_text(&text), text.length, limit);
	buffer_append_byte(prompt, '\n');
	memory_entries_clear(&safe);
	buffer_free(&text);
}

void
memory_prompt_append(const struct tool_context *context, struct buffer *prompt)
{
	struct memory_file file;
	struct buffer error = BUFFER_EMPTY;
	int i;

	for (i = 0; i < MEMORY_TARGETS; i++) {
		if (!memory_enabled(context->memory, (enum memory_target)i))
			continue;
		buffer_clear(&error);
		if (memory_file_read(context, (enum memory_target)i, &file, &error) == -1)
			log_warning("memory", "%s", buffer_text(&error));
		else if (file.damage != NULL)
			log_warning("memory", "%s: %s", file.path, file.damage);
		else if (file.entries.count > 0)
			append_block(prompt, (enum memory_target)i, &file.entries,
			    memory_limit(context->memory, (enum memory_target)i));
		memory_file_clear(&file);
	}
	buffer_free(&error);
}
