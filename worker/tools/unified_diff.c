/*
 * Unified diffs. The output is bounded, and lines are shown as they are but for their line
 * feed; it must never claim a change that is not there.
 */
#include <config.h>

#include "worker/tools/unified_diff.h"

#include "common/alloc.h"
#include "common/utf8.h"
#include "worker/tools/sequence_diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct line {
	const char *text;
	size_t length; /* with its line feed */
};

struct lines {
	struct line *items;
	uint32_t *numbers;
	size_t count;
	size_t first; /* lines before items[0] that both sides share */
};

/* Length of the line at `text`, its line feed included. */
static size_t
line_length(const char *text, size_t length)
{
	const char *end = memchr(text, '\n', length);

	return end != NULL ? (size_t)(end - text) + 1 : length;
}

static size_t
count_lines(const char *text, size_t length)
{
	size_t count = 0, size;

	for (; length > 0; count++) {
		size = line_length(text, length);
		text += size;
		length -= size;
	}
	return count;
}

static void
split(struct lines *lines, struct sequence_names *names, const char *text, size_t length)
{
	size_t count = count_lines(text, length), i;

	lines->items = xcalloc(count + 1, sizeof *lines->items);
	lines->numbers = xcalloc(count + 1, sizeof *lines->numbers);
	lines->count = count;
	for (i = 0; i < count; i++) {
		lines->items[i].text = text;
		lines->items[i].length = line_length(text, length);
		lines->numbers[i] = sequence_names_number(names, text, lines->items[i].length);
		text += lines->items[i].length;
		length -= lines->items[i].length;
	}
}

static void
lines_free(struct lines *lines)
{
	free(lines->items);
	free(lines->numbers);
}

/* Length of the common beginning, back to the start of a line. */
static size_t
common_start(const struct unified_side *old, const struct unified_side *new)
{
	size_t least = old->length < new->length ? old->length : new->length, i = 0;

	while (i < least && old->text[i] == new->text[i])
		i++;
	if (i == old->length && i == new->length)
		return i;
	while (i > 0 && old->text[i - 1] != '\n')
		i--;
	return i;
}

/* Length of the common end behind `start`, forward to the start of a line. */
static size_t
common_end(const struct unified_side *old, const struct unified_side *new, size_t start)
{
	size_t least = (old->length < new->length ? old->length : new->length) - start, i = 0;
	bool old_whole, new_whole;

	while (i < least && old->text[old->length - 1 - i] == new->text[new->length - 1 - i])
		i++;
	for (; i > 0; i--) {
		old_whole = old->length - i == start || old->text[old->length - i - 1] == '\n';
		new_whole = new->length - i == start || new->text[new->length - i - 1] == '\n';
		if (old_whole && new_whole)
			break;
	}
	return i;
}

/* Moves `at` back by up to `count` lines. */
static size_t
lines_back(const char *text, size_t at, size_t count)
{
	for (; count > 0 && at > 0; count--)
		for (at--; at > 0 && text[at - 1] != '\n';)
			at--;
	return at;
}

static size_t
lines_forward(const char *text, size_t length, size_t at, size_t count)
{
	for (; count > 0 && at < length; count--)
		at += line_length(text + at, length - at);
	return at;
}

void
unified_diff_region(const struct unified_side *old, const struct unified_side *new,
    size_t context, struct unified_span *bytes, long *line)
{
	size_t start = common_start(old, new), end;

	memset(bytes, 0, sizeof *bytes);
	*line = 1 + (long)count_lines(new->text, start);
	if (start == old->length && start == new->length)
		return;
	end = common_end(old, new, start);
	bytes->old_start = bytes->new_start = lines_back(old->text, start, context);
	bytes->old_end = lines_forward(old->text, old->length, old->length - end, context);
	bytes->new_end = lines_forward(new->text, new->length, new->length - end, context);
}

static void
append_line(struct buffer *out, char sign, const struct line *line)
{
	bool ends = line->length > 0 && line->text[line->length - 1] == '\n';
	size_t length = ends ? line->length - 1 : line->length;
	size_t shown = utf8_floor(line->text, length, UNIFIED_DIFF_LINE_MAX);

	(void)buffer_append_byte(out, sign);
	(void)buffer_append(out, line->text, shown < length ? shown : length);
	if (shown < length)
		(void)buffer_append_text(out, "... [line cut]");
	(void)buffer_append_byte(out, '\n');
	if (!ends)
		(void)buffer_append_text(out, "\\ No newline at end of file\n");
}

/* "start,count" with the number of the line before when there are none. */
static void
append_range(struct buffer *out, char sign, size_t start, size_t count)
{
	(void)buffer_printf(out, count == 1 ? "%c%zu" : "%c%zu,%zu", sign,
	    count == 0 ? start : start + 1, count);
}

static void
append_hunk(struct buffer *out, const struct lines *old, const struct lines *new,
    const size_t *match, const struct unified_span *span)
{
	size_t i = span->old_start, j = span->new_start;

	(void)buffer_append_text(out, "@@ ");
	append_range(out, '-', old->first + i, span->old_end - i);
	(void)buffer_append_byte(out, ' ');
	append_range(out, '+', new->first + j, span->new_end - j);
	(void)buffer_append_text(out, " @@\n");
	while (i < span->old_end || j < span->new_end) {
		if (i < span->old_end && match[i] == SEQUENCE_UNMATCHED) {
			append_line(out, '-', &old->items[i++]);
		} else if (j < span->new_end && (i >= span->old_end || j < match[i])) {
			append_line(out, '+', &new->items[j++]);
		} else {
			append_line(out, ' ', &old->items[i++]);
			j++;
		}
		if (out->length > UNIFIED_DIFF_MAX)
			return;
	}
}

/* The next change at or behind (i, j): its lines, without context. False at the end. */
static bool
next_change(const struct lines *old, const struct lines *new, const size_t *match, size_t i,
    size_t j, struct unified_span *span)
{
	while (i < old->count && j < new->count &&match[i] == j) {
		i++;
		j++;
	}
	span->old_start = i;
	span->new_start = j;
	while (i < old->count && match[i] == SEQUENCE_UNMATCHED)
		i++;
	span->old_end = i;
	span->new_end = i < old->count ? match[i] : new->count;
	return span->old_start < old->count || span->new_start < new->count;
}

static void
append_hunks(
    struct buffer *out, const struct lines *old, const struct lines *new, const size_t *match)
{
	struct unified_span hunk, next;
	bool more = next_change(old, new, match, 0, 0, &next);
	size_t before, after;

	while (more && out->length <= UNIFIED_DIFF_MAX) {
		hunk = next;
		before = hunk.old_start < UNIFIED_DIFF_CONTEXT ? hunk.old_start
							       : UNIFIED_DIFF_CONTEXT;
		hunk.old_start -= before;
		hunk.new_start -= before;
		for (;;) {
			more = next_change(old, new, match, hunk.old_end, hunk.new_end, &next);
			if (!more || next.old_start - hunk.old_end > 2 * UNIFIED_DIFF_CONTEXT)
				break;
			hunk.old_end = next.old_end;
			hunk.new_end = next.new_end;
		}
		after = old->count - hunk.old_end < UNIFIED_DIFF_CONTEXT
			    ? old->count - hunk.old_end
			    : UNIFIED_DIFF_CONTEXT;
		hunk.old_end += after;
		hunk.new_end += after;
		append_hunk(out, old, new, match, &hunk);
	}
	if (out->length > UNIFIED_DIFF_MAX)
		(void)buffer_append_text(out, "... [diff cut]\n");
}

void
unified_diff_append(struct buffer *out, const char *path, const struct unified_side *old,
    const struct unified_side *new)
{
	struct unified_side left = {old->text != NULL ? old->text : "", old->length};
	struct unified_side right = {new->text != NULL ? new->text : "", new->length};
	struct sequence_names *names = sequence_names_new();
	struct lines a = {0}, b = {0};
	struct unified_span region;
	size_t *match;
	long line;

	unified_diff_region(&left, &right, UNIFIED_DIFF_CONTEXT, &region, &line);
	if (region.old_end > region.old_start || region.new_end > region.new_start) {
		(void)buffer_printf(
		    out, old->text == NULL ? "--- /dev/null\n" : "--- a/%s\n", path);
		(void)buffer_printf(
		    out, new->text == NULL ? "+++ /dev/null\n" : "+++ b/%s\n", path);
		split(
		    &a, names, left.text + region.old_start, region.old_end - region.old_start);
		split(&b, names, right.text + region.new_start,
		    region.new_end - region.new_start);
		a.first = b.first = count_lines(left.text, region.old_start);
		match = xcalloc(a.count + 1, sizeof *match);
		sequence_diff(a.numbers, a.count, b.numbers, b.count, match);
		append_hunks(out, &a, &b, match);
		free(match);
		lines_free(&a);
		lines_free(&b);
	}
	sequence_names_free(names);
}
