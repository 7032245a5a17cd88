/*
 * What an edit would do to one or several files: the bytes before and after, found without
 * changing anything, shown to the user, and later written all or not at all. Between the two
 * the files must not have changed.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_PROPOSAL_H
#define HERMES_WORKER_TOOLS_EDIT_PROPOSAL_H

#include "worker/tools/edit_merge.h"
#include "worker/tools/editor_text.h"
#include "worker/tools/file_stamps.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/tool.h"

#include <sys/stat.h>

struct editor_texts;

#define EDIT_PROPOSAL_FILE_MAX (64u << 20) /* bytes of a file that is edited */

struct edit_change {
	struct path_target target;
	bool existed; /* before */
	bool exists;  /* afterwards */
	bool touched; /* `text` counts; else nothing has been decided for the file yet */
	bool whole;   /* the model knows the whole new content */
	bool link;    /* the path as given is a symbolic link */
	bool on_disk; /* before */
	/* Of a file that the editor has open: */
	bool in_editor;		   /* `old` is its text, which is compared again */
	bool unsaved;		   /* that is not what is on the disk: `disk` */
	bool stale;		   /* it shows an old text: `old` is from the disk */
	struct editor_style style; /* what the file has and the editor's text has not */
	struct buffer disk;	   /* only with `unsaved` */
	struct buffer note;	   /* sentences for the model */
	struct buffer old, text;
	struct stat status;  /* of the existing file */
	mode_t mode;	     /* of a new file, FILE_SAVE_DEFAULT_MODE usually */
	enum file_seen seen; /* what the model had seen of it */
	size_t folders;	     /* parents that were made while writing */
};

/* What became of a change. */
struct edit_written {
	bool written;
	bool through;	  /* by the editor */
	bool saved;	  /* the disk has the new text */
	struct stat done; /* the file on the disk as it is now */
};

struct edit_proposal {
	struct edit_change **changes;
	size_t count;
	const struct editor_texts *texts; /* borrowed; NULL = only the disk counts */
	char *unkept; /* why an old content could not be kept for /undo, or NULL */
};

void edit_proposal_clear(struct edit_proposal *proposal);
/* The change of the file that `path` leads to; reads the file the first time. Borrowed. NULL
 * with a sentence in `error`: never to be written, special, read-only, unreadable. */
struct edit_change *edit_proposal_file(struct edit_proposal *proposal,
    const struct tool_context *context, const char *path, struct buffer *error);
/* The content on disk, and as it would be so far; both without byte order mark, and empty
 * when there is no file. */
struct edit_text edit_change_before(const struct edit_change *change);
struct edit_text edit_change_content(const struct edit_change *change);
/* Decides the new content; a byte order mark of the old one is kept. */
void edit_change_set(struct edit_change *change, const char *text, size_t length);
void edit_change_remove(struct edit_change *change);
/* False, with a sentence in `error`, when the content cannot be edited as text. */
bool edit_change_is_text(const struct edit_change *change, struct buffer *error);
/* The whole content, byte order mark and mode go to `to`, and `from` is removed. */
void edit_change_move(struct edit_change *from, struct edit_change *to);
/* False, with a sentence in `error`, when the file is absent, may not be read, or is not text.
 */
bool edit_change_patchable(const struct edit_change *change, struct buffer *error);
/* True when the bytes or the existence of the file would change. */
bool edit_change_differs(const struct edit_change *change);
/* True when any file would change. */
bool edit_proposal_differs(const struct edit_proposal *proposal);

/* The steps of applying a change, for edit_apply.c. Each 0, or -1 with a text in `error`. */
/* The file on the disk is what it was. */
int edit_change_verify(const struct edit_change *change, struct buffer *error);
/* Writes the disk. */
int edit_change_write(
    struct edit_change *change, struct edit_written *written, struct buffer *error);
/* Gives the file on the disk its old content (or absence) back. */
int edit_change_undo(const struct edit_change *change, struct buffer *error);
/* What was on the disk; empty when nothing was. */
const struct buffer *edit_change_disk(const struct edit_change *change);
/* Checks that every file is as it was and writes all. -1 with a text in `error`; what had
 * been written is then undone, and what could not be undone is named. */
int edit_proposal_apply(
    struct edit_proposal *proposal, const struct tool_context *context, struct buffer *error);

#endif
