/*
 * The tool patch: changes parts of files, either one passage given as old and new text or a
 * patch over several files. It must never change anything in a place that is not the only
 * one that can be meant, and never report success without a change or without saying so.
 */
#include <config.h>

#include "worker/tools/edit_apply.h"
#include "worker/tools/edit_hints.h"
#include "worker/tools/edit_match.h"
#include "worker/tools/edit_permission.h"
#include "worker/tools/edit_proposal.h"
#include "worker/tools/edit_report.h"
#include "worker/tools/edit_source.h"
#include "worker/tools/editor_texts.h"
#include "worker/tools/file_stamps.h"
#include "worker/tools/patch_v4a.h"
#include "worker/tools/patch_v4a_parse.h"
#include "worker/tools/tool_rows.h"

#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

#define MISFITS_MAX 3u
#define NUMBERED_LEAST 2 /* lines of a new text that look like output of read_file */

struct patch_state {
	struct edit_proposal proposal;
	struct edit_apply *apply; /* while it is being written */
	const char *strategy;	  /* how the passage was found; a constant */
	size_t replacements;
	bool already;
};

static bool
blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

/* Checks what can be told from the arguments alone; true when the run has ended. */
static bool
refuse_texts(struct tool_run *run, const char *old, const char *new)
{
	struct edit_text old_text = {old, strlen(old)}, new_text = {new, strlen(new)};

	if (blank(old))
		tool_finish_error(run,
		    "old_string has nothing but blanks in it: give the text that "
		    "is to be replaced.");
	else if (strcmp(old, new) == 0)
		tool_finish_error(run,
		    "old_string and new_string are the same: there is nothing to "
		    "change.");
	else if (edit_hints_numbered(&new_text, NUMBERED_LEAST) &&
		 !edit_hints_numbered(&old_text, 1))
		tool_finish_error(run, "new_string has the line numbers that read_file adds "
				       "(\"12|\"): send it without them.");
	else
		return false;
	return true;
}

/* A flag that is none could mean either; true when the run has ended. */
static bool
refuse_flag(struct tool_run *run)
{
	struct json_object *flag = json_member(run->arguments, "replace_all");

	if (flag == NULL || json_object_is_type(flag, json_type_boolean))
		return false;
	tool_finish_error(run, "patch: the argument \"replace_all\" must be true or false.");
	return true;
}

/* Text without the byte order mark that a model may have copied. */
static struct edit_text
without_mark(const char *text)
{
	struct edit_text result = {text, strlen(text)};

	if (strncmp(text, "\xef\xbb\xbf", 3) == 0) {
		result.bytes += 3;
		result.length -= 3;
	}
	return result;
}

/* The third edit in a row that does not fit: the model has another file in mind. */
static const char *
misfit_advice(const struct tool_run *run, const char *path)
{
	return file_stamps_misfit(run->context->stamps, path) >= MISFITS_MAX
		   ? " This did not fit several times in a row: read the file again with "
		     "read_file before the next try."
		   : "";
}

/* Finds the passage and decides the new content; false when the run has ended. */
static bool
replace(struct tool_run *run, struct edit_change *change, const char *old, const char *new)
{
	struct patch_state *state = run->state;
	struct edit_text content = edit_change_content(change);
	struct edit_request request = {.old = without_mark(old),
	    .new = without_mark(new),
	    .replace_all = json_member_boolean(run->arguments, "replace_all", false)};
	struct edit_result result;
	bool done;

	edit_match_apply(&content, &request, &result);
	state->strategy = result.strategy;
	state->replacements = result.count;
	state->already = result.outcome == EDIT_ALREADY;
	done = result.outcome == EDIT_DONE || state->already;
	if (result.outcome == EDIT_DONE)
		edit_change_set(change, buffer_text(&result.text), result.text.length);
	else if (!state->already)
		tool_finish_error(run, "%s is unchanged. %s%s", change->target.shown,
		    buffer_text(&result.error), misfit_advice(run, change->target.real));
	edit_result_clear(&result);
	return done;
}

static void
prepare_replace(struct tool_run *run)
{
	struct patch_state *state = run->state;
	const char *path = tool_string(run, "path", false);
	const char *old = path != NULL ? tool_string(run, "old_string", false) : NULL;
	const char *new = old != NULL ? tool_string(run, "new_string", true) : NULL;
	struct edit_change *change;
	struct buffer error = BUFFER_EMPTY;

	if (new == NULL || refuse_flag(run) || refuse_texts(run, old, new))
		return;
	tool_card_title(run, "Edit %s", path);
	if (edit_permission_planning(run))
		return;
	change = edit_proposal_file(&state->proposal, run->context, path, &error);
	if (change == NULL || !edit_change_patchable(change, &error)) {
		tool_finish_error(run, "%s", buffer_text(&error));
	} else if (replace(run, change, old, new)) {
		edit_permission_card(run, &state->proposal, "Edit");
		if (!state->already)
			edit_permission_decide(run, &state->proposal);
	}
	buffer_free(&error);
}

static void
prepare_v4a(struct tool_run *run)
{
	struct patch_state *state = run->state;
	const char *patch = tool_string(run, "patch", false);
	struct buffer error = BUFFER_EMPTY;

	if (patch == NULL)
		return;
	tool_card_title(run, "Apply a patch");
	if (edit_permission_planning(run))
		return;
	if (patch_v4a_propose(run->context, patch, &state->proposal, &error) == -1) {
		tool_finish_error(run, "%s%s", buffer_text(&error), misfit_advice(run, ""));
	} else {
		state->already = !edit_proposal_differs(&state->proposal);
		edit_permission_card(run, &state->proposal, "Edit");
		if (!state->already)
			edit_permission_decide(run, &state->proposal);
	}
	buffer_free(&error);
}

/* The files of a patch over several; a faulty patch has none, and prepare() says why. */
static void
want_files(struct tool_run *run, const char *patch)
{
	struct patch_operations operations;
	struct buffer faults = BUFFER_EMPTY;
	size_t i;

	if (patch_v4a_parse(patch, &operations, &faults) == 0)
		for (i = 0; i < operations.count; i++) {
			editor_texts_want(run->texts, operations.items[i].path);
			if (operations.items[i].kind == PATCH_MOVE)
				editor_texts_want(run->texts, operations.items[i].to);
		}
	patch_operations_free(&operations);
	buffer_free(&faults);
}

static void
patch_sources(struct tool_run *run)
{
	const char *mode = json_member_text(run->arguments, "mode", "replace");
	const char *path = json_member_text(run->arguments, "path", "");
	const char *patch = json_member_string(run->arguments, "patch");

	if (strcmp(mode, "patch") == 0 && patch != NULL)
		want_files(run, patch);
	else if (strcmp(mode, "replace") == 0 && *path != '\0')
		editor_texts_want(run->texts, path);
}

static void
patch_prepare(struct tool_run *run)
{
	const char *mode =
	    json_has(run->arguments, "mode") ? tool_string(run, "mode", false) : "replace";
	struct patch_state *state;

	if (mode == NULL)
		return;
	run->state = state = xcalloc(1, sizeof *state);
	state->proposal.texts = run->texts;
	if (strcmp(mode, "replace") == 0)
		prepare_replace(run);
	else if (strcmp(mode, "patch") == 0)
		prepare_v4a(run);
	else
		tool_finish_error(run, "patch: the argument \"mode\" must be \"replace\" or "
				       "\"patch\".");
}

static bool
any_changed(const struct edit_proposal *proposal)
{
	size_t i;

	for (i = 0; i < proposal->count; i++)
		if (proposal->changes[i]->existed && proposal->changes[i]->seen == FILE_CHANGED)
			return true;
	return false;
}

static void
finish_patched(struct tool_run *run, const struct patch_state *state)
{
	struct json_object *result = edit_report_new(&state->proposal);

	if (state->strategy != NULL && strcmp(state->strategy, "exact") != 0)
		json_set_text(result, "strategy", state->strategy);
	if (state->replacements > 0)
		json_set_integer(result, "replacements", (int64_t)state->replacements);
	if (state->proposal.count == 1)
		json_set_text(result, "resolved_path", state->proposal.changes[0]->target.real);
	if (any_changed(&state->proposal))
		json_set_text(result, "_warning",
		    "A file was changed by something else since it "
		    "was last read; the patch fitted all the same. "
		    "Read it again before further edits.");
	edit_source_notes(&state->proposal, result);
	edit_permission_diffs(&run->shown, &state->proposal);
	tool_finish(run, result, false);
}

static void
on_applied(const char *error, void *arg)
{
	struct tool_run *run = arg;

	if (error != NULL)
		tool_finish_error(run, "%s", error);
	else
		finish_patched(run, run->state);
}

static void
patch_start(struct tool_run *run)
{
	struct patch_state *state = run->state;

	if (edit_permission_planning(run))
		tool_finish_error(run, "%s", run->permission.reason);
	else if (state->already)
		tool_finish(run,
		    edit_report_unchanged(
			"The file already has the new text; nothing was written."),
		    false);
	else
		edit_apply_start(
		    &state->apply, &state->proposal, run->context, on_applied, run);
}

static void
patch_cancel(struct tool_run *run)
{
	struct patch_state *state = run->state;

	edit_apply_cancel(&state->apply, run);
}

static void
patch_release(struct tool_run *run)
{
	struct patch_state *state = run->state;

	if (state == NULL)
		return;
	edit_apply_free(&state->apply);
	edit_proposal_clear(&state->proposal);
	free(state);
	run->state = NULL;
}

const struct tool tool_patch = {
    .name = "patch",
    .description =
	"Changes parts of files. Mode \"replace\" (default): old_string in the file at path "
	"becomes new_string; old_string must be there exactly once (give enough lines around "
	"it) unless replace_all is true. Mode \"patch\": a patch over one or several files, "
	"applied as a whole or not at all:\n"
	"*** Begin Patch\n*** Update File: path\n@@ line to start from (optional) @@\n"
	" context line\n-removed line\n+added line\n*** Add File: path\n+line\n"
	"*** Delete File: path\n*** Move File: path -> new path\n*** End Patch",
    .parameters = "{\"type\":\"object\",\"properties\":{"
		  "\"mode\":{\"type\":\"string\",\"enum\":[\"replace\",\"patch\"],\"default\":"
		  "\"replace\"},"
		  "\"path\":{\"type\":\"string\",\"description\":\"replace: the file\"},"
		  "\"old_string\":{\"type\":\"string\",\"description\":\"replace: the text as "
		  "it stands in "
		  "the file, without line numbers\"},"
		  "\"new_string\":{\"type\":\"string\",\"description\":\"replace: what it "
		  "becomes; may be "
		  "empty\"},"
		  "\"replace_all\":{\"type\":\"boolean\",\"default\":false,\"description\":"
		  "\"replace: every "
		  "occurrence\"},"
		  "\"patch\":{\"type\":\"string\",\"description\":\"patch: the patch\"}}}",
    .kind = TOOL_KIND_EDIT,
    .class = TOOL_CLASS_PATH_SCOPED,
    .sources = patch_sources,
    .prepare = patch_prepare,
    .start = patch_start,
    .cancel = patch_cancel,
    .release = patch_release,
};
