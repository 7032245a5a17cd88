/*
 * The files of memory on disk: reading one, replacing one as a whole, keeping a copy of one
 * that must not be written over. It follows a link only to a file that may be changed anyway.
 */
#ifndef HERMES_WORKER_TOOLS_MEMORY_FILE_H
#define HERMES_WORKER_TOOLS_MEMORY_FILE_H

#include "worker/tools/memory.h"
#include "worker/tools/memory_entries.h"

#include <time.h>

struct tool_context;

struct memory_file {
	char *path;	    /* where it really is */
	struct buffer text; /* as read; empty when there is no file */
	struct memory_entries entries;
	struct timespec changed; /* when it was; 0 when there is no file */
	const char *damage;	 /* why its text cannot be taken for entries, or NULL */
};

/* 0, or -1 with a sentence in `error`; `file` is to be cleared in both cases. A file that is
 * not there has no entries. */
int memory_file_read(const struct tool_context *context, enum memory_target target,
    struct memory_file *file, struct buffer *error);
void memory_file_clear(struct memory_file *file);
/* Writes the entries of `file`; the lock must be held. 0, or -1 with a sentence. */
int memory_file_save(struct memory_file *file, enum memory_target target, struct buffer *error);
/* Copies what was read to <path>.bak.<time of its last change>, so that the same text is copied
 * once; that path is appended to `copy`. 0, or -1 with a sentence in
 * `error`. */
int memory_file_keep(struct memory_file *file, struct buffer *copy, struct buffer *error);

#endif
