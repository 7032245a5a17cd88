/*
 * The tool write_file: gives a file a whole new content. It must never overwrite what the
 * model has not seen, and writes exactly the bytes that were asked for but for the line ends
 * and the byte order mark that the file already had.
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
#include "worker/tools/text_file.h"
#include "worker/tools/tool_rows.h"
#include "worker/tools/unified_diff.h"

#include "common/alloc.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

#define DIFFERENCE_MAX 4000u /* bytes that a refusal shows */
#define NUMBERED_LEAST 3     /* lines that make a content look like output of read_file */

struct write_state {
	struct edit_proposal proposal;
	struct edit_apply *apply; /* while it is being written */
	const char *warning;	  /* a constant, or NULL */
};

/* Whether the file may be shown without a question, as read_file has it. */
static bool
may_show(const struct path_target *target)
{
	return target->inside && (target->flags & (PATH_SECRET | PATH_UNREADABLE)) == 0;
}

/* What the file has now against what was to be written, so that the model sees what it would
 * have taken away. */
static void
refuse_changed(struct tool_run *run, const struct edit_change *change, const char *content)
{
	struct edit_text text = edit_change_before(change);
	struct unified_side old = {text.bytes, text.length}, new = {content, strlen(content)};
	struct buffer difference = BUFFER_EMPTY;
	size_t length;

	if (may_show(&change->target))
		unified_diff_append(&difference, change->target.shown, &old, &new);
	length = utf8_floor(buffer_text(&difference), difference.length, DIFFERENCE_MAX);
	tool_finish_error(run,
	    "%s was changed by something else since it was last read: read it again with "
	    "read_file before overwriting it.%s%.*s%s",
	    change->target.shown,
	    length > 0 ? " As it is now, against what you wanted to write:\n" : "", (int)length,
	    buffer_text(&difference), length < difference.length ? "\n[cut]" : "");
	buffer_free(&difference);
}

/* True, with the run ended, when the existing file must not be overwritten blindly. */
static bool
unseen(struct tool_run *run, const struct edit_change *change, const char *content)
{
	const char *shown = change->target.shown;

	if (!change->existed || change->old.length == 0)
		return false;
	if (change->seen == FILE_NEVER_SEEN)
		tool_finish_error(run,
		    "%s exists and was not read in this session: read it with read_file before "
		    "overwriting it, or change a part of it with patch.",
		    shown);
	else if (change->seen == FILE_CHANGED)
		refuse_changed(run, change, content);
	else
		return false;
	return true;
}

/* Sets the new content; over a file whose lines all end with CR LF, so do the new ones. */
static void
set_content(struct edit_change *change, const char *content, size_t length)
{
	struct edit_text old = edit_change_before(change);
	struct buffer converted = BUFFER_EMPTY;
	const char *at = content, *newline;

	if (text_ending_detect(old.bytes, old.length) == TEXT_ENDING_CRLF &&
	    memchr(content, '\r', length) == NULL) {
		while ((newline = strchr(at, '\n')) != NULL) {
			(void)buffer_append(&converted, at, (size_t)(newline - at));
			(void)buffer_append(&converted, "\r\n", 2);
			at = newline + 1;
		}
		(void)buffer_append_text(&converted, at);
		edit_change_set(change, buffer_text(&converted), converted.length);
		change->text.failed = change->text.failed || converted.failed;
	} else {
		edit_change_set(change, content, length);
	}
	change->whole = true;
	buffer_free(&converted);
}

static bool
is_utf16(const struct edit_change *change)
{
	const char *bytes = buffer_text(&change->old);

	return change->old.length >= 2 &&
	       (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0);
}

static void
write_sources(struct tool_run *run)
{
	const char *path = json_member_string(run->arguments, "path");

	if (path != NULL && *path != '\0')
		editor_texts_want(run->texts, path);
}

static void
write_prepare(struct tool_run *run)
{
	const char *path = tool_string(run, "path", false);
	const char *content = path != NULL ? tool_string(run, "content", true) : NULL;
	struct write_state *state;
	struct edit_change *change;
	struct edit_text text;
	struct buffer error = BUFFER_EMPTY;

	if (content == NULL)
		return;
	tool_card_title(run, "Write %s", path);
	if (edit_permission_planning(run))
		return;
	text = (struct edit_text){content, strlen(content)};
	if (edit_hints_numbered(&text, NUMBERED_LEAST)) {
		tool_finish_error(run, "The content has the line numbers that read_file adds "
				       "(\"12|\"): send it without them. Nothing was written.");
		return;
	}
	run->state = state = xcalloc(1, sizeof *state);
	state->proposal.texts = run->texts;
	change = edit_proposal_file(&state->proposal, run->context, path, &error);
	if (change == NULL) {
		tool_finish_error(run, "%s", buffer_text(&error));
	} else if (is_utf16(change)) {
		(void)edit_change_is_text(change, &error);
		tool_finish_error(run, "%s", buffer_text(&error));
	} else if (!unseen(run, change, content)) {
		set_content(change, content, text.length);
		if (change->seen == FILE_SEEN_PARTLY)
			state->warning = "Only a part of the file had been read before it was "
					 "overwritten.";
		edit_permission_card(run, &state->proposal, "Write");
		if (edit_change_differs(change))
			edit_permission_decide(run, &state->proposal);
	}
	buffer_free(&error);
}

static void
finish_written(struct tool_run *run, const struct write_state *state)
{
	const struct edit_change *change = state->proposal.changes[0];
	struct json_object *result = edit_report_new(&state->proposal);

	json_set_integer(result, "bytes_written", (int64_t)change->text.length);
	json_set_boolean(result, "dirs_created", change->folders > 0);
	json_set_text(result, "resolved_path", change->target.real);
	if (state->warning != NULL)
		json_set_text(result, "_warning", state->warning);
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
		finish_written(run, run->state);
}

static void
write_start(struct tool_run *run)
{
	struct write_state *state = run->state;

	if (edit_permission_planning(run))
		tool_finish_error(run, "%s", run->permission.reason);
	else if (!edit_change_differs(state->proposal.changes[0]))
		tool_finish(run,
		    edit_report_unchanged("The file already has exactly this content."), false);
	else
		edit_apply_start(
		    &state->apply, &state->proposal, run->context, on_applied, run);
}

static void
write_cancel(struct tool_run *run)
{
	struct write_state *state = run->state;

	edit_apply_cancel(&state->apply, run);
}

static void
write_release(struct tool_run *run)
{
	struct write_state *state = run->state;

	if (state == NULL)
		return;
	edit_apply_free(&state->apply);
	edit_proposal_clear(&state->proposal);
	free(state);
	run->state = NULL;
}

const struct tool tool_write_file = {
    .name = "write_file",
    .description =
	"Writes a whole file: makes it, with its folders, or replaces all of its content. "
	"An existing file must have been read first. To change a part of a file, use patch. "
	"Line ends (CR LF) and byte order mark of an existing file are kept.",
    .parameters =
	"{\"type\":\"object\",\"properties\":{"
	"\"path\":{\"type\":\"string\",\"description\":\"The file: absolute, relative "
	"to the session's folder, or ~/...\"},"
	"\"content\":{\"type\":\"string\",\"description\":\"The complete new content, "
	"without line numbers. May be empty.\"}},"
	"\"required\":[\"path\",\"content\"]}",
    .kind = TOOL_KIND_EDIT,
    .class = TOOL_CLASS_PATH_SCOPED,
    .sources = write_sources,
    .prepare = write_prepare,
    .start = write_start,
    .cancel = write_cancel,
    .release = write_release,
};
