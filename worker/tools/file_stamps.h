/*
 * What the model has seen of which file, so that an edit never overwrites what it has not
 * seen. Kept for the session's life; it never looks at a file itself.
 */
#ifndef HERMES_WORKER_TOOLS_FILE_STAMPS_H
#define HERMES_WORKER_TOOLS_FILE_STAMPS_H

#include "common/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define FILE_STAMPS_MAX 1000 /* the oldest goes (as in Hermes) */

struct file_stamps;

enum file_seen {
	FILE_NEVER_SEEN,
	FILE_SEEN_PARTLY, /* unchanged since, but only a part of it was read */
	FILE_SEEN,	  /* unchanged since the model read or wrote all of it */
	FILE_CHANGED	  /* another file, size or time than what was seen; or it is gone */
};

struct file_stamps *file_stamps_new(void);
void file_stamps_free(struct file_stamps *stamps);

/* The model has read or written the file at `path` (absolute, symlinks resolved) when it was
 * as `status` says. `whole`: all of it. A partial read after a whole one of the same state
 * leaves it whole. */
void file_stamps_record(
    struct file_stamps *stamps, const char *path, const struct stat *status, bool whole);
/* A text that came from the editor or is known to be there. */
struct file_text {
	uint64_t hash;	/* of what the model has seen or written (editor_text_hash) */
	uint64_t clean; /* of what both the editor and the disk are known to have had; 0 keeps
			 * what is known */
	bool saved;	/* the disk had it, too */
};

/* The same for a text of the editor. A partial view of the same text leaves it whole. */
void file_stamps_record_text(struct file_stamps *stamps, const char *path,
    const struct stat *status, bool whole, const struct file_text *text);
/* Whether the model has seen this very text. */
enum file_seen
file_stamps_query_text(const struct file_stamps *stamps, const char *path, uint64_t hash);
/* The text that the editor and the disk both had when they were last seen to agree; 0 when
 * that is not known. */
uint64_t file_stamps_clean(const struct file_stamps *stamps, const char *path);
/* `now` is the file's present state, NULL when there is no file. */
enum file_seen
file_stamps_query(const struct file_stamps *stamps, const char *path, const struct stat *now);
void file_stamps_forget(struct file_stamps *stamps, const char *path);
/* An edit did not fit: how many that were in a row, on this file, without a look at it. "" for a
 * patch over several. */
unsigned file_stamps_misfit(struct file_stamps *stamps, const char *path);

/* All of it as an array, for another process of the same session; the caller owns it. */
struct json_object *file_stamps_describe(const struct file_stamps *stamps);
/* What is not of that form is left out. */
void file_stamps_restore(struct file_stamps *stamps, struct json_object *description);

#endif
