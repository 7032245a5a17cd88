/*
 * Reading text as if some differences did not exist (line ends, trailing blanks,
 * indentation, typographic look-alikes), piece by piece, so that every place in the folded
 * text can be traced back to the bytes it came from. Pure functions; nothing is changed.
 */
#ifndef HERMES_WORKER_TOOLS_EDIT_FOLD_H
#define HERMES_WORKER_TOOLS_EDIT_FOLD_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EDIT_FOLD_LINE_ENDS 1u	/* CR LF reads as LF; a lone CR stays */
#define EDIT_FOLD_TRAILING 2u	/* blanks and tabs before a line end vanish */
#define EDIT_FOLD_LOOKALIKES 4u /* curly quotes, dashes, odd spaces … read as ASCII */
#define EDIT_FOLD_LEADING 8u	/* blanks and tabs at the start of a line vanish */

/* One step: `taken` bytes of the source read as `length` bytes at `bytes`. */
struct edit_piece {
	size_t taken;
	const char *bytes;
	size_t length;
	bool same; /* the bytes are the source's own: places inside correspond one to one */
	char room[8];
};

struct edit_fold {
	const char *text;
	size_t length;
	size_t at; /* how far the source has been read */
	unsigned flags;
	bool line_start;
	bool whole; /* the end of `text` is the end of a line too */
};

void edit_fold_begin(
    struct edit_fold *fold, const char *text, size_t length, unsigned flags, bool whole);
/* False at the end. piece->bytes is valid until the next call. */
bool edit_fold_next(struct edit_fold *fold, struct edit_piece *piece);
/* Appends all of the folded text to `out`. */
void
edit_fold_all(const char *text, size_t length, unsigned flags, bool whole, struct buffer *out);
/* What one code point reads as under EDIT_FOLD_LOOKALIKES: bytes written to `room` (8), or
 * 0 when it stands for itself. */
size_t edit_fold_lookalike(uint32_t code, char *room);
/* True for a combining mark (U+0300 to U+036F). */
bool edit_fold_combining(uint32_t code);
/* Number of bytes of the line end at `text` (0, 1 or 2). */
size_t edit_fold_line_end(const char *text, size_t length);

#endif
