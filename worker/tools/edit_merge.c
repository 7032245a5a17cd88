/*
 * Merging a change into a passage that differs from what the model wrote. The old text is
 * cut into tokens, each tied to the bytes of the file that it stands for; tokens that the
 * new text keeps give those bytes back untouched. It must never guess: where another reading
 * of the change would leave other bytes, it refuses.
 */
#include <config.h>

#include "worker/tools/edit_merge.h"

#include "common/alloc.h"
#include "worker/tools/edit_fold.h"
#include "worker/tools/edit_tokens.h"
#include "worker/tools/sequence_diff.h"

#include <stdlib.h>
#include <string.h>

struct merge {
	struct edit_tokens old, new;
	size_t *match; /* per old token: its place in the new text */
	const char *line_end;
	bool typographic; /* characters may differ, not only blanks and line ends */
};

/* The passage as it is consumed: folded bytes of the current piece that are not used yet. */
struct source {
	struct edit_fold fold;
	struct edit_piece piece;
	size_t used;
	size_t at; /* place in the passage */
};

/* Consumes `length` folded bytes that must be `bytes`; moves source->at. False when they are
 * others or end inside a character of the passage. */
static bool
consume(struct source *source, const char *bytes, size_t length)
{
	size_t part;

	while (length > 0) {
		if (source->used == source->piece.length) {
			if (!source->piece.same)
				source->at = source->fold.at;
			source->used = 0;
			if (!edit_fold_next(&source->fold, &source->piece))
				return false;
			continue;
		}
		part = source->piece.length - source->used;
		part = part < length ? part : length;
		if (memcmp(source->piece.bytes + source->used, bytes, part) != 0)
			return false;
		source->used += part;
		source->at += source->piece.same ? part : 0;
		bytes += part;
		length -= part;
	}
	if (source->piece.same)
		return true;
	if (source->used != source->piece.length)
		return false;
	source->at = source->fold.at;
	return true;
}

/* Ties every old token to its bytes of the passage. */
static bool
tie(struct edit_tokens *old, const struct edit_text *passage, unsigned flags)
{
	struct source source;
	struct buffer folded = BUFFER_EMPTY;
	size_t i, start;
	bool tied = true;
	struct edit_token *token = NULL;

	memset(&source, 0, sizeof source);
	edit_fold_begin(&source.fold, passage->bytes, passage->length, flags, false);
	for (i = 0; i < old->count && tied; i++) {
		token = &old->items[i];
		buffer_clear(&folded);
		/* Blanks at the very end are not trailing ones: the line may go on. */
		edit_fold_all(token->raw.bytes, token->raw.length, flags, false, &folded);
		start = source.at;
		tied = !folded.failed && consume(&source, buffer_text(&folded), folded.length);
		token->file.bytes = passage->bytes + start;
		token->file.length = source.at - start;
	}
	if (tied && token != NULL) /* what vanishes at the end belongs to the last one */
		token->file.length =
		    (size_t)(passage->bytes + passage->length - token->file.bytes);
	buffer_free(&folded);
	return tied && source.used == source.piece.length;
}

static bool
same_text(const struct edit_text *a, const struct edit_text *b)
{
	return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* The file has other characters than the model wrote, not only other blanks at the end. */
static bool
typographic(const struct edit_token *token)
{
	struct buffer file = BUFFER_EMPTY, raw = BUFFER_EMPTY;
	unsigned flags = EDIT_FOLD_LINE_ENDS | EDIT_FOLD_TRAILING;
	bool differs;

	if (same_text(&token->file, &token->raw))
		return false;
	edit_fold_all(token->file.bytes, token->file.length, flags, false, &file);
	edit_fold_all(token->raw.bytes, token->raw.length, flags, false, &raw);
	differs = file.length != raw.length ||
		  memcmp(buffer_text(&file), buffer_text(&raw), file.length) != 0;
	buffer_free(&file);
	buffer_free(&raw);
	return differs;
}

/* Lines as runs of tokens, to compare line by line first. */
static size_t
number_lines(const struct edit_tokens *tokens, struct sequence_names *names, size_t *starts,
    uint32_t *numbers)
{
	size_t i, count = 0, start = 0;
	const struct edit_token *first, *last;

	for (i = 0; i < tokens->count; i++) {
		if (!tokens->items[i].ends_line && i + 1 < tokens->count)
			continue;
		first = &tokens->items[start];
		last = &tokens->items[i];
		numbers[count] = sequence_names_number(names, first->raw.bytes,
		    (size_t)(last->raw.bytes + last->raw.length - first->raw.bytes));
		starts[count++] = start;
		start = i + 1;
	}
	starts[count] = tokens->count;
	return count;
}

/* Compares the tokens [old_start, old_end) with [new_start, new_end). */
static void
match_tokens(
    struct merge *merge, size_t old_start, size_t old_end, size_t new_start, size_t new_end)
{
	size_t n = old_end - old_start, m = new_end - new_start, i;
	uint32_t *a = xcalloc(n + 1, sizeof *a), *b = xcalloc(m + 1, sizeof *b);

	for (i = 0; i < n; i++)
		a[i] = merge->old.items[old_start + i].number;
	for (i = 0; i < m; i++)
		b[i] = merge->new.items[new_start + i].number;
	sequence_diff(a, n, b, m, merge->match + old_start);
	for (i = old_start; i < old_end; i++)
		if (merge->match[i] != SEQUENCE_UNMATCHED)
			merge->match[i] += new_start;
	free(a);
	free(b);
}

/* Lines first, then the tokens of each block of changed lines. */
static void
match_all(struct merge *merge, struct sequence_names *names)
{
	size_t n, m, i, j = 0, start = 0, k;
	size_t *old_starts = xcalloc(merge->old.count + 2, sizeof *old_starts);
	size_t *new_starts = xcalloc(merge->new.count + 2, sizeof *new_starts);
	uint32_t *old_numbers = xcalloc(merge->old.count + 1, sizeof *old_numbers);
	uint32_t *new_numbers = xcalloc(merge->new.count + 1, sizeof *new_numbers);
	size_t *lines;

	n = number_lines(&merge->old, names, old_starts, old_numbers);
	m = number_lines(&merge->new, names, new_starts, new_numbers);
	lines = xcalloc(n + 1, sizeof *lines);
	sequence_diff(old_numbers, n, new_numbers, m, lines);
	lines[n] = m;
	for (i = 0; i <= n; i++) {
		if (lines[i] == SEQUENCE_UNMATCHED)
			continue;
		match_tokens(merge, old_starts[start], old_starts[i], new_starts[j],
		    new_starts[lines[i]]);
		for (k = 0; i < n && k < old_starts[i + 1] - old_starts[i]; k++)
			merge->match[old_starts[i] + k] = new_starts[lines[i]] + k;
		start = i + 1;
		j = lines[i] + 1;
	}
	free(lines);
	free(old_starts);
	free(new_starts);
	free(old_numbers);
	free(new_numbers);
}

/* One place of change: old tokens [i, k) go, new tokens [j, l) come. */
struct change {
	size_t i, k, j, l;
};

/* Sliding the removed run by one token would leave other bytes in the file. */
static bool
removal_ambiguous(const struct merge *merge, const struct change *change)
{
	const struct edit_token *old = merge->old.items, *inside, *beside;

	if (change->i == change->k)
		return false;
	inside = &old[change->k - 1];
	beside = change->i > 0 ? &old[change->i - 1] : NULL;
	if (beside != NULL && beside->number == inside->number &&
	    !same_text(&beside->file, &inside->file) &&
	    (typographic(beside) || typographic(inside)))
		return true;
	inside = &old[change->i];
	beside = change->k < merge->old.count ? &old[change->k] : NULL;
	return beside != NULL && beside->number == inside->number &&
	       !same_text(&beside->file, &inside->file) &&
	       (typographic(beside) || typographic(inside));
}

/* Likewise for the inserted run: the kept token beside it could be one of the new ones. */
static bool
insertion_ambiguous(const struct merge *merge, const struct change *change)
{
	const struct edit_token *old = merge->old.items, *new = merge->new.items;

	if (change->j == change->l)
		return false;
	if (change->i > 0 && old[change->i - 1].number == new[change->l - 1].number &&
	    typographic(&old[change->i - 1]))
		return true;
	return change->k < merge->old.count &&
	       old[change->k].number == new[change->j].number &&typographic(&old[change->k]);
}

/* A typographic character goes and its plain form comes, or letters of another form (full
 * width, decomposed) are replaced: that would flatten what the file has. */
static bool
replacement_flattens(const struct merge *merge, const struct change *change)
{
	size_t i, j;
	bool word;

	for (i = change->i; i < change->k && change->j < change->l; i++) {
		if (!typographic(&merge->old.items[i]))
			continue;
		word = edit_tokens_word(
			   merge->old.items[i].raw.bytes, merge->old.items[i].raw.length) > 0;
		for (j = change->j; j < change->l; j++)
			if (merge->new.items[j].number == merge->old.items[i].number ||
			    (word && edit_tokens_word(merge->new.items[j].raw.bytes,
					 merge->new.items[j].raw.length) > 0))
				return true;
	}
	return false;
}

static void
write_new(const struct merge *merge, const struct edit_token *token, struct buffer *out)
{
	size_t length = token->raw.length;

	if (token->ends_line) {
		length--;
		if (length > 0 && token->raw.bytes[length - 1] == '\r')
			length--;
	}
	(void)buffer_append(out, token->raw.bytes, length);
	if (token->ends_line)
		(void)buffer_append_text(out, merge->line_end);
}

static bool
write_out(const struct merge *merge, struct buffer *out)
{
	struct change change;
	size_t i = 0, j = 0;

	while (i < merge->old.count || j < merge->new.count) {
		if (i < merge->old.count && merge->match[i] == j) {
			(void)buffer_append(out, merge->old.items[i].file.bytes,
			    merge->old.items[i].file.length);
			i++;
			j++;
			continue;
		}
		change.i = i;
		change.j = j;
		while (i < merge->old.count && merge->match[i] == SEQUENCE_UNMATCHED)
			i++;
		change.k = i;
		change.l = i < merge->old.count ? merge->match[i] : merge->new.count;
		if (merge->typographic &&
		    (removal_ambiguous(merge, &change) || insertion_ambiguous(merge, &change) ||
			replacement_flattens(merge, &change)))
			return false;
		for (; j < change.l; j++)
			write_new(merge, &merge->new.items[j], out);
	}
	return !out->failed;
}

bool
edit_merge(const struct edit_text *passage, const struct edit_text *old,
    const struct edit_text *new, unsigned flags, const char *line_end, struct buffer *out)
{
	struct merge merge = {
	    {NULL, 0}, {NULL, 0}, NULL, line_end, (flags & EDIT_FOLD_LOOKALIKES) != 0};
	struct sequence_names *names = sequence_names_new();
	bool merged;

	edit_tokens_cut(&merge.old, old, names);
	edit_tokens_cut(&merge.new, new, names);
	merged = tie(&merge.old, passage, flags);
	if (merged) {
		merge.match = xcalloc(merge.old.count + 1, sizeof *merge.match);
		match_all(&merge, names);
		merged = write_out(&merge, out);
	}
	free(merge.match);
	free(merge.old.items);
	free(merge.new.items);
	sequence_names_free(names);
	return merged;
}
