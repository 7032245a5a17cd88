/*
 * V4A patches against the files. Operations are tried in order in memory; every fault is
 * collected, and with a single fault nothing of the patch counts.
 */
#include <config.h>

#include "worker/tools/patch_v4a.h"

#include "common/utf8.h"
#include "worker/tools/edit_hints.h"
#include "worker/tools/edit_line.h"
#include "worker/tools/edit_match.h"
#include "worker/tools/patch_v4a_parse.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_LINE_MAX 80 /* bytes shown of a hunk's first line */

struct patching {
	const struct tool_context *context;
	struct edit_proposal *proposal;
	struct buffer *faults;
};

/* A file while its hunks are applied. */
struct work {
	struct buffer text;
	size_t end; /* behind the last hunk that was applied */
	const char *line_end;
};

static void
fault(const struct patching *patching, const char *path, const char *what)
{
	(void)buffer_printf(patching->faults, "\n- %s: %s", path, what);
}

static void
hunk_fault(const struct patching *patching, const struct patch_operation *operation,
    size_t index, const char *what)
{
	const char *first = operation->hunks[index].first;
	size_t length = first != NULL ? strlen(first) : 0;

	(void)buffer_printf(patching->faults, "\n- %s, hunk %zu (\"%.*s\"): %s",
	    operation->path, index + 1,
	    first != NULL ? (int)utf8_floor(first, length, FIRST_LINE_MAX) : 0,
	    first != NULL ? first : "", what);
}

/* The line at `at`, blanks around it left out, is `hint` (or has it in it). */
static bool
line_matches(const char *line, size_t length, const char *hint, bool whole)
{
	size_t wanted = strlen(hint);

	if (!whole)
		return memmem(line, length, hint, wanted) != NULL;
	while (length > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		length--;
	}
	while (length > 0 && strchr(" \t\r\n", line[length - 1]) != NULL)
		length--;
	return length == wanted && memcmp(line, hint, wanted) == 0;
}

/* How many lines match the hint; *start and *after are those of the first. */
static size_t
count_hints(
    const struct buffer *text, const char *hint, bool whole, size_t *start, size_t *after)
{
	size_t at, length, count = 0;
	const char *end;

	for (at = 0; at < text->length; at += length) {
		end = memchr(text->data + at, '\n', text->length - at);
		length = end != NULL ? (size_t)(end - text->data) + 1 - at : text->length - at;
		if (!line_matches(text->data + at, length, hint, whole))
			continue;
		if (count++ == 0) {
			*start = at;
			*after = at + length;
		}
	}
	return count;
}

static size_t
find_hint(const struct buffer *text, const char *hint, size_t *start, size_t *after)
{
	size_t count = count_hints(text, hint, true, start, after);

	return count > 0 ? count : count_hints(text, hint, false, start, after);
}

/* Puts the added lines of a hunk at `at`. */
static void
insert(struct work *work, const struct patch_hunk *hunk, size_t at)
{
	struct buffer text = BUFFER_EMPTY;
	const char *line = buffer_text(&hunk->new), *end;

	(void)buffer_append(&text, buffer_text(&work->text), at);
	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		(void)buffer_append(&text, line, (size_t)(end - line));
		(void)buffer_append_text(&text, work->line_end);
	}
	work->end = text.length;
	(void)buffer_append(&text, buffer_text(&work->text) + at, work->text.length - at);
	buffer_free(&work->text);
	work->text = text;
}

/* A hunk without old lines: after its hint, or at the end of the file. */
static const char *
insert_hunk(struct work *work, const struct patch_hunk *hunk)
{
	size_t start, after = work->text.length, count;

	if (hunk->hint != NULL) {
		count = find_hint(&work->text, hunk->hint, &start, &after);
		if (count == 0)
			return "the line after \"@@\" was not found";
		if (count > 1)
			return "the line after \"@@\" occurs more than once; add context lines";
	}
	insert(work, hunk, after);
	return NULL;
}

static void
apply_request(struct work *work, struct edit_request *request, struct edit_result *result)
{
	struct edit_text text = {buffer_text(&work->text), work->text.length};

	edit_match_apply(&text, request, result);
}

/* Looks behind the hint first, then in the whole file, then behind the hunk before. */
static void
match_hunk(struct work *work, const struct patch_hunk *hunk, struct edit_result *result)
{
	struct edit_request request = {.old = {buffer_text(&hunk->old), hunk->old.length},
	    .new = {buffer_text(&hunk->new), hunk->new.length},
	    .whole_lines = true};
	size_t start, after;

	if (hunk->hint != NULL && find_hint(&work->text, hunk->hint, &start, &after) == 1) {
		request.from = start;
		request.first = true;
		apply_request(work, &request, result);
		if (result->outcome == EDIT_DONE)
			return;
		edit_result_clear(result);
		request.first = false;
		request.from = 0;
	}
	apply_request(work, &request, result);
	if (result->outcome == EDIT_AMBIGUOUS && work->end > 0) {
		edit_result_clear(result);
		request.from = work->end;
		apply_request(work, &request, result);
	}
}

static void
apply_hunk(const struct patching *patching, struct work *work,
    const struct patch_operation *operation, size_t index)
{
	const struct patch_hunk *hunk = &operation->hunks[index];
	struct edit_result result;
	const char *reason;

	if (hunk->added + hunk->removed == 0) {
		hunk_fault(patching, operation, index,
		    "it changes nothing: lines to remove start with \"-\", lines to add with "
		    "\"+\"");
		return;
	}
	if (hunk->old.length == 0) {
		reason = insert_hunk(work, hunk);
		if (reason != NULL)
			hunk_fault(patching, operation, index, reason);
		return;
	}
	match_hunk(work, hunk, &result);
	if (result.outcome == EDIT_DONE) {
		buffer_free(&work->text);
		work->text = result.text;
		work->end = result.end;
		memset(&result.text, 0, sizeof result.text);
	} else if (result.outcome != EDIT_ALREADY) {
		hunk_fault(patching, operation, index, buffer_text(&result.error));
	}
	edit_result_clear(&result);
}

/* Applies all hunks. A last line without line end gets one for the time being, so that hunks
 * are always whole lines. */
static void
apply_hunks(const struct patching *patching, struct edit_change *change,
    const struct patch_operation *operation)
{
	struct edit_text before = edit_change_content(change);
	struct work work = {BUFFER_EMPTY, 0, edit_line_end(before.bytes, before.length)};
	bool open = before.length > 0 && before.bytes[before.length - 1] != '\n';
	size_t i;

	(void)buffer_append(&work.text, before.bytes, before.length);
	if (open)
		(void)buffer_append_text(&work.text, work.line_end);
	for (i = 0; i < operation->hunk_count; i++)
		apply_hunk(patching, &work, operation, i);
	if (open && work.text.length > 0 && work.text.data[work.text.length - 1] == '\n') {
		work.text.length--;
		if (work.text.length > 0 && work.text.data[work.text.length - 1] == '\r')
			work.text.length--;
	}
	if (work.text.failed)
		fault(patching, operation->path, "out of memory");
	else
		edit_change_set(change, buffer_text(&work.text), work.text.length);
	buffer_free(&work.text);
}

static struct edit_change *
file(const struct patching *patching, const char *path)
{
	struct buffer error = BUFFER_EMPTY;
	struct edit_change *change =
	    edit_proposal_file(patching->proposal, patching->context, path, &error);

	if (change == NULL)
		fault(patching, path, buffer_text(&error));
	buffer_free(&error);
	return change;
}

static void
update(const struct patching *patching, const struct patch_operation *operation)
{
	struct edit_change *change = file(patching, operation->path);
	struct buffer error = BUFFER_EMPTY;

	if (change == NULL)
		return;
	if (operation->hunk_count == 0)
		fault(patching, operation->path, "the update has no hunk");
	else if (!edit_change_patchable(change, &error))
		fault(patching, operation->path, buffer_text(&error));
	else
		apply_hunks(patching, change, operation);
	buffer_free(&error);
}

static void
add(const struct patching *patching, const struct patch_operation *operation)
{
	struct edit_change *change = file(patching, operation->path);
	struct edit_text content = {
	    buffer_text(&operation->content), operation->content.length};

	if (change == NULL)
		return;
	if (change->exists) {
		fault(patching, operation->path, "it exists already: use \"*** Update File:\"");
		return;
	}
	if (edit_hints_numbered(&content, 3)) {
		fault(patching, operation->path, "the lines begin with line numbers (\"12|\")");
		return;
	}
	edit_change_set(change, content.bytes, content.length);
	change->whole = true;
}

/* The file may go away; false with a fault noted. */
static bool
removable(const struct patching *patching, const struct edit_change *change, const char *path)
{
	if (!change->exists)
		fault(patching, path, "there is no such file");
	else if (change->link)
		fault(
		    patching, path, "it is a symbolic link: remove or move it with a command");
	else
		return true;
	return false;
}

static void delete (const struct patching *patching, const struct patch_operation *operation)
{
	struct edit_change *change = file(patching, operation->path);

	if (change != NULL && removable(patching, change, operation->path))
		edit_change_remove(change);
}

static void
move(const struct patching *patching, const struct patch_operation *operation)
{
	struct edit_change *from = file(patching, operation->path);
	struct edit_change *to = file(patching, operation->to);

	if (from == NULL || to == NULL || !removable(patching, from, operation->path))
		return;
	if (to->exists)
		fault(patching, operation->to, "it exists already: a move does not overwrite");
	else
		edit_change_move(from, to);
}

int
patch_v4a_propose(const struct tool_context *context, const char *patch,
    struct edit_proposal *proposal, struct buffer *error)
{
	static void (*const kinds[])(
	    const struct patching *, const struct patch_operation *) = {
	    [PATCH_UPDATE] = update,
	    [PATCH_ADD] = add,
	    [PATCH_DELETE] = delete,
	    [PATCH_MOVE] = move,
	};
	struct patch_operations operations;
	struct buffer faults = BUFFER_EMPTY;
	struct patching patching = {context, proposal, &faults};
	int result;
	size_t i;

	if (patch_v4a_parse(patch, &operations, &faults) == 0)
		for (i = 0; i < operations.count; i++)
			kinds[operations.items[i].kind](&patching, &operations.items[i]);
	result = faults.length == 0 ? 0 : -1;
	if (result == -1)
		(void)buffer_printf(error,
		    "Patch validation failed (no files were modified):%s",
		    buffer_text(&faults));
	buffer_free(&faults);
	patch_operations_free(&operations);
	return result;
}
