/*
 * Applying a proposal step by step, because the editor answers later. It never writes over
 * what it has not compared, never does on the disk what the editor refused, and never claims
 * to know what an editor that did not answer has done.
 */
#include <config.h>

#include "worker/tools/edit_apply.h"
#include "worker/tools/edit_checkpoint.h"

#include "common/alloc.h"
#include "common/utf8.h"
#include "worker/tools/edit_landed.h"
#include "worker/tools/edit_source.h"
#include "worker/tools/editor.h"
#include "worker/tools/file_save.h"
#include "worker/tools/tool.h"

#include <stdlib.h>
#include <string.h>

struct edit_apply {
	struct edit_apply **place; /* where the owner keeps it */
	struct edit_proposal *proposal;
	const struct tool_context *context;
	edit_applied applied;
	void *arg;
	size_t at;    /* the change that is being looked at */
	bool writing; /* all were compared */
	struct edit_written *steps;
	struct editor_request *request;
	struct buffer error;
	bool left_changed; /* something could not be undone */
};

static void verify_next(struct edit_apply *apply);
static void write_next(struct edit_apply *apply);
static void undo_next(struct edit_apply *apply);

static void
release(struct edit_apply *apply)
{
	buffer_free(&apply->error);
	free(apply->steps);
	free(apply);
}

static void
finish(struct edit_apply *apply, bool failed)
{
	*apply->place = NULL;
	apply->applied(failed ? buffer_text(&apply->error) : NULL, apply->arg);
	release(apply);
}

static struct edit_change *
current(const struct edit_apply *apply)
{
	return apply->proposal->changes[apply->at];
}

static void
succeed(struct edit_apply *apply)
{
	const struct edit_written *step;
	size_t i;

	for (i = 0; i < apply->proposal->count; i++) {
		step = &apply->steps[i];
		if (step->written)
			edit_source_written(apply->proposal->changes[i], apply->context, step);
	}
	finish(apply, false);
}

/* The editor can hold this text, and what the file had before. */
static bool
goes_through(const struct edit_apply *apply, const struct edit_change *change)
{
	const struct editor *editor = apply->context->editor;
	const struct buffer *disk = edit_change_disk(change), *text = &change->text;

	return editor->writes && change->exists && !change->stale &&
	       (change->existed || change->mode == FILE_SAVE_DEFAULT_MODE) &&
	       text->length <= EDITOR_TEXT_MAX && !text->failed &&
	       utf8_valid(buffer_text(text), text->length) &&
	       memchr(buffer_text(text), '\0', text->length) == NULL &&
	       utf8_valid(buffer_text(disk), disk->length) &&
	       memchr(buffer_text(disk), '\0', disk->length) == NULL;
}

/* ---- comparing -------------------------------------------------------------------------- */

static void
on_verified(const struct editor_reply *reply, void *arg)
{
	struct edit_apply *apply = arg;
	const struct edit_change *change = current(apply);

	apply->request = NULL;
	if (reply->outcome != EDITOR_DONE)
		(void)buffer_printf(&apply->error,
		    "The editor could not be asked what it has of %s now (%s). Nothing was "
		    "written; try again.",
		    change->target.shown, reply->reason);
	else if (!editor_text_same(
		     reply->text, reply->length, buffer_text(&change->old), change->old.length))
		(void)buffer_printf(&apply->error,
		    "%s was changed in the editor in the meantime. Nothing was written; read "
		    "it again.",
		    change->target.shown);
	else {
		apply->at++;
		verify_next(apply);
		return;
	}
	finish(apply, true);
}

static void
verify_next(struct edit_apply *apply)
{
	const struct editor *editor = apply->context->editor;
	const struct editor_reply none = {.outcome = EDITOR_FAILED, .reason = "it is silent"};
	const char *why;
	size_t i;

	for (; apply->at < apply->proposal->count; apply->at++) {
		if (edit_change_verify(current(apply), &apply->error) == -1) {
			finish(apply, true);
			return;
		}
		if (!current(apply)->in_editor)
			continue;
		apply->request = editor->read(
		    current(apply)->target.real, 1, 0, on_verified, apply, &why, editor->arg);
		if (apply->request == NULL)
			on_verified(&none, apply);
		return;
	}
	apply->at = 0;
	apply->writing = true;
	for (i = 0; i < apply->proposal->count; i++)
		if (edit_change_differs(apply->proposal->changes[i]))
			edit_checkpoint_keep(apply->proposal->changes[i], apply->context,
			    &apply->proposal->unkept);
	write_next(apply);
}

/* ---- writing ---------------------------------------------------------------------------- */

static void
go_on(struct edit_apply *apply)
{
	apply->steps[apply->at].written = true;
	apply->at++;
	write_next(apply);
}

static void
write_locally(struct edit_apply *apply)
{
	struct edit_change *change = current(apply);
	struct edit_written *step = &apply->steps[apply->at];

	/* The editor may have been asked in between. */
	if (edit_change_verify(change, &apply->error) == -1 ||
	    edit_change_write(change, step, &apply->error) == -1) {
		undo_next(apply);
		return;
	}
	if (change->unsaved && change->exists)
		edit_source_note(change,
		    "%s: what the user had not saved in the editor was saved with the edit.",
		    change->target.shown);
	go_on(apply);
}

static void
after_silence(struct edit_apply *apply, const char *reason)
{
	const struct edit_change *change = current(apply);
	struct buffer ignored = BUFFER_EMPTY;
	bool unchanged = edit_change_verify(change, &ignored) == 0;

	(void)buffer_printf(&apply->error,
	    "The editor was asked to change %s and gave no answer (%s): whether its text was "
	    "changed is not known. The file on the disk %s. It was not written here, to not "
	    "overwrite anything. Read it again before you go on.",
	    change->target.shown, reason,
	    unchanged ? "is as it was" : "was changed, but not to the new text");
	buffer_free(&ignored);
	apply->left_changed = true;
	undo_next(apply);
}

static void
forget_folders(struct edit_change *change)
{
	file_save_remove_folders(change->target.real, change->folders);
	change->folders = 0;
}

static void
on_written(const struct editor_reply *reply, void *arg)
{
	struct edit_apply *apply = arg;
	struct edit_change *change = current(apply);
	struct edit_written *step = &apply->steps[apply->at];
	const char *shown = change->target.shown;
	bool had = edit_landed_before(change), saved = edit_landed(change, step) && !had;

	apply->request = NULL;
	step->through = reply->outcome == EDITOR_DONE || saved;
	if (reply->outcome == EDITOR_DONE) {
		if (!step->saved)
			edit_source_note(change,
			    "%s: the edit is in the editor, which has not saved it yet; "
			    "commands still see the old file.",
			    shown);
		go_on(apply);
	} else if (saved) {
		edit_source_note(change,
		    "%s: the editor did not confirm the edit (%s), but the file on the disk "
		    "has it.",
		    shown, reply->reason);
		go_on(apply);
	} else if (reply->outcome == EDITOR_SILENT) {
		after_silence(apply, reply->reason);
	} else if (reply->outcome == EDITOR_REFUSED) {
		(void)buffer_printf(&apply->error,
		    "The editor refused to change %s: %s. It was not written. Do not try to "
		    "reach the same by other means.",
		    shown, reply->reason);
		forget_folders(change);
		undo_next(apply);
	} else {
		forget_folders(change);
		edit_source_note(change,
		    "%s: the editor could not take the edit (%s); it was written to the disk.",
		    shown, reply->reason);
		write_locally(apply);
	}
}

/* Asks the editor; false when the disk must do. */
static bool
write_through(struct edit_apply *apply, const char **why)
{
	const struct editor *editor = apply->context->editor;
	struct edit_change *change = current(apply);
	struct buffer text = BUFFER_EMPTY;

	editor_style_remove(
	    change->style, buffer_text(&change->text), change->text.length, &text);
	apply->request = editor->write(change->target.real, buffer_text(&text), text.length,
	    on_written, apply, why, editor->arg);
	buffer_free(&text);
	return apply->request != NULL;
}

static void
write_next(struct edit_apply *apply)
{
	struct edit_change *change;
	const char *why = NULL;

	while (apply->at < apply->proposal->count && !edit_change_differs(current(apply)))
		apply->at++;
	if (apply->at == apply->proposal->count) {
		succeed(apply);
		return;
	}
	change = current(apply);
	if (goes_through(apply, change)) {
		if (!change->on_disk &&
		    file_save_make_folders(change->target.real, change->target.shown,
			&change->folders, &apply->error) == -1) {
			undo_next(apply);
			return;
		}
		if (write_through(apply, &why))
			return;
		forget_folders(change);
	}
	if (why != NULL && change->note.length == 0)
		edit_source_note(change,
		    "%s: the editor could not be asked (%s); the edit was written to the "
		    "disk.",
		    change->target.shown, why);
	write_locally(apply);
}

/* ---- undoing ---------------------------------------------------------------------------- */

static void
note_left(struct edit_apply *apply, const char *reason)
{
	apply->left_changed = true;
	(void)buffer_printf(
	    &apply->error, "\n%s is left changed: %s", current(apply)->target.shown, reason);
}

static void
on_undone(const struct editor_reply *reply, void *arg)
{
	struct edit_apply *apply = arg;

	apply->request = NULL;
	if (reply->outcome != EDITOR_DONE)
		note_left(apply, reply->reason);
	else if (!edit_landed_back(current(apply), &apply->steps[apply->at]))
		note_left(apply, "the disk has not what it had; the editor has its old text.");
	undo_next(apply);
}

/* Gives the editor its old text back; false when it cannot be asked. */
static bool
undo_through(struct edit_apply *apply)
{
	const struct editor *editor = apply->context->editor;
	const struct edit_change *change = current(apply);
	struct buffer text = BUFFER_EMPTY;
	const char *why;

	editor_style_remove(
	    change->style, buffer_text(&change->old), change->old.length, &text);
	apply->request = editor->write(change->target.real, buffer_text(&text), text.length,
	    on_undone, apply, &why, editor->arg);
	buffer_free(&text);
	return apply->request != NULL;
}

/* Undoes the changes before `at`, last first. */
static void
undo_next(struct edit_apply *apply)
{
	struct buffer reason = BUFFER_EMPTY;
	const struct edit_written *step;
	bool asked = false;

	while (apply->at > 0 && !asked) {
		apply->at--;
		step = &apply->steps[apply->at];
		if (!step->written)
			continue;
		buffer_clear(&reason);
		if (step->through && current(apply)->existed)
			asked = undo_through(apply);
		else if (step->through && !step->saved)
			note_left(apply, "the editor has it as a new text.");
		else if (edit_change_undo(current(apply), &reason) == -1)
			note_left(apply, buffer_text(&reason));
		if (step->through && current(apply)->existed && !asked)
			note_left(apply, "the editor cannot be asked now.");
	}
	buffer_free(&reason);
	if (asked)
		return;
	if (!apply->left_changed)
		(void)buffer_append_text(&apply->error, " Every file is as it was before.");
	finish(apply, true);
}

/* ---- from outside ----------------------------------------------------------------------- */

static bool
uses_editor(const struct edit_apply *apply)
{
	const struct edit_proposal *proposal = apply->proposal;
	size_t i;

	if (apply->context->editor == NULL)
		return false;
	for (i = 0; i < proposal->count; i++)
		if (proposal->changes[i]->in_editor ||
		    (edit_change_differs(proposal->changes[i]) &&
			goes_through(apply, proposal->changes[i])))
			return true;
	return false;
}

void
edit_apply_start(struct edit_apply **place, struct edit_proposal *proposal,
    const struct tool_context *context, edit_applied applied, void *arg)
{
	struct edit_apply *apply = xcalloc(1, sizeof *apply);
	bool failed;

	apply->place = place;
	apply->proposal = proposal;
	apply->context = context;
	apply->applied = applied;
	apply->arg = arg;
	apply->steps = xcalloc(proposal->count + 1, sizeof *apply->steps);
	*place = apply;
	if (uses_editor(apply)) {
		verify_next(apply);
		return;
	}
	failed = edit_proposal_apply(proposal, context, &apply->error) == -1;
	finish(apply, failed);
}

/* What is known of an edit that is broken off. */
static void
tell_broken_off(const struct edit_apply *apply, struct buffer *text)
{
	size_t i;

	(void)buffer_append_text(text, "Cancelled by the user.");
	if (apply->request != NULL && apply->writing)
		(void)buffer_printf(text,
		    " The editor had been asked to change %s; whether it has done so is not "
		    "known.",
		    current(apply)->target.shown);
	for (i = 0; i < apply->proposal->count; i++)
		if (apply->steps[i].written)
			(void)buffer_printf(text, " %s was changed.",
			    apply->proposal->changes[i]->target.shown);
}

/* What was changed before it was broken off is the model's own. */
static void
record_written(const struct edit_apply *apply)
{
	size_t i;

	for (i = 0; i < apply->proposal->count; i++)
		if (apply->steps[i].written)
			edit_source_written(
			    apply->proposal->changes[i], apply->context, &apply->steps[i]);
}

void
edit_apply_free(struct edit_apply **place)
{
	struct edit_apply *apply = *place;

	if (apply == NULL)
		return;
	*place = NULL;
	if (apply->request != NULL)
		apply->context->editor->cancel(apply->request);
	release(apply);
}

void
edit_apply_cancel(struct edit_apply **place, struct tool_run *run)
{
	struct buffer text = BUFFER_EMPTY;

	if (*place != NULL) {
		tell_broken_off(*place, &text);
		record_written(*place);
	}
	edit_apply_free(place);
	tool_finish_error(run, "%s", buffer_text(&text));
	buffer_free(&text);
}
