/*
 * Translating indentation. It must never move lines of one text by different amounts, and
 * never mix tabs and blanks where the file does not.
 */
#include <config.h>

#include "worker/tools/edit_indent.h"

#include "common/alloc.h"
#include "worker/tools/edit_fold.h"

#include <stdlib.h>
#include <string.h>

#define TAB_WIDTH_MAX 8 /* columns that one tab may stand for */

enum translation {
	TRANSLATE_ADD,	     /* `prefix` goes in front */
	TRANSLATE_REMOVE,    /* `prefix` goes away */
	TRANSLATE_TO_TABS,   /* the file has tabs, the model blanks */
	TRANSLATE_TO_BLANKS, /* the other way round */
	TRANSLATE_KNOWN	     /* only indentation that occurs in the old text */
};

struct indent_line {
	struct edit_text indent;
	struct edit_text rest; /* with its line end */
	bool blank;
};

struct indent_lines {
	struct indent_line *items;
	size_t count;
};

struct indent_rule {
	enum translation kind;
	struct edit_text prefix;
	long width, shift; /* columns = tabs * width; blanks + shift = columns */
	const struct indent_lines *file, *old;
	size_t first; /* lines before it were not looked at */
};

static void
split(struct indent_lines *lines, const struct edit_text *text)
{
	size_t at = 0, end, room = 0;
	const char *newline;
	struct indent_line *line;

	while (at < text->length) {
		if (lines->count == room) {
			room = room > 0 ? 2 * room : 16;
			lines->items = xreallocarray(lines->items, room, sizeof *line);
		}
		line = &lines->items[lines->count++];
		newline = memchr(text->bytes + at, '\n', text->length - at);
		end = newline != NULL ? (size_t)(newline - text->bytes) + 1 : text->length;
		line->indent.bytes = text->bytes + at;
		while (at < end && (text->bytes[at] == ' ' || text->bytes[at] == '\t'))
			at++;
		line->indent.length = (size_t)(text->bytes + at - line->indent.bytes);
		line->rest.bytes = text->bytes + at;
		line->rest.length = end - at;
		line->blank = end == at || edit_fold_line_end(line->rest.bytes, end - at) > 0;
		at = end;
	}
}

static bool
same(const struct edit_text *a, const struct edit_text *b)
{
	return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

static bool
only(const struct edit_text *text, char byte)
{
	size_t i;

	for (i = 0; i < text->length; i++)
		if (text->bytes[i] != byte)
			return false;
	return true;
}

/* True when `whole` is `front` followed by `back`. */
static bool
joined(
    const struct edit_text *whole, const struct edit_text *front, const struct edit_text *back)
{
	return whole->length == front->length + back->length &&
	       memcmp(whole->bytes, front->bytes, front->length) == 0 &&
	       memcmp(whole->bytes + front->length, back->bytes, back->length) == 0;
}

static size_t
next_line(const struct indent_rule *rule, size_t i)
{
	while (i < rule->old->count && rule->old->items[i].blank)
		i++;
	return i;
}

/* One prefix is added to (or removed from) every line. */
static bool
find_prefix(struct indent_rule *rule, bool add)
{
	const struct indent_lines *longer = add ? rule->file : rule->old;
	const struct indent_lines *shorter = add ? rule->old : rule->file;
	size_t i = next_line(rule, rule->first);

	if (i == rule->old->count ||
	    longer->items[i].indent.length < shorter->items[i].indent.length)
		return false;
	rule->kind = add ? TRANSLATE_ADD : TRANSLATE_REMOVE;
	rule->prefix.bytes = longer->items[i].indent.bytes;
	rule->prefix.length = longer->items[i].indent.length - shorter->items[i].indent.length;
	for (; i < rule->old->count; i = next_line(rule, i + 1))
		if (!joined(&longer->items[i].indent, &rule->prefix, &shorter->items[i].indent))
			return false;
	return true;
}

/* Width of a tab from two lines of different depth; 0 when all are alike, -1 when they
 * contradict each other. */
static long
tab_width(const struct indent_lines *tabs, const struct indent_lines *blanks,
    const struct indent_rule *rule)
{
	size_t base = next_line(rule, rule->first), i;
	long width = 0, tab_step, blank_step;

	for (i = base; i < rule->old->count; i = next_line(rule, i + 1)) {
		tab_step =
		    (long)tabs->items[i].indent.length - (long)tabs->items[base].indent.length;
		blank_step = (long)blanks->items[i].indent.length -
			     (long)blanks->items[base].indent.length;
		if (tab_step == 0 && blank_step == 0)
			continue;
		if (tab_step == 0 || blank_step % tab_step != 0)
			return -1;
		if (width != 0 && blank_step / tab_step != width)
			return -1;
		width = blank_step / tab_step;
		if (width < 1 || width > TAB_WIDTH_MAX)
			return -1;
	}
	return width;
}

/* Tabs on one side stand for a fixed number of blanks on the other. */
static bool
find_width(struct indent_rule *rule, bool to_tabs)
{
	const struct indent_lines *tabs = to_tabs ? rule->file : rule->old;
	const struct indent_lines *blanks = to_tabs ? rule->old : rule->file;
	size_t base = next_line(rule, rule->first), i;
	long tab_count, blank_count;

	for (i = base; i < rule->old->count; i = next_line(rule, i + 1))
		if (!only(&tabs->items[i].indent, '\t') || !only(&blanks->items[i].indent, ' '))
			return false;
	if (base == rule->old->count)
		return false;
	tab_count = (long)tabs->items[base].indent.length;
	blank_count = (long)blanks->items[base].indent.length;
	rule->kind = to_tabs ? TRANSLATE_TO_TABS : TRANSLATE_TO_BLANKS;
	rule->width = tab_width(tabs, blanks, rule);
	if (rule->width == -1)
		return false;
	if (rule->width == 0 && tab_count > 0 && blank_count % tab_count == 0 &&
	    blank_count / tab_count >= 1 && blank_count / tab_count <= TAB_WIDTH_MAX)
		rule->width = blank_count / tab_count;
	if (rule->width == 0)
		rule->kind = TRANSLATE_KNOWN;
	rule->shift = tab_count * rule->width - blank_count;
	return true;
}

static bool
find_rule(struct indent_rule *rule)
{
	return find_prefix(rule, true) || find_prefix(rule, false) || find_width(rule, true) ||
	       find_width(rule, false);
}

/* How the file writes an indentation that the old text has; NULL when it has it not. */
static const struct edit_text *
known_indent(const struct indent_rule *rule, const struct edit_text *indent)
{
	size_t i;

	for (i = next_line(rule, rule->first); i < rule->old->count; i = next_line(rule, i + 1))
		if (same(&rule->old->items[i].indent, indent))
			return &rule->file->items[i].indent;
	return NULL;
}

static bool
has(const struct edit_text *text, char byte)
{
	return text->length > 0 && memchr(text->bytes, byte, text->length) != NULL;
}

static bool
append_run(struct buffer *out, char byte, long count)
{
	if (count < 0)
		return false;
	for (; count > 0; count--)
		(void)buffer_append_byte(out, byte);
	return true;
}

static bool
append_indent(
    const struct indent_rule *rule, const struct edit_text *indent, struct buffer *out)
{
	const struct edit_text *known = known_indent(rule, indent);
	const struct edit_text *prefix = &rule->prefix;
	long length = (long)indent->length;

	if (known != NULL)
		return buffer_append(out, known->bytes, known->length) == 0;
	switch (rule->kind) {
	case TRANSLATE_ADD:
		if ((has(prefix, '\t') && has(indent, ' ')) ||
		    (has(prefix, ' ') && has(indent, '\t')))
			return false;
		(void)buffer_append(out, prefix->bytes, prefix->length);
		return buffer_append(out, indent->bytes, indent->length) == 0;
	case TRANSLATE_REMOVE:
		if (indent->length < prefix->length ||
		    memcmp(indent->bytes, prefix->bytes, prefix->length) != 0)
			return false;
		return buffer_append(out, indent->bytes + prefix->length,
			   indent->length - prefix->length) == 0;
	case TRANSLATE_TO_TABS:
		return only(indent, ' ') && (length + rule->shift) % rule->width == 0 &&
		       append_run(out, '\t', (length + rule->shift) / rule->width);
	case TRANSLATE_TO_BLANKS:
		return only(indent, '\t') &&
		       append_run(out, ' ', length * rule->width - rule->shift);
	case TRANSLATE_KNOWN:
		break;
	}
	return false;
}

/* Blank lines stay as they are; so does the first line when it starts behind its indentation.
 */
static bool
translate(const struct indent_rule *rule, const struct indent_lines *lines, struct buffer *out)
{
	const struct indent_line *line;
	size_t i;

	for (i = 0; i < lines->count; i++) {
		line = &lines->items[i];
		if (i < rule->first && line->indent.length > 0)
			return false;
		if (line->blank)
			(void)buffer_append(out, line->indent.bytes, line->indent.length);
		else if (i >= rule->first && !append_indent(rule, &line->indent, out))
			return false;
		(void)buffer_append(out, line->rest.bytes, line->rest.length);
	}
	return !out->failed;
}

bool
edit_indent_adapt(const struct edit_text *passage, const struct edit_text *old,
    const struct edit_text *new, struct buffer *adapted_old, struct buffer *adapted_new,
    size_t *skip)
{
	struct indent_lines file_lines = {NULL, 0}, old_lines = {NULL, 0},
			    new_lines = {NULL, 0};
	struct indent_rule rule = {.file = &file_lines, .old = &old_lines};
	bool found = false;

	split(&file_lines, passage);
	split(&old_lines, old);
	split(&new_lines, new);
	*skip = 0;
	if (file_lines.count == old_lines.count && old_lines.count > 0) {
		found = find_rule(&rule);
		if (!found && old_lines.items[0].indent.length == 0 &&
		    !old_lines.items[0].blank) {
			rule.first = 1;
			*skip = file_lines.items[0].indent.length;
			found = find_rule(&rule);
		}
	}
	found = found && translate(&rule, &old_lines, adapted_old) &&
		translate(&rule, &new_lines, adapted_new);
	free(file_lines.items);
	free(old_lines.items);
	free(new_lines.items);
	return found;
}
