/*
 * Hints for edits that do not fit. Everything here is bounded, and nothing here ever decides
 * where an edit goes.
 */
#include <config.h>

#include "worker/tools/edit_hints.h"

#include "common/utf8.h"
#include "worker/tools/edit_fold.h"
#include "worker/tools/edit_line.h"

#include <stdlib.h>
#include <string.h>

#define SNIPPET_MAX 160 /* bytes shown of a line */
#define SPANS_SHOWN 5	/* as in Hermes */
#define SECTIONS_SHOWN 3
#define SECTION_LINES 7
#define COMPARED_MAX 2000000  /* bytes of the text that are compared for likeness */
#define LINE_COMPARED_MAX 400 /* bytes of a line that are compared */
#define LIKENESS_MIN 50	      /* per cent; less is not worth showing */

struct line {
	const char *text;
	size_t length; /* without its line end */
};

/* Takes the line at *at out of `text` and moves *at behind it; false at the end. */
static bool
next_line(const struct edit_text *text, size_t *at, struct line *line)
{
	const char *start = text->bytes + *at, *newline;

	if (*at >= text->length)
		return false;
	newline = memchr(start, '\n', text->length - *at);
	line->text = start;
	line->length = newline != NULL ? (size_t)(newline - start) : text->length - *at;
	*at += line->length + (newline != NULL ? 1 : 0);
	if (line->length > 0 && start[line->length - 1] == '\r')
		line->length--;
	return true;
}

static void
strip(struct line *line)
{
	while (line->length > 0 && (line->text[0] == ' ' || line->text[0] == '\t')) {
		line->text++;
		line->length--;
	}
	while (line->length > 0 &&
	       (line->text[line->length - 1] == ' ' || line->text[line->length - 1] == '\t'))
		line->length--;
}

/* The number in front of "|", 0 when there is none. */
static long
line_number(const struct line *line)
{
	long number = 0;
	size_t i = 0;

	while (i < line->length && line->text[i] == ' ')
		i++;
	for (; i < line->length && line->text[i] >= '0' && line->text[i] <= '9'; i++) {
		number = number * 10 + (line->text[i] - '0');
		if (number > 100000000)
			return 0;
	}
	return i < line->length && line->text[i] == '|' ? number : 0;
}

bool
edit_hints_numbered(const struct edit_text *text, size_t least)
{
	struct line line;
	size_t at = 0, lines = 0, numbered = 0;
	long number, last = 0;

	while (next_line(text, &at, &line)) {
		strip(&line);
		if (line.length == 0)
			continue;
		lines++;
		number = line_number(&line);
		if (number > 0 && (last == 0 || number == last + 1))
			numbered++;
		if (number > 0)
			last = number;
	}
	return lines > 0 && numbered >= least && numbered * 10 >= lines * 6;
}

static void
append_snippet(struct buffer *out, const struct line *line)
{
	size_t shown = utf8_floor(line->text, line->length, SNIPPET_MAX);

	(void)buffer_append(out, line->text, shown < line->length ? shown : line->length);
	if (shown < line->length)
		(void)buffer_append_text(out, "...");
}

void
edit_hints_spans(
    const struct edit_text *text, const struct edit_spans *spans, struct buffer *out)
{
	struct line line;
	size_t i, at, last = 0, number = 1;

	for (i = 0; i < spans->count && i < SPANS_SHOWN; i++) {
		at = spans->items[i].start;
		number += edit_line_number(text->bytes + last, at - last) - 1;
		last = at;
		while (at > 0 && text->bytes[at - 1] != '\n' &&
		       spans->items[i].start - at < SNIPPET_MAX / 2)
			at--;
		if (next_line(text, &at, &line)) {
			(void)buffer_printf(out, "\nL%zu: ", number);
			append_snippet(out, &line);
		}
	}
	if (spans->count > SPANS_SHOWN)
		(void)buffer_append_text(out, "\n...");
}

void
edit_hints_lines(
    const struct edit_text *text, size_t start, size_t end, size_t most, struct buffer *out)
{
	size_t number = edit_line_number(text->bytes, start), i;
	struct line line;

	while (start > 0 && text->bytes[start - 1] != '\n')
		start--;
	for (i = 0; i < most && start < end && next_line(text, &start, &line); i++) {
		(void)buffer_printf(out, "\n%zu|", number++);
		append_snippet(out, &line);
	}
	if (start < end)
		(void)buffer_append_text(out, "\n...");
}

/* Pairs of neighbouring bytes, counted in 256 slots: cheap, and good enough to suggest. */
struct profile {
	unsigned short counts[256];
	size_t total;
};

static void
profile_line(struct profile *profile, const struct line *line)
{
	size_t i, length = line->length < LINE_COMPARED_MAX ? line->length : LINE_COMPARED_MAX;

	memset(profile, 0, sizeof *profile);
	for (i = 0; i + 1 < length; i++)
		profile->counts[((unsigned char)line->text[i] * 31u +
				    (unsigned char)line->text[i + 1]) &
				0xff]++;
	profile->total = length > 0 ? length - 1 : 0;
}

/* Dice's coefficient in per cent. */
static unsigned
likeness(const struct profile *a, const struct profile *b)
{
	size_t shared = 0, i;

	if (a->total + b->total == 0)
		return 0;
	for (i = 0; i < 256; i++)
		shared += a->counts[i] < b->counts[i] ? a->counts[i] : b->counts[i];
	return (unsigned)(200 * shared / (a->total + b->total));
}

struct section {
	size_t start; /* byte offset of the line */
	unsigned likeness;
};

/* Keeps the best few, best first. */
static void
offer(struct section *best, const struct section *candidate)
{
	size_t i, j;

	for (i = 0; i < SECTIONS_SHOWN; i++)
		if (candidate->likeness > best[i].likeness) {
			for (j = SECTIONS_SHOWN - 1; j > i; j--)
				best[j] = best[j - 1];
			best[i] = *candidate;
			return;
		}
}

/* The longest line of `old` (stripped): the one that says most about the place. */
static size_t
telling_line(const struct edit_text *old, struct line *telling)
{
	struct line line;
	size_t at = 0, index = 0, i;

	telling->length = 0;
	for (i = 0; next_line(old, &at, &line); i++) {
		strip(&line);
		if (line.length > telling->length) {
			*telling = line;
			index = i;
		}
	}
	return index;
}

static void
append_sections(const struct edit_text *text, const struct edit_text *old, struct buffer *out)
{
	struct section best[SECTIONS_SHOWN] = {{0, 0}}, candidate;
	struct profile wanted, found;
	struct line line;
	size_t at = 0, index = telling_line(old, &line), i, back, end;

	profile_line(&wanted, &line);
	for (candidate.start = 0; at < COMPARED_MAX && next_line(text, &at, &line);
	     candidate.start = at) {
		strip(&line);
		profile_line(&found, &line);
		candidate.likeness = likeness(&wanted, &found);
		if (candidate.likeness >= LIKENESS_MIN)
			offer(best, &candidate);
	}
	if (best[0].likeness == 0)
		return;
	(void)buffer_append_text(out, "\nDid you mean one of these sections?");
	for (i = 0; i < SECTIONS_SHOWN && best[i].likeness > 0; i++) {
		at = best[i].start;
		for (back = index < SECTION_LINES / 2 ? index : SECTION_LINES / 2;
		     back > 0 && at > 0; back--)
			for (at--; at > 0 && text->bytes[at - 1] != '\n';)
				at--;
		end = at;
		for (back = 0; back < SECTION_LINES && next_line(text, &end, &line); back++)
			continue;
		edit_hints_lines(text, at, end, SECTION_LINES, out);
		(void)buffer_append_text(out, "\n--");
	}
}

/* `old` with every escape of `from` replaced by the byte of `to`; false when it has none. */
static bool
unescape(const struct edit_text *old, const char *from, const char *to, struct buffer *out)
{
	const char *which;
	size_t i;
	bool changed = false;

	for (i = 0; i < old->length; i++) {
		which =
		    old->bytes[i] == '\\' && i + 1 < old->length && old->bytes[i + 1] != '\0'
			? strchr(from, old->bytes[i + 1])
			: NULL;
		if (which != NULL) {
			(void)buffer_append_byte(out, to[which - from]);
			changed = true;
			i++;
		} else {
			(void)buffer_append_byte(out, old->bytes[i]);
		}
	}
	return changed && !out->failed;
}

static bool
found_unescaped(
    const struct edit_text *text, const struct edit_text *old, const char *from, const char *to)
{
	struct buffer plain = BUFFER_EMPTY;
	struct edit_text needle;
	struct edit_spans spans = {NULL, 0, false};

	if (unescape(old, from, to, &plain)) {
		needle.bytes = buffer_text(&plain);
		needle.length = plain.length;
		edit_search(
		    text, 0, &needle, EDIT_FOLD_LINE_ENDS | EDIT_FOLD_TRAILING, false, &spans);
	}
	buffer_free(&plain);
	free(spans.items);
	return spans.count > 0;
}

void
edit_hints_missing(
    const struct edit_text *text, const struct edit_text *old, struct buffer *out)
{
	(void)buffer_append_text(out, "The old text was not found.");
	if (edit_hints_numbered(old, 1))
		(void)buffer_append_text(out,
		    " Its lines begin with line numbers (\"12|\"), which "
		    "read_file adds and the file does not have: leave "
		    "them out.");
	else if (found_unescaped(text, old, "nt", "\n\t"))
		(void)buffer_append_text(out,
		    " It has a backslash and a letter (\\n or \\t) where "
		    "the file has a real line break or tab: send the "
		    "real characters.");
	else if (found_unescaped(text, old, "'\"", "'\""))
		(void)buffer_append_text(out,
		    " It has backslashes before quotes (\\' or \\\") that "
		    "the file does not have: leave them out, in the new "
		    "text too.");
	else
		(void)buffer_append_text(out,
		    " It must be in the file as it stands, with the same "
		    "characters, indentation and line breaks.");
	append_sections(text, old, out);
}
