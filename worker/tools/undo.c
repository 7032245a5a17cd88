/*
 * The undo of edits. It never overwrites what something else than the edits has written, and
 * writes only what the card showed; it is an edit itself, so that it can be undone.
 */
#include <config.h>

#include "worker/tools/undo.h"

#include "common/alloc.h"
#include "worker/store/checkpoints.h"
#include "worker/tools/edit_permission.h"
#include "worker/tools/edit_apply.h"
#include "worker/tools/edit_proposal.h"
#include "worker/tools/edit_source.h"
#include "worker/tools/editor_texts.h"
#include "worker/tools/file_save.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum fate {
	FATE_RESTORED,
	FATE_MADE,
	FATE_DELETED,
	FATE_SAME,
	FATE_CHANGED,
	FATE_BETWEEN,
	FATE_UNKEPT,
	FATE_HELD,
	FATE_FAULT
};

static const char *const fates[] = {
    [FATE_RESTORED] = "gets its old content back",
    [FATE_MADE] = "is made again",
    [FATE_DELETED] = "is deleted: an edit made it",
    [FATE_SAME] = "is as it was already",
    [FATE_CHANGED] = "is left as it is: something else has changed it since",
    [FATE_BETWEEN] =
	"is left as it is: something else changed it between the edits (undo fewer turns)",
    [FATE_UNKEPT] = "is left as it is: no checkpoint was kept",
    [FATE_HELD] = "is left as it is: it may be all that is left of a file that was moved and "
		  "of which no checkpoint was kept",
    [FATE_FAULT] = "is left as it is",
};

struct undo_state {
	struct edit_proposal proposal; /* the files that change */
	struct edit_apply *apply;      /* while they are being written */
	unsigned *folders;	       /* of each: parents that the edit had made */
	struct buffer lines;	       /* what happens to each file */
	int64_t turns;
	bool lost;    /* a file is gone whose content was not kept */
	bool differs; /* some file is not as it was before */
};

/* The old content becomes what is proposed, to the byte. */
static enum fate
propose(struct tool_run *run, struct edit_change *change, struct json_object *entry)
{
	const char *before = json_member_text(entry, "before", "");
	char now[STATE_HASH_SIZE];
	int64_t mode = 0;

	checkpoint_name(change->existed, buffer_text(&change->old), change->old.length, now);
	if (strcmp(now, before) == 0)
		return FATE_SAME;
	if (!checkpoint_is_known(entry, now))
		return FATE_CHANGED;
	if (json_member_boolean(entry, "between", false))
		return FATE_BETWEEN;
	if (strcmp(before, CHECKPOINT_ABSENT) == 0) {
		if (((const struct undo_state *)run->state)->lost)
			return FATE_HELD;
		edit_change_remove(change);
		return FATE_DELETED;
	}
	if (checkpoints_read(run->context->checkpoints, before, &change->text) == -1)
		return FATE_UNKEPT;
	change->touched = change->exists = true;
	change->seen = FILE_NEVER_SEEN; /* the model has not: what it saw counts as changed */
	if (json_member_integer(entry, "mode", &mode))
		change->mode = (mode_t)mode & 07777;
	return change->existed ? FATE_RESTORED : FATE_MADE;
}

static void
say_fate(struct undo_state *state, const char *shown, enum fate fate, const char *more)
{
	(void)buffer_printf(&state->lines, "- `%s` %s%s%s%s\n", shown, fates[fate],
	    more != NULL ? " (" : "", more != NULL ? more : "", more != NULL ? ")" : "");
}

/* The file is not a part of the proposal after all. */
static void
drop_last(struct edit_proposal *proposal)
{
	struct edit_proposal single = {
	    .changes = xcalloc(1, sizeof(struct edit_change *)), .count = 1};

	single.changes[0] = proposal->changes[--proposal->count];
	edit_proposal_clear(&single);
}

static void
take_file(struct tool_run *run, const char *path, struct json_object *entry)
{
	struct undo_state *state = run->state;
	const char *unkept = json_member_string(entry, "unkept");
	char *shown = path_rules_shown(run->context, path);
	struct buffer error = BUFFER_EMPTY;
	size_t count = state->proposal.count;
	struct edit_change *change = NULL;
	enum fate fate = FATE_UNKEPT;
	int64_t folders = 0;

	if (unkept == NULL) {
		change = edit_proposal_file(&state->proposal, run->context, path, &error);
		fate = change != NULL ? propose(run, change, entry) : FATE_FAULT;
	}
	if (change != NULL && (change->link || change->text.failed)) {
		buffer_append_text(&error, "its path leads somewhere else now");
		fate = FATE_FAULT;
	}
	state->differs |= fate != FATE_SAME;
	say_fate(state, shown, fate,
	    fate == FATE_FAULT	  ? buffer_text(&error)
	    : fate == FATE_UNKEPT ? unkept
				  : NULL);
	if (state->proposal.count > count && fate > FATE_DELETED)
		drop_last(&state->proposal);
	if (state->proposal.count > count) {
		json_member_integer(entry, "folders", &folders);
		state->folders[count] = (unsigned)folders;
	}
	buffer_free(&error);
	free(shown);
}

static void
show(struct tool_run *run)
{
	struct undo_state *state = run->state;
	struct tool_permission *permission = &run->permission;
	size_t i;

	edit_permission_card(run, &state->proposal, "Restore");
	tool_card_title(run, "Undo the edits of %s: %zu file%s",
	    state->turns == 1 ? "the last turn" : "several turns", state->proposal.count,
	    state->proposal.count == 1 ? "" : "s");
	tool_contents_text(
	    &run->card.contents, buffer_text(&state->lines), state->lines.length);
	permission->verdict = TOOL_ASK;
	for (i = 0; i < state->proposal.count; i++)
		tool_permission_path(permission, state->proposal.changes[i]->target.real);
}

static int64_t
turns_wanted(const struct tool_run *run)
{
	int64_t turns = 1;

	json_member_integer(run->arguments, "turns", &turns);
	return turns;
}

static void
take_changes(struct tool_run *run, struct json_object *changes)
{
	struct undo_state *state = run->state;

	edit_proposal_clear(&state->proposal);
	state->proposal.texts = run->texts;
	buffer_clear(&state->lines);
	state->lost = state->differs = false;
	free(state->folders);
	state->folders =
	    xcalloc((size_t)json_object_object_length(changes) + 1, sizeof *state->folders);
	json_object_object_foreach(changes, name, change) state->lost |=
	    json_has(change, "unkept") && access(name, F_OK) != 0;
	json_object_object_foreach(changes, path, entry) take_file(run, path, entry);
}

/* What the last turns did, and how many these are. A turn whose files are all as they were
 * before it has changed nothing, or not any more: the ones before it are meant. */
static int64_t
collect(struct tool_run *run, int64_t wanted)
{
	struct undo_state *state = run->state;
	struct json_object *changes;
	int64_t turns = wanted, found;

	do {
		found = turns;
		changes = checkpoints_changes(run->context->checkpoints, &found);
		take_changes(run, changes);
		json_object_put(changes);
	} while (!state->differs && found == turns++ && found <= UNDO_TURNS_MAX);
	state->turns = found < wanted ? found : wanted;
	return found;
}

static void
undo_sources(struct tool_run *run)
{
	int64_t turns = turns_wanted(run);
	struct json_object *changes;

	if (run->context->checkpoints == NULL)
		return;
	changes = checkpoints_changes(run->context->checkpoints, &turns);
	json_object_object_foreach(changes, path, change)
	{
		(void)change;
		editor_texts_want(run->texts, path);
	}
	json_object_put(changes);
}

static void
undo_prepare(struct tool_run *run)
{
	struct undo_state *state;
	int64_t turns;

	if (run->context->checkpoints == NULL) {
		tool_finish_error(run, "Checkpoints are turned off (acp.checkpoints): there is "
				       "nothing that could be given back.");
		return;
	}
	if (edit_permission_planning(run)) {
		tool_finish_error(run,
		    "The session is in plan mode: nothing is changed. Choose "
		    "another mode first.");
		return;
	}
	run->state = state = xcalloc(1, sizeof *state);
	state->proposal.texts = run->texts;
	turns = collect(run, turns_wanted(run));
	if (turns == 0)
		tool_finish_error(run, "There is nothing to undo: no turn of this session has "
				       "changed a file with write_file or patch, or its "
				       "checkpoints are not kept any more.");
	else if (state->proposal.count == 0)
		tool_finish_error(run, "There is nothing that could be given back:\n\n%s",
		    buffer_text(&state->lines));
	else
		show(run);
}

static void
finish_undone(struct tool_run *run)
{
	struct undo_state *state = run->state;
	struct json_object *result = json_object_new_object();
	struct buffer text = BUFFER_EMPTY;
	const struct edit_change *change;
	size_t i;

	for (i = 0; i < state->proposal.count; i++) {
		change = state->proposal.changes[i];
		if (!change->exists)
			file_save_remove_folders(change->target.real, state->folders[i]);
	}
	buffer_printf(&text, "Undone: the edits of %" PRId64 " turn%s.\n\n%s", state->turns,
	    state->turns == 1 ? "" : "s", buffer_text(&state->lines));
	edit_source_notes(&state->proposal, result);
	if (json_has(result, "_editor"))
		buffer_printf(&text, "\n%s\n", json_member_text(result, "_editor", ""));
	if (state->proposal.unkept != NULL)
		buffer_printf(&text, "\n%s\n", state->proposal.unkept);
	edit_permission_diffs(&run->shown, &state->proposal);
	json_set(result, "text", json_new_bytes(buffer_text(&text), text.length));
	buffer_free(&text);
	tool_finish(run, result, false);
}

static void
on_applied(const char *error, void *arg)
{
	struct tool_run *run = arg;

	if (error != NULL)
		tool_finish_error(run, "%s", error);
	else
		finish_undone(run);
}

static void
undo_start(struct tool_run *run)
{
	struct undo_state *state = run->state;

	edit_apply_start(&state->apply, &state->proposal, run->context, on_applied, run);
}

static void
undo_release(struct tool_run *run)
{
	struct undo_state *state = run->state;

	if (state == NULL)
		return;
	edit_apply_free(&state->apply);
	edit_proposal_clear(&state->proposal);
	buffer_free(&state->lines);
	free(state->folders);
	free(state);
	run->state = NULL;
}

const struct tool tool_undo = {
    .name = "undo",
    .description = "Gives files back what they held before the last edits.",
    .parameters = "{\"type\":\"object\",\"properties\":{\"turns\":{\"type\":\"integer\"}}}",
    .kind = TOOL_KIND_EDIT,
    .class = TOOL_CLASS_EXCLUSIVE,
    .sources = undo_sources,
    .prepare = undo_prepare,
    .start = undo_start,
    .release = undo_release,
};
