/*
 * Permission for edits. Every real target is looked at, not only the path as written; it must
 * never let a sensitive file through without asking, in any mode, and one file that may not
 * be changed decides for all files of the edit.
 */
#include <config.h>

#include "worker/tools/edit_permission.h"

#include "common/alloc.h"
#include "common/utf8.h"
#include "worker/tools/fenced_text.h"
#include "worker/tools/grants.h"
#include "worker/tools/unified_diff.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_WHOLE_MAX (200u << 10) /* bytes of a text that a card shows as a whole */
#define SHOWN_CONTEXT 3		     /* lines around the change when it does not */
#define SHOWN_TEXT_MAX 20000	     /* characters of a diff shown as text */
#define TITLE_FILES 3		     /* files that a title names */

#define ALWAYS_ASK (PATH_SENSITIVE | PATH_SECRET | PATH_INSTRUCTIONS)

bool
edit_permission_planning(struct tool_run *run)
{
	if (run->context->mode != SESSION_MODE_PLAN)
		return false;
	run->permission.verdict = TOOL_REFUSED;
	free(run->permission.reason);
	run->permission.reason = xstrdup("The session is in plan mode: nothing is changed. "
					 "Describe the edit in the plan instead.");
	return true;
}

static char *
question_for(const struct edit_proposal *proposal)
{
	struct buffer question = BUFFER_EMPTY;
	size_t i;

	for (i = 0; i < proposal->count; i++)
		(void)buffer_printf(&question, "%sedit:%s", i > 0 ? "\n" : "",
		    proposal->changes[i]->target.real);
	return buffer_take(&question);
}

/* The user has refused to change one of the files, or this set, for the whole session. */
static bool
refused(const struct grants *grants, const struct edit_proposal *proposal, const char *question)
{
	char *single;
	bool result = grants_refused(grants, question);
	size_t i;

	for (i = 0; i < proposal->count && !result; i++) {
		single = xasprintf("edit:%s", proposal->changes[i]->target.real);
		result = grants_refused(grants, single);
		free(single);
	}
	return result;
}

/* Why it is asked whatever the mode; NULL when no file is sensitive. */
static char *
sensitive_reason(const struct edit_proposal *proposal)
{
	const struct path_target *target;
	size_t i;

	for (i = 0; i < proposal->count; i++) {
		target = &proposal->changes[i]->target;
		if ((target->flags & ALWAYS_ASK) != 0)
			return xasprintf("%s is sensitive: %s.", target->shown,
			    target->label != NULL ? target->label : "a protected file");
	}
	return NULL;
}

static bool
goes_through(const struct tool_context *context, const struct edit_proposal *proposal)
{
	const struct path_target *target;
	size_t i;

	if (context->mode == SESSION_MODE_DONT_ASK)
		return true;
	for (i = 0; i < proposal->count; i++) {
		target = &proposal->changes[i]->target;
		if (!grants_cover_edit(context->grants, target->real) &&
		    !(context->mode == SESSION_MODE_ACCEPT_EDITS && target->inside))
			return false;
	}
	return true;
}

/* The folder that "always" would cover for this file: the session's root that holds it, else
 * the file's own folder. The caller frees it. */
static char *
grant_folder(const struct tool_context *context, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t i;

	for (i = 0; i < context->root_count; i++)
		if (path_rules_below(context->roots[i], path))
			return xstrdup(context->roots[i]);
	return xstrndup(path, slash != NULL ? (size_t)(slash - path) : 0);
}

/* Offers "always" when one folder covers all files, and that is not everything. */
static void
offer_grant(struct tool_run *run, const struct edit_proposal *proposal)
{
	char *folder = grant_folder(run->context, proposal->changes[0]->target.real);
	char *shown;
	size_t i;

	for (i = 0; i < proposal->count; i++)
		if (folder[0] != '/' || folder[1] == '\0' ||
		    !path_rules_below(folder, proposal->changes[i]->target.real)) {
			free(folder);
			return;
		}
	shown = utf8_clean(folder, strlen(folder), NULL);
	run->permission.grant = xasprintf("edit:%s", folder);
	run->permission.grant_label = xasprintf("Always allow edits below %s in this session",
	    shown != NULL ? shown : "this folder");
	free(shown);
	free(folder);
}

void
edit_permission_decide(struct tool_run *run, const struct edit_proposal *proposal)
{
	struct tool_permission *permission = &run->permission;
	size_t i;

	if (proposal->count == 0 || edit_permission_planning(run))
		return;
	for (i = 0; i < proposal->count; i++)
		tool_permission_path(permission, proposal->changes[i]->target.real);
	permission->question = question_for(proposal);
	if (refused(run->context->grants, proposal, permission->question)) {
		permission->verdict = TOOL_REFUSED;
		permission->reason = xstrdup("The user has refused to change this file for the "
					     "rest of the session; the file is unchanged.");
		return;
	}
	permission->reason = sensitive_reason(proposal);
	if (permission->reason != NULL) {
		permission->verdict = TOOL_ASK;
	} else if (goes_through(run->context, proposal)) {
		permission->verdict = TOOL_ALLOWED;
	} else {
		permission->verdict = TOOL_ASK;
		offer_grant(run, proposal);
	}
}

static const char *
verb_for(const struct edit_change *change, const char *verb)
{
	if (!change->exists)
		return "Delete";
	return change->existed ? verb : "Write";
}

static void
set_title(struct tool_run *run, const struct edit_proposal *proposal, const char *verb)
{
	const struct edit_change *change = proposal->changes[0];
	struct buffer names = BUFFER_EMPTY;
	size_t i;

	if (proposal->count == 1) {
		tool_card_title(run, "%s %s%s", verb_for(change, verb), change->target.shown,
		    change->link ? " (through a link)" : "");
		return;
	}
	for (i = 0; i < proposal->count && i < TITLE_FILES; i++)
		(void)buffer_printf(
		    &names, "%s%s", i > 0 ? ", " : "", proposal->changes[i]->target.shown);
	if (proposal->count > TITLE_FILES)
		(void)buffer_printf(&names, " and %zu more", proposal->count - TITLE_FILES);
	tool_card_title(run, "Edit %s", buffer_text(&names));
	buffer_free(&names);
}

static void
find_sides(const struct edit_change *change, struct unified_side *old, struct unified_side *new)
{
	struct edit_text before = edit_change_before(change);
	struct edit_text after = edit_change_content(change);

	old->text = before.bytes;
	old->length = before.length;
	new->text = after.bytes;
	new->length = change->exists ? after.length : 0;
}

/* A change that is too big for a diff of texts, as lines. */
static void
show_as_text(struct tool_contents *contents, const struct edit_change *change,
    const struct unified_side *old, const struct unified_side *new)
{
	struct buffer diff = BUFFER_EMPTY, text = BUFFER_EMPTY;

	unified_diff_append(&diff, change->target.shown, old, new);
	fenced_text_append(&text, "diff", buffer_text(&diff), diff.length, SHOWN_TEXT_MAX);
	tool_contents_text(contents, buffer_text(&text), text.length);
	buffer_free(&diff);
	buffer_free(&text);
}

static void
show_diff(struct tool_contents *contents, const struct edit_change *change)
{
	struct unified_side old, new;
	struct unified_span span = {0};
	char *old_text, *new_text;
	long line;

	find_sides(change, &old, &new);
	span.old_end = old.length;
	span.new_end = new.length;
	if (old.length > SHOWN_WHOLE_MAX || new.length > SHOWN_WHOLE_MAX)
		unified_diff_region(&old, &new, SHOWN_CONTEXT, &span, &line);
	if (span.old_end - span.old_start > SHOWN_WHOLE_MAX ||
	    span.new_end - span.new_start > SHOWN_WHOLE_MAX) {
		show_as_text(contents, change, &old, &new);
		return;
	}
	old_text = xstrndup(old.text + span.old_start, span.old_end - span.old_start);
	new_text = xstrndup(new.text + span.new_start, span.new_end - span.new_start);
	tool_contents_diff(
	    contents, change->target.real, change->existed ? old_text : NULL, new_text);
	free(old_text);
	free(new_text);
}

void
edit_permission_diffs(struct tool_contents *contents, const struct edit_proposal *proposal)
{
	size_t i;

	for (i = 0; i < proposal->count; i++)
		if (edit_change_differs(proposal->changes[i]))
			show_diff(contents, proposal->changes[i]);
	if (proposal->unkept != NULL)
		tool_contents_text(contents, proposal->unkept, strlen(proposal->unkept));
}

void
edit_permission_card(
    struct tool_run *run, const struct edit_proposal *proposal, const char *verb)
{
	struct unified_side old, new;
	struct unified_span span;
	const struct edit_change *change;
	size_t i;
	long line;

	set_title(run, proposal, verb);
	for (i = 0; i < proposal->count; i++) {
		change = proposal->changes[i];
		find_sides(change, &old, &new);
		unified_diff_region(&old, &new, 0, &span, &line);
		tool_card_location(
		    run, change->target.real, edit_change_differs(change) ? line : 0);
	}
	edit_permission_diffs(&run->card.contents, proposal);
}
