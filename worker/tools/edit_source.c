/*
 * Sources of edits. A text that the user has not saved is never lost for one on the disk, and
 * an old text that an editor still shows never wins over what was written since.
 */
#include <config.h>

#include "worker/tools/edit_source.h"

#include "common/alloc.h"
#include "common/utf8.h"
#include "worker/tools/editor.h"
#include "worker/tools/editor_texts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void
edit_source_note(struct edit_change *change, const char *format, ...)
{
	va_list arguments;

	if (change->note.length > 0)
		(void)buffer_append_byte(&change->note, ' ');
	va_start(arguments, format);
	(void)buffer_vprintf(&change->note, format, arguments);
	va_end(arguments);
}

/* The editor shows what was on the disk before it was changed there. */
static bool
is_stale(const struct edit_change *change, const struct tool_context *context,
    const struct editor_reading *reading)
{
	uint64_t clean = file_stamps_clean(context->stamps, change->target.real);

	return change->on_disk && clean != 0 &&
	       clean == editor_text_hash(reading->text, reading->length);
}

static void
take_unsaved(struct edit_change *change, const struct editor_reading *reading)
{
	change->unsaved = change->existed = change->exists = true;
	change->disk = change->old;
	change->old = (struct buffer)BUFFER_EMPTY;
	editor_style_add(change->style, reading->text, reading->length, &change->old);
}

static void
take_text(struct edit_change *change, const struct tool_context *context,
    const struct editor_reading *reading)
{
	const char *disk = buffer_text(&change->old);
	size_t length = change->old.length;

	if (!change->on_disk && reading->length == 0)
		return; /* so some editors say that there is no such file */
	if (!utf8_valid(disk, length) || memchr(disk, '\0', length) != NULL)
		return; /* what the editor made of it cannot be compared */
	change->in_editor = true;
	change->style = editor_style_find(disk, length, reading->text, reading->length);
	if (change->on_disk && editor_text_same(disk, length, reading->text, reading->length))
		return;
	if (is_stale(change, context, reading)) {
		change->in_editor = false;
		change->stale = true;
		edit_source_note(change,
		    "%s: the editor still shows an older text; what counted, and was changed, "
		    "is the newer file on the disk.",
		    change->target.shown);
	} else {
		take_unsaved(change, reading);
	}
}

int
edit_source_take(struct edit_change *change, const struct editor_texts *texts,
    const struct tool_context *context, struct buffer *error)
{
	const struct editor_reading *reading = editor_texts_find(texts, change->target.real);

	if (reading == NULL)
		return 0;
	if (reading->refused && change->on_disk) {
		(void)buffer_printf(error,
		    "The editor refused to show %s: %s. It is unchanged.", change->target.shown,
		    reading->note);
		return -1;
	}
	if (reading->text != NULL)
		take_text(change, context, reading);
	else if (change->on_disk)
		edit_source_note(change, "%s", reading->note);
	return 0;
}

/* 0 for a text that no editor gets. */
static uint64_t
hash_of(const struct buffer *bytes)
{
	return bytes->length <= EDITOR_TEXT_MAX
		   ? editor_text_hash(buffer_text(bytes), bytes->length)
		   : 0;
}

enum file_seen
edit_source_seen(const struct edit_change *change, const struct tool_context *context)
{
	const char *path = change->target.real;
	enum file_seen seen = FILE_CHANGED;
	uint64_t hash = context->editor != NULL ? hash_of(&change->old) : 0;

	if (hash != 0 && change->existed)
		seen = file_stamps_query_text(context->stamps, path, hash);
	if (seen == FILE_CHANGED && !change->unsaved)
		seen = file_stamps_query(
		    context->stamps, path, change->existed ? &change->status : NULL);
	return seen;
}

void
edit_source_written(const struct edit_change *change, const struct tool_context *context,
    const struct edit_written *written)
{
	const char *path = change->target.real;
	bool whole = change->whole || change->seen == FILE_SEEN;
	struct file_text text = {.saved = written->saved};

	if (!change->exists) {
		file_stamps_forget(context->stamps, path);
		return;
	}
	if (!whole && change->seen != FILE_SEEN_PARTLY)
		return;
	text.hash = context->editor != NULL ? hash_of(&change->text) : 0;
	if (text.hash == 0) {
		file_stamps_record(context->stamps, path, &written->done, whole);
		return;
	}
	/* Until it has noticed a write to the disk, the editor has what it had. */
	if (written->through && written->saved)
		text.clean = text.hash;
	else if (change->in_editor && !change->unsaved)
		text.clean = hash_of(&change->old);
	file_stamps_record_text(context->stamps, path, &written->done, whole, &text);
}

void
edit_source_notes(const struct edit_proposal *proposal, struct json_object *result)
{
	struct buffer text = BUFFER_EMPTY;
	size_t i;

	for (i = 0; i < proposal->count; i++)
		if (proposal->changes[i]->note.length > 0)
			(void)buffer_printf(&text, "%s%s", text.length > 0 ? " " : "",
			    buffer_text(&proposal->changes[i]->note));
	if (text.length > 0)
		json_set(result, "_editor", json_new_bytes(buffer_text(&text), text.length));
	buffer_free(&text);
}
