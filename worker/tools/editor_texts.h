/*
 * The editor's texts of the files that a call is about, got before the call is prepared.
 */
#ifndef HERMES_WORKER_TOOLS_EDITOR_TEXTS_H
#define HERMES_WORKER_TOOLS_EDITOR_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

struct editor_texts;
struct text_sample;
struct tool_context;

/* What the editor said of one file. */
struct editor_reading {
	char *text; /* NULL when it gave none */
	size_t length;
	char *note;   /* why there is none, for the model; NULL = nothing to say */
	bool refused; /* the file must not be touched in another way either */
};

/* `gathered` is called once when all that was asked for has been answered, never from within
 * editor_texts_start(). */
struct editor_texts *
editor_texts_new(const struct tool_context *context, void (*gathered)(void *arg), void *arg);
/* The file that the model calls `path`. Files that it may not see, or that are no text in
 * UTF-8, are not asked for. */
void editor_texts_want(struct editor_texts *texts, const char *path);
/* False when there is nothing to wait for. */
bool editor_texts_start(struct editor_texts *texts);
/* No answer is waited for any more. */
void editor_texts_stop(struct editor_texts *texts);
void editor_texts_free(struct editor_texts *texts);
/* By the resolved path; NULL when the editor was not asked. `texts` may be NULL. */
const struct editor_reading *
editor_texts_find(const struct editor_texts *texts, const char *real);

/* Judges an open file by its beginning; false when that cannot be read. */
bool editor_texts_sample(int fd, struct text_sample *sample);

#endif
