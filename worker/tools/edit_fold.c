/*
 * Folding of text for tolerant matching. One pass, no allocation but the caller's buffer;
 * it must never look at a byte more than a constant number of times, because the text may
 * be one line of many megabytes.
 */
#include <config.h>

#include "worker/tools/edit_fold.h"

#include "common/utf8.h"

#include <string.h>

bool
edit_fold_combining(uint32_t code)
{
	return code >= 0x300 && code <= 0x36f;
}

size_t
edit_fold_line_end(const char *text, size_t length)
{
	if (length > 0 && text[0] == '\n')
		return 1;
	return length > 1 && text[0] == '\r' && text[1] == '\n' ? 2 : 0;
}

void
edit_fold_begin(
    struct edit_fold *fold, const char *text, size_t length, unsigned flags, bool whole)
{
	memset(fold, 0, sizeof *fold);
	fold->text = text;
	fold->length = length;
	fold->flags = flags;
	fold->line_start = true;
	fold->whole = whole;
}

/* A byte at which something may have to be folded. */
static bool
special(unsigned flags, unsigned char byte)
{
	if (byte >= 0x80)
		return (flags & EDIT_FOLD_LOOKALIKES) != 0;
	if (byte == '\r')
		return (flags & EDIT_FOLD_LINE_ENDS) != 0;
	if (byte == ' ' || byte == '\t')
		return (flags & EDIT_FOLD_TRAILING) != 0;
	return byte == '\n' && (flags & EDIT_FOLD_LEADING) != 0;
}

static void
take(struct edit_fold *fold, struct edit_piece *piece, size_t taken, bool vanish)
{
	piece->taken = taken;
	piece->bytes = fold->text + fold->at;
	piece->length = vanish ? 0 : taken;
	piece->same = !vanish;
	fold->at += taken;
	fold->line_start = !vanish && piece->bytes[taken - 1] == '\n';
}

/* A run of blanks: it vanishes before a line end, and at the start of a line. */
static void
take_blanks(struct edit_fold *fold, struct edit_piece *piece)
{
	size_t end = fold->at;
	bool vanish;

	while (end < fold->length && (fold->text[end] == ' ' || fold->text[end] == '\t'))
		end++;
	vanish = end == fold->length
		     ? fold->whole
		     : edit_fold_line_end(fold->text + end, fold->length - end) > 0;
	if (fold->line_start && (fold->flags & EDIT_FOLD_LEADING) != 0)
		vanish = true;
	take(fold, piece, end - fold->at, vanish);
}

static void
take_code(struct edit_fold *fold, struct edit_piece *piece)
{
	uint32_t code = 0;
	size_t size = utf8_decode(fold->text + fold->at, fold->length - fold->at, &code);
	size_t folded = size == 0 ? 0 : edit_fold_lookalike(code, piece->room);

	take(fold, piece, size == 0 ? 1 : size, false);
	if (folded == 0)
		return;
	piece->bytes = piece->room;
	piece->length = folded;
	piece->same = false;
}

bool
edit_fold_next(struct edit_fold *fold, struct edit_piece *piece)
{
	size_t end = fold->at;

	if (fold->at >= fold->length)
		return false;
	while (end < fold->length && !special(fold->flags, (unsigned char)fold->text[end]))
		end++;
	if (end > fold->at) {
		take(fold, piece, end - fold->at, false);
		return true;
	}
	switch (fold->text[end]) {
	case '\r':
		take(fold, piece,
		    edit_fold_line_end(fold->text + end, fold->length - end) == 2 ? 2 : 1,
		    false);
		if (piece->taken == 2) {
			piece->bytes = "\n";
			piece->length = 1;
			piece->same = false;
		}
		break;
	case ' ':
	case '\t':
		take_blanks(fold, piece);
		break;
	case '\n':
		take(fold, piece, 1, false);
		break;
	default:
		take_code(fold, piece);
	}
	return true;
}

void
edit_fold_all(const char *text, size_t length, unsigned flags, bool whole, struct buffer *out)
{
	struct edit_fold fold;
	struct edit_piece piece;

	edit_fold_begin(&fold, text, length, flags, whole);
	(void)buffer_reserve(out, length + 1);
	while (edit_fold_next(&fold, &piece))
		(void)buffer_append(out, piece.bytes, piece.length);
}
