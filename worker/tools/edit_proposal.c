/*
 * Edits as proposals. It must never write a file whose content is not the one that the user
 * was shown as the old one, and never leave half of an edit without saying so.
 */
#include <config.h>

#include "worker/tools/edit_proposal.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "common/utf8.h"
#include "worker/tools/edit_source.h"
#include "worker/tools/edit_checkpoint.h"
#include "worker/tools/file_save.h"
#include "worker/tools/text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\xef\xbb\xbf" /* byte order mark in UTF-8 */
#define MARK_LENGTH 3u

static void
change_free(struct edit_change *change)
{
	path_target_clear(&change->target);
	buffer_free(&change->old);
	buffer_free(&change->text);
	buffer_free(&change->disk);
	buffer_free(&change->note);
	free(change);
}

void
edit_proposal_clear(struct edit_proposal *proposal)
{
	size_t i;

	for (i = 0; i < proposal->count; i++)
		change_free(proposal->changes[i]);
	free(proposal->changes);
	free(proposal->unkept);
	memset(proposal, 0, sizeof *proposal);
}

static size_t
mark_length(const struct buffer *bytes)
{
	return bytes->length >= MARK_LENGTH && memcmp(bytes->data, MARK, MARK_LENGTH) == 0
		   ? MARK_LENGTH
		   : 0;
}

/* Reads all bytes of a file. 1, or 0 when there is none; -1 with a sentence in `error`. */
static int
read_bytes(const struct path_target *target, struct buffer *bytes, struct stat *status,
    struct buffer *error)
{
	struct buffer reason = BUFFER_EMPTY;
	enum text_failure failure = TEXT_READ;
	int fd = text_file_open(target->real, status, &failure, &reason), result = 1;

	if (fd == -1 && failure == TEXT_ABSENT) {
		result = 0;
	} else if (fd == -1) {
		(void)buffer_append(error, buffer_text(&reason), reason.length);
		(void)buffer_append_byte(error, '.');
		result = -1;
	} else if (fd_read_all(fd, bytes, EDIT_PROPOSAL_FILE_MAX) == -1) {
		(void)buffer_printf(error, "Cannot read %s: %s.", target->shown,
		    errno == EFBIG ? "it is too big to be edited (more than 64 MiB)"
				   : strerror(errno));
		result = -1;
	}
	fd_close(&fd);
	buffer_free(&reason);
	return result;
}

static bool
is_link(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

/* Fills a new change from the disk and the editor. */
static int
load(struct edit_change *change, const struct edit_proposal *proposal,
    const struct tool_context *context, struct buffer *error)
{
	const struct path_target *target = &change->target;
	int found;

	if ((target->flags & PATH_UNWRITABLE) != 0) {
		(void)buffer_printf(error, "%s may not be written by this tool: it is %s.",
		    target->shown, target->label != NULL ? target->label : "protected");
		return -1;
	}
	if (file_save_check(target->real, target->shown, error) == -1)
		return -1;
	found = read_bytes(target, &change->old, &change->status, error);
	if (found == -1)
		return -1;
	change->on_disk = change->existed = change->exists = found == 1;
	change->link = is_link(target->given);
	change->mode = FILE_SAVE_DEFAULT_MODE;
	if (edit_source_take(change, proposal->texts, context, error) == -1)
		return -1;
	change->seen = edit_source_seen(change, context);
	return 0;
}

struct edit_change *
edit_proposal_file(struct edit_proposal *proposal, const struct tool_context *context,
    const char *path, struct buffer *error)
{
	struct edit_change *change = xcalloc(1, sizeof *change);
	size_t i;

	if (path_rules_resolve(context, path, &change->target, error) == -1) {
		(void)buffer_append_byte(error, '.');
		change_free(change);
		return NULL;
	}
	for (i = 0; i < proposal->count; i++)
		if (strcmp(proposal->changes[i]->target.real, change->target.real) == 0) {
			change_free(change);
			return proposal->changes[i];
		}
	if (load(change, proposal, context, error) == -1) {
		change_free(change);
		return NULL;
	}
	proposal->changes =
	    xreallocarray(proposal->changes, proposal->count + 1, sizeof(struct edit_change *));
	proposal->changes[proposal->count++] = change;
	return change;
}

static struct edit_text
unmarked(const struct buffer *bytes)
{
	size_t mark = mark_length(bytes);
	struct edit_text text = {buffer_text(bytes) + mark, bytes->length - mark};

	return text;
}

struct edit_text
edit_change_before(const struct edit_change *change)
{
	return unmarked(&change->old);
}

struct edit_text
edit_change_content(const struct edit_change *change)
{
	return unmarked(change->touched ? &change->text : &change->old);
}

void
edit_change_set(struct edit_change *change, const char *text, size_t length)
{
	struct buffer bytes = BUFFER_EMPTY;

	if (mark_length(&change->old) > 0 &&
	    (length < MARK_LENGTH || memcmp(text, MARK, MARK_LENGTH) != 0))
		(void)buffer_append(&bytes, MARK, MARK_LENGTH);
	(void)buffer_append(&bytes, text, length);
	buffer_free(&change->text); /* only now: `text` may be a part of it */
	change->text = bytes;
	change->touched = true;
	change->exists = true;
}

void
edit_change_remove(struct edit_change *change)
{
	buffer_free(&change->text);
	change->touched = true;
	change->exists = false;
}

void
edit_change_move(struct edit_change *from, struct edit_change *to)
{
	const struct buffer *bytes = from->touched ? &from->text : &from->old;

	buffer_free(&to->text);
	(void)buffer_append(&to->text, buffer_text(bytes), bytes->length);
	to->touched = to->exists = true;
	to->whole = from->whole || from->seen == FILE_SEEN;
	to->mode = from->existed ? from->status.st_mode & 07777 : from->mode;
	edit_change_remove(from);
}

bool
edit_change_is_text(const struct edit_change *change, struct buffer *error)
{
	const struct buffer *old = &change->old;
	const char *bytes = buffer_text(old);

	if (old->length >= 2 &&
	    (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0))
		(void)buffer_printf(error,
		    "%s is UTF-16 text, and this tool writes UTF-8 only: convert it with a "
		    "command.",
		    change->target.shown);
	else if (memchr(bytes, '\0', old->length) != NULL || !utf8_valid(bytes, old->length))
		(void)buffer_printf(error,
		    "%s is not UTF-8 text (binary, or in another encoding): edit it with a "
		    "command.",
		    change->target.shown);
	else
		return true;
	return false;
}

bool
edit_change_patchable(const struct edit_change *change, struct buffer *error)
{
	const struct path_target *target = &change->target;

	if (!change->exists)
		(void)buffer_printf(error,
		    "File not found: %s. Make new files with write_file or \"*** Add File:\".",
		    target->shown);
	else if (change->existed && (target->flags & PATH_UNREADABLE) != 0)
		(void)buffer_printf(error, "%s may not be read, so it cannot be patched (%s).",
		    target->shown, target->label);
	else if (change->existed && (target->flags & PATH_SECRET) != 0 &&
		 change->seen == FILE_NEVER_SEEN)
		(void)buffer_printf(error,
		    "%s holds secrets (%s): read it with read_file before patching it.",
		    target->shown, target->label);
	else
		return edit_change_is_text(change, error);
	return false;
}

bool
edit_change_differs(const struct edit_change *change)
{
	if (!change->touched)
		return false;
	if (change->existed != change->exists)
		return true;
	return change->exists && (change->old.length != change->text.length ||
				     memcmp(buffer_text(&change->old),
					 buffer_text(&change->text), change->old.length) != 0);
}

bool
edit_proposal_differs(const struct edit_proposal *proposal)
{
	size_t i;

	for (i = 0; i < proposal->count; i++)
		if (edit_change_differs(proposal->changes[i]))
			return true;
	return false;
}

const struct buffer *
edit_change_disk(const struct edit_change *change)
{
	return change->unsaved ? &change->disk : &change->old;
}

/* The file is still what it was when the proposal was made, and where it was. */
int
edit_change_verify(const struct edit_change *change, struct buffer *error)
{
	const struct buffer *before = edit_change_disk(change);
	struct buffer now = BUFFER_EMPTY;
	struct stat status;
	int found, result = -1;

	if (!path_rules_still_real(change->target.real)) {
		(void)buffer_printf(error,
		    "%s leads somewhere else now: a link was put there in the meantime. "
		    "Nothing was written.",
		    change->target.shown);
	} else {
		found = read_bytes(&change->target, &now, &status, error);
		if (found == (change->on_disk ? 1 : 0) && now.length == before->length &&
		    memcmp(buffer_text(&now), buffer_text(before), now.length) == 0)
			result = 0;
		else if (found != -1)
			(void)buffer_printf(error,
			    "%s was changed by something else in the meantime (while waiting "
			    "for "
			    "permission). Nothing was written; read it again.",
			    change->target.shown);
	}
	buffer_free(&now);
	return result;
}

int
edit_change_write(
    struct edit_change *change, struct edit_written *written, struct buffer *error)
{
	struct file_save save = {.path = change->target.real,
	    .shown = change->target.shown,
	    .bytes = buffer_text(&change->text),
	    .length = change->text.length,
	    .mode = change->mode,
	    .only_new = !change->on_disk};

	if (change->text.failed) {
		(void)buffer_append_text(error, "Out of memory.");
		return -1;
	}
	if (!change->exists)
		return change->existed
			   ? file_save_remove(change->target.real, change->target.shown, error)
			   : 0;
	if (file_save_write(&save, error) == -1)
		return -1;
	change->folders = save.folders;
	written->done = save.done;
	written->saved = true;
	return 0;
}

int
edit_change_undo(const struct edit_change *change, struct buffer *error)
{
	const struct buffer *before = edit_change_disk(change);
	struct file_save save = {.path = change->target.real,
	    .shown = change->target.shown,
	    .bytes = buffer_text(before),
	    .length = before->length,
	    .mode = change->status.st_mode & 07777};

	if (change->on_disk)
		return file_save_write(&save, error);
	if (file_save_remove(change->target.real, change->target.shown, error) == -1)
		return -1;
	file_save_remove_folders(change->target.real, change->folders);
	return 0;
}

/* Undoes the first `count` changes, last first, and reports how that went. */
static void
roll_back(const struct edit_proposal *proposal, size_t count, struct buffer *error)
{
	struct buffer reason = BUFFER_EMPTY;
	bool clean = true;
	size_t i;

	for (i = count; i > 0; i--) {
		if (!edit_change_differs(proposal->changes[i - 1]))
			continue;
		buffer_clear(&reason);
		if (edit_change_undo(proposal->changes[i - 1], &reason) == 0)
			continue;
		clean = false;
		(void)buffer_printf(error, "\n%s is left changed: %s",
		    proposal->changes[i - 1]->target.shown, buffer_text(&reason));
	}
	if (clean)
		(void)buffer_append_text(error,
		    count > 0 ? " Every file is as it was before." : " Nothing was changed.");
	buffer_free(&reason);
}

int
edit_proposal_apply(
    struct edit_proposal *proposal, const struct tool_context *context, struct buffer *error)
{
	struct edit_written *done = xcalloc(proposal->count + 1, sizeof *done);
	int result = 0;
	size_t i;

	for (i = 0; i < proposal->count && result == 0; i++)
		result = edit_change_verify(proposal->changes[i], error);
	for (i = 0; i < proposal->count && result == 0; i++)
		if (edit_change_differs(proposal->changes[i]))
			edit_checkpoint_keep(proposal->changes[i], context, &proposal->unkept);
	for (i = 0; i < proposal->count && result == 0; i++) {
		if (!edit_change_differs(proposal->changes[i]))
			continue;
		result = edit_change_write(proposal->changes[i], &done[i], error);
		if (result == -1)
			roll_back(proposal, i, error);
	}
	for (i = 0; i < proposal->count && result == 0; i++)
		if (edit_change_differs(proposal->changes[i]))
			edit_source_written(proposal->changes[i], context, &done[i]);
	free(done);
	return result;
}
