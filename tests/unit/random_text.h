/*
 * Random texts for the tests of edits, kept as lines in parts, so that what an edit of one part
 * must lead to is known without any matching: indentation, words, blanks at the end, line end.
 */
#ifndef HERMES_TESTS_UNIT_RANDOM_TEXT_H
#define HERMES_TESTS_UNIT_RANDOM_TEXT_H

#include "common/buffer.h"
#include "tests/unit/seeded_random.h"

#include <stdbool.h>
#include <string.h>

#define RANDOM_LINES 24
#define RANDOM_WORDS 5

struct random_line {
	unsigned depth;
	bool tabs; /* else four spaces for a level */
	const char *words[RANDOM_WORDS + 1];
	size_t word_count;
	unsigned number; /* one more word; 0: none */
	const char *trailing;
	const char *line_end;
};

struct random_text {
	struct random_line lines[RANDOM_LINES + 1];
	size_t count;
	bool ends;	     /* the last line has its line end */
	bool mark;	     /* a byte order mark stands in front */
	const char *foreign; /* bytes at the end that make it no UTF-8; or NULL */
};

/* How a model sees and repeats lines: always with LF. */
#define RANDOM_VIEW_TRAILING 1u /* without blanks at the end */
#define RANDOM_VIEW_INDENT 2u	/* tabs as spaces; spaces deeper by `shift` levels */
#define RANDOM_VIEW_ASCII 4u	/* without typographic characters */
#define RANDOM_VIEW_ALL 7u

struct random_view {
	unsigned flags;
	size_t shift;
};

/* Typographic words and how a model writes them. */
static const char *const random_typographic[][2] = {
    {"\xe2\x80\x9cquoted\xe2\x80\x9d", "\"quoted\""}, {"it\xe2\x80\x99s", "it's"},
    {"a\xe2\x80\x94z", "a-z"}, {"10\xc2\xa0km", "10 km"}, {"and\xe2\x80\xa6", "and..."}};

static const char *const random_plain[] = {"if", "return", "value", "=", "x;", "{", "}",
    "\"text\"", "'c'", "a->b", "\\n", "- [ ]", "caf\xc3\xa9", "cafe\xcc\x81",
    "\xe4\xb8\xad\xe6\x96\x87", "\xf0\x9f\x98\x80", "a\rb", "x\xef\xbb\xbf", "%s", "$1", "\\1",
    "\xef\xbc\xa1", "#", "//", "@@", "***"};

#define RANDOM_PICK(seed, array)                                                               \
	(array)[seeded_random_below(seed, sizeof(array) / sizeof(array)[0])]

static inline void
random_line_make(struct random_line *line, uint64_t *seed, unsigned style, unsigned number)
{
	static const char *const blanks[] = {" ", "\t", "  ", " \t "};
	size_t i;

	memset(line, 0, sizeof *line);
	line->depth = (unsigned)seeded_random_below(seed, 4);
	line->tabs = (style & 1) != 0;
	line->word_count = seeded_random_below(seed, RANDOM_WORDS);
	for (i = 0; i < line->word_count; i++)
		line->words[i] = seeded_random_below(seed, 6) == 0
				     ? RANDOM_PICK(seed, random_typographic)[0]
				     : RANDOM_PICK(seed, random_plain);
	if (line->word_count > 0 && seeded_random_below(seed, 4) > 0)
		line->number = number + 1;
	line->trailing = seeded_random_below(seed, 6) == 0 ? RANDOM_PICK(seed, blanks) : "";
	line->line_end = (style & 2) != 0 ? "\r\n" : "\n";
	if ((style & 12) == 12 && seeded_random_below(seed, 3) == 0)
		line->line_end = (style & 2) != 0 ? "\n" : "\r\n";
}

static inline void
random_text_make(struct random_text *text, uint64_t *seed)
{
	static const char *const foreign[] = {"caf\xe9", "\xff\xfe", "\xc3"};
	unsigned style = (unsigned)seeded_random_below(seed, 16), i;

	text->count = 1 + seeded_random_below(seed, RANDOM_LINES);
	for (i = 0; i < text->count; i++)
		if (i > 0 && seeded_random_below(seed, 10) == 0)
			text->lines[i] = text->lines[seeded_random_below(seed, i)];
		else
			random_line_make(&text->lines[i], seed, style, i);
	/* An empty line at the end is none without its line end. */
	text->ends =
	    seeded_random_below(seed, 5) > 0 || text->lines[text->count - 1].word_count == 0;
	if (!text->ends)
		text->lines[text->count - 1].line_end =
		    text->count > 1 ? text->lines[text->count - 2].line_end : "\n";
	text->mark = seeded_random_below(seed, 8) == 0;
	text->foreign = seeded_random_below(seed, 30) == 0 ? RANDOM_PICK(seed, foreign) : NULL;
}

static inline void
random_line_words(const struct random_line *line, bool ascii, struct buffer *out)
{
	const char *word;
	size_t i, j;

	for (i = 0; i < line->word_count; i++) {
		word = line->words[i];
		for (j = 0;
		     ascii && j < sizeof random_typographic / sizeof random_typographic[0]; j++)
			if (strcmp(word, random_typographic[j][0]) == 0)
				word = random_typographic[j][1];
		buffer_printf(out, "%s%s", i > 0 ? " " : "", word);
	}
	if (line->number > 0)
		buffer_printf(out, " id%u", line->number);
}

static inline void
random_line_view(
    const struct random_line *line, const struct random_view *view, struct buffer *out)
{
	bool deeper = (view->flags & RANDOM_VIEW_INDENT) != 0;
	size_t depth = line->depth + (deeper && !line->tabs ? view->shift : 0), i;

	/* A line of blanks has no indentation to be shifted. */
	if (line->word_count == 0)
		depth = line->depth;
	for (i = 0; i < depth; i++)
		buffer_append_text(
		    out, line->tabs && !(deeper && line->word_count > 0) ? "\t" : "    ");
	random_line_words(line, (view->flags & RANDOM_VIEW_ASCII) != 0, out);
	if ((view->flags & RANDOM_VIEW_TRAILING) == 0)
		buffer_append_text(out, line->trailing);
}

static inline void
random_text_write(const struct random_text *text, struct buffer *out)
{
	static const struct random_view as_it_is = {0, 0};
	size_t i;

	if (text->mark)
		buffer_append_text(out, "\xef\xbb\xbf");
	for (i = 0; i < text->count; i++) {
		random_line_view(&text->lines[i], &as_it_is, out);
		if (i + 1 < text->count || text->ends)
			buffer_append_text(out, text->lines[i].line_end);
	}
	if (text->foreign != NULL)
		buffer_append_text(out, text->foreign);
}

static inline void
random_text_insert(struct random_text *text, size_t at, const struct random_line *line)
{
	memmove(
	    text->lines + at + 1, text->lines + at, (text->count - at) * sizeof text->lines[0]);
	text->lines[at] = *line;
	text->count++;
}

static inline void
random_text_delete(struct random_text *text, size_t at)
{
	memmove(text->lines + at, text->lines + at + 1,
	    (text->count - at - 1) * sizeof text->lines[0]);
	text->count--;
}

static inline bool
random_text_has_end(const struct random_text *text, const char *line_end)
{
	size_t i;

	for (i = 0; i < text->count; i++)
		if (strcmp(text->lines[i].line_end, line_end) == 0)
			return true;
	return false;
}

/* The words of one line, blanks left out. */
static inline void
random_line_fold(const struct random_line *line, struct buffer *out)
{
	random_line_words(line, true, out);
}

/* In how many places the words of a passage stand, whatever lies around them. */
static inline size_t
random_text_places(const struct random_text *text, size_t first, size_t count)
{
	struct buffer a = BUFFER_EMPTY, b = BUFFER_EMPTY;
	const char *found;
	size_t i, places = 0;

	for (i = 0; i < text->count; i++) {
		random_line_fold(&text->lines[i], &a);
		buffer_append_byte(&a, '\n');
	}
	for (i = first; i < first + count; i++) {
		random_line_fold(&text->lines[i], &b);
		if (i + 1 < first + count)
			buffer_append_byte(&b, '\n');
	}
	for (found = buffer_text(&a);
	     b.length > 0 && (found = strstr(found, buffer_text(&b))) != NULL; found++)
		places++;
	buffer_free(&a);
	buffer_free(&b);
	return places;
}

#endif
