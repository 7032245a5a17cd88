/*
 * What the disk says about an edit that the editor was asked to make. It writes only over
 * what is to the byte what the editor was given.
 */
#include <config.h>

#include "worker/tools/edit_landed.h"

#include "common/fd.h"
#include "worker/tools/file_save.h"
#include "worker/tools/text_file.h"

#include <string.h>

/* Reads it; false when there is nothing that can be read. */
static bool
read_disk(const struct edit_change *change, struct buffer *bytes, struct stat *status)
{
	struct buffer error = BUFFER_EMPTY;
	enum text_failure failure = TEXT_READ;
	int fd = text_file_open(change->target.real, status, &failure, &error);
	bool done = fd != -1 && fd_read_all(fd, bytes, EDIT_PROPOSAL_FILE_MAX) == 0;

	fd_close(&fd);
	buffer_free(&error);
	if (!done)
		memset(status, 0, sizeof *status);
	return done;
}

static bool
same_bytes(const struct buffer *one, const struct buffer *other)
{
	return one->length == other->length &&
	       memcmp(buffer_text(one), buffer_text(other), one->length) == 0;
}

/* The editor has written the file without what the file had: line ends, byte order mark. */
static void
repair_style(const struct edit_change *change, struct edit_written *step,
    const struct buffer *text, const struct buffer *now)
{
	struct buffer sent = BUFFER_EMPTY, error = BUFFER_EMPTY;
	struct file_save save = {.path = change->target.real,
	    .shown = change->target.shown,
	    .bytes = buffer_text(text),
	    .length = text->length,
	    .mode = FILE_SAVE_DEFAULT_MODE};

	editor_style_remove(change->style, buffer_text(text), text->length, &sent);
	if (same_bytes(&sent, now) && !same_bytes(now, text) &&
	    file_save_write(&save, &error) == 0)
		step->done = save.done;
	buffer_free(&sent);
	buffer_free(&error);
}

bool
edit_landed(struct edit_change *change, struct edit_written *step)
{
	struct buffer now = BUFFER_EMPTY;

	step->saved = read_disk(change, &now, &step->done) &&
		      editor_text_same(buffer_text(&now), now.length,
			  buffer_text(&change->text), change->text.length);
	if (step->saved)
		repair_style(change, step, &change->text, &now);
	buffer_free(&now);
	return step->saved;
}

bool
edit_landed_back(struct edit_change *change, struct edit_written *step)
{
	const struct buffer *old = edit_change_disk(change);
	struct buffer now = BUFFER_EMPTY;
	bool back = read_disk(change, &now, &step->done);

	if (back && !same_bytes(&now, old)) {
		repair_style(change, step, old, &now);
		buffer_clear(&now);
		back = read_disk(change, &now, &step->done) && same_bytes(&now, old);
	}
	buffer_free(&now);
	return back || !change->on_disk;
}

bool
edit_landed_before(const struct edit_change *change)
{
	const struct buffer *disk = edit_change_disk(change);

	return change->on_disk && editor_text_same(buffer_text(disk), disk->length,
				      buffer_text(&change->text), change->text.length);
}
