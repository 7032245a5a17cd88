/*
 * Checkpoints of edits. Secrets must never be copied, and an edit is never held up: where
 * nothing can be kept it is made all the same, and the user and the model are told.
 */
#include <config.h>

#include "worker/tools/edit_checkpoint.h"

#include "common/alloc.h"
#include "worker/store/checkpoints.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many folders above the file are not there yet. */
static unsigned
missing_folders(const char *path)
{
	char *folder = xstrdup(path), *slash;
	unsigned count = 0;

	while ((slash = strrchr(folder, '/')) != NULL && slash != folder) {
		*slash = '\0';
		if (access(folder, F_OK) == 0)
			break;
		count++;
	}
	free(folder);
	return count;
}

static int
keep(const struct edit_change *change, const struct tool_context *context, struct buffer *error)
{
	struct checkpoint_edit edit = {.path = change->target.real,
	    .existed = change->existed,
	    .exists = change->exists,
	    .before = buffer_text(&change->old),
	    .before_length = change->old.length,
	    .after = buffer_text(&change->text),
	    .after_length = change->text.length,
	    .mode = change->on_disk ? change->status.st_mode : change->mode,
	    .folders = change->existed ? 0 : missing_folders(change->target.real)};

	if ((change->target.flags & (PATH_SECRET | PATH_UNREADABLE)) != 0)
		edit.unkept = "it may hold secrets";
	return checkpoints_keep(context->checkpoints, &edit, error);
}

void
edit_checkpoint_keep(
    const struct edit_change *change, const struct tool_context *context, char **unkept)
{
	struct buffer reason = BUFFER_EMPTY;

	if (keep(change, context, &reason) == -1 && *unkept == NULL)
		*unkept = xasprintf("No checkpoint of %s could be kept (%s): /undo cannot "
				    "give its old content back.",
		    change->target.shown, buffer_text(&reason));
	buffer_free(&reason);
}
