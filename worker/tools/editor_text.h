/*
 * Texts of the editor and of the disk, compared. An editor may hand out and take text with
 * other line ends than the file has, without its byte order mark, and with or without the
 * last line end: none of that is a change.
 */
#ifndef HERMES_WORKER_TOOLS_EDITOR_TEXT_H
#define HERMES_WORKER_TOOLS_EDITOR_TEXT_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a file has and the editor's text has not. */
struct editor_style {
	bool
	    carriage_returns; /* every line of the file ends with CR LF, the editor's with LF */
	bool mark;	      /* the byte order mark */
};

/* True when both are the same but for style. */
bool editor_text_same(const char *one, size_t length, const char *other, size_t other_length);
/* The same for texts that are the same; never 0. */
uint64_t editor_text_hash(const char *text, size_t length);

struct editor_style
editor_style_find(const char *file, size_t file_length, const char *text, size_t length);
/* Appends the editor's text as the file would have it, and back. */
void editor_style_add(
    struct editor_style style, const char *text, size_t length, struct buffer *out);
void editor_style_remove(
    struct editor_style style, const char *text, size_t length, struct buffer *out);

#endif
