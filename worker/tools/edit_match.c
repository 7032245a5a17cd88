/*
 * Applying one edit to a text. The ways of looking are tried from strict to tolerant, and the
 * first that finds anything decides. It must never choose between several passages, and
 * never change a byte that the model did not mean to change.
 */
#include <config.h>

#include "worker/tools/edit_match.h"

#include "worker/tools/edit_fold.h"
#include "worker/tools/edit_hints.h"
#include "worker/tools/edit_line.h"
#include "worker/tools/edit_indent.h"
#include "worker/tools/edit_search.h"

#include <stdlib.h>
#include <string.h>

#define ALREADY_MIN                                                                            \
	8 /* bytes, blanks aside, that a new text needs to count as applied                    \
	   * (as in Hermes) */

struct strategy {
	const char *name;
	unsigned flags;
	bool all; /* may be used with replace_all */
};

#define BLANKS (EDIT_FOLD_LINE_ENDS | EDIT_FOLD_TRAILING)

static const struct strategy strategies[] = {
    {"exact", 0, true},
    {"line endings", EDIT_FOLD_LINE_ENDS, true},
    {"trailing blanks", BLANKS, true},
    {"typographic characters", BLANKS | EDIT_FOLD_LOOKALIKES, false},
    {"indentation", BLANKS | EDIT_FOLD_LEADING, true},
    {"indentation and typographic characters",
	BLANKS | EDIT_FOLD_LEADING | EDIT_FOLD_LOOKALIKES, false},
};

static bool
contains(const struct edit_text *text, char byte)
{
	return text->length > 0 && memchr(text->bytes, byte, text->length) != NULL;
}

static bool
plain_ascii(const struct edit_text *text)
{
	size_t i;
	unsigned char bits = 0;

	for (i = 0; i < text->length; i++)
		bits |= (unsigned char)text->bytes[i];
	return bits < 0x80;
}

/* The new text for an exact match: its line ends become those of the file unless the old text
 * shows which ones are meant; `split`: its first line feed is half of a line end, and shows
 * nothing. */
static void
append_exact(
    const struct edit_request *request, const char *line_end, bool split, struct buffer *out)
{
	const char *at = request->new.bytes, *end = at + request->new.length, *newline;
	struct edit_text old = request->old;

	if (split) {
		old.bytes++;
		old.length--;
		if (at < end && *at == '\n') {
			(void)buffer_append_text(out, "\r\n");
			at++;
		}
	}
	if (line_end[0] == '\r' && !contains(&old, '\n'))
		while (at < end && (newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
			(void)buffer_append(out, at, (size_t)(newline - at));
			if (newline == request->new.bytes || newline[-1] != '\r')
				(void)buffer_append_byte(out, '\r');
			(void)buffer_append_byte(out, '\n');
			at = newline + 1;
		}
	(void)buffer_append(out, at, (size_t)(end - at));
}

static bool
append_reindented(const struct edit_text *passage, const struct edit_request *request,
    unsigned flags, const char *line_end, struct buffer *out)
{
	struct buffer old = BUFFER_EMPTY, new = BUFFER_EMPTY;
	struct edit_text rest = *passage, old_text, new_text;
	size_t skip;
	bool fits = edit_indent_adapt(passage, &request->old, &request->new, &old, &new, &skip);

	if (fits) {
		(void)buffer_append(out, passage->bytes, skip);
		rest.bytes += skip;
		rest.length -= skip;
		old_text = (struct edit_text){buffer_text(&old), old.length};
		new_text = (struct edit_text){buffer_text(&new), new.length};
		fits = edit_merge(&rest, &old_text, &new_text,
		    flags & ~(unsigned)EDIT_FOLD_LEADING, line_end, out);
	}
	buffer_free(&old);
	buffer_free(&new);
	return fits;
}

/* Appends what one passage becomes. */
static bool
append_passage(const struct edit_text *text, const struct edit_span *span,
    const struct edit_request *request, unsigned flags, struct buffer *out)
{
	struct edit_text passage = {text->bytes + span->start, span->end - span->start};
	bool split = flags == 0 && passage.length > request->old.length;
	const char *line_end = contains(&passage, '\n')
				   ? edit_line_end(passage.bytes, passage.length)
				   : edit_line_end(text->bytes, text->length);

	if (flags == 0) {
		append_exact(request, line_end, split, out);
		return true;
	}
	if ((flags & EDIT_FOLD_LEADING) != 0)
		return append_reindented(&passage, request, flags, line_end, out);
	return edit_merge(&passage, &request->old, &request->new, flags, line_end, out);
}

static void
refuse_passage(const struct edit_text *text, const struct edit_span *span, unsigned flags,
    struct edit_result *result)
{
	result->outcome = EDIT_REFUSED;
	(void)buffer_append_text(&result->error,
	    (flags & EDIT_FOLD_LEADING) != 0
		? "The old text fits only when indentation is left out, and the lines do not "
		  "all "
		  "differ by the same amount. Send it with the indentation of the file:"
		: "The old text fits only when typographic characters (quotes, dashes, spaces, "
		  "accents) are read as plain ones, and it cannot be told which of them the "
		  "new "
		  "text keeps. Send them as they are in the file:");
	edit_hints_lines(text, span->start, span->end, 20, &result->error);
}

/* An exact match that begins between the two bytes of a line end takes both. */
static void
take_line_end(const struct edit_text *text, unsigned flags, size_t least,
    const struct edit_request *request, struct edit_span *span)
{
	if (flags == 0 && request->old.bytes[0] == '\n' && span->start > least &&
	    text->bytes[span->start - 1] == '\r')
		span->start--;
}

/* Writes the text with all spans replaced. */
static void
replace_spans(const struct edit_text *text, const struct edit_request *request, unsigned flags,
    const struct edit_spans *spans, struct edit_result *result)
{
	size_t i, at = 0;

	for (i = 0; i < spans->count; i++) {
		take_line_end(text, flags, at, request, &spans->items[i]);
		(void)buffer_append(
		    &result->text, text->bytes + at, spans->items[i].start - at);
		if (!append_passage(text, &spans->items[i], request, flags, &result->text)) {
			refuse_passage(text, &spans->items[i], flags, result);
			return;
		}
		at = spans->items[i].end;
	}
	result->end = result->text.length;
	(void)buffer_append(&result->text, text->bytes + at, text->length - at);
	result->count = spans->count;
	result->outcome = EDIT_DONE;
	if (result->text.failed) {
		result->outcome = EDIT_REFUSED;
		(void)buffer_append_text(&result->error, "Out of memory.");
	}
}

static void
report_ambiguous(const struct edit_text *text, const struct strategy *strategy,
    const struct edit_request *request, const struct edit_spans *spans,
    struct edit_result *result)
{
	size_t count = spans->count > 1 ? spans->count : 2;

	result->outcome = EDIT_AMBIGUOUS;
	(void)buffer_printf(&result->error, "The old text occurs %s%zu times%s",
	    spans->overlapping ? "at least " : "", count,
	    spans->overlapping ? " (overlapping)" : "");
	if (strategy->flags != 0)
		(void)buffer_printf(
		    &result->error, " when %s are left out of account", strategy->name);
	(void)buffer_append_text(&result->error,
	    request->replace_all ? "; replace_all needs the exact text:"
				 : "; add lines around it to make it unique, or set "
				   "replace_all to true:");
	edit_hints_spans(text, spans, &result->error);
}

/* Tries one way of looking; false when it finds nothing. */
static bool
try_strategy(const struct edit_text *text, const struct edit_request *request,
    const struct strategy *strategy, struct edit_result *result)
{
	struct edit_spans spans;

	edit_search(
	    text, request->from, &request->old, strategy->flags, request->whole_lines, &spans);
	if (spans.count == 0) {
		free(spans.items);
		return false;
	}
	if (request->first)
		spans.count = 1;
	result->strategy = strategy->name;
	if ((spans.count > 1 && !(request->replace_all && strategy->all)) ||
	    (spans.overlapping && !request->replace_all && !request->first))
		report_ambiguous(text, strategy, request, &spans, result);
	else
		replace_spans(text, request, strategy->flags, &spans, result);
	free(spans.items);
	return true;
}

/* A strategy that folds what neither text has would only repeat an earlier one. */
static bool
worth_trying(const struct strategy *strategy, bool carriage, bool ascii)
{
	if (strategy->flags == EDIT_FOLD_LINE_ENDS)
		return carriage;
	return (strategy->flags & EDIT_FOLD_LOOKALIKES) == 0 || !ascii;
}

/* Bytes that are not blank. */
static size_t
substance(const struct edit_text *text)
{
	size_t i, count = 0;

	for (i = 0; i < text->length; i++)
		count += strchr(" \t\r\n", text->bytes[i]) == NULL;
	return count;
}

static bool
present(const struct edit_text *text, const struct edit_text *part)
{
	struct edit_spans spans;
	bool found;

	edit_search(text, 0, part, BLANKS, false, &spans);
	found = spans.count > 0;
	free(spans.items);
	return found;
}

/* The new text is there and the old is not. A new text that is a part of the old one proves
 * nothing: what was to be removed may still be there in another form. */
static bool
already_applied(const struct edit_text *text, const struct edit_request *request)
{
	return substance(&request->new) >= ALREADY_MIN &&
	       !present(&request->old, &request->new) && present(text, &request->new);
}

/* Nothing has changed in the end: say so in place of claiming success. */
static void
check_unchanged(const struct edit_text *text, struct edit_result *result)
{
	if (result->outcome == EDIT_DONE && result->text.length == text->length &&
	    (text->length == 0 || memcmp(result->text.data, text->bytes, text->length) == 0))
		result->outcome = EDIT_ALREADY;
}

void
edit_match_apply(const struct edit_text *text, const struct edit_request *request,
    struct edit_result *result)
{
	bool carriage = contains(text, '\r') || contains(&request->old, '\r');
	bool ascii = plain_ascii(text) && plain_ascii(&request->old);
	bool found = false;
	size_t i;

	memset(result, 0, sizeof *result);
	for (i = 0; i < sizeof strategies / sizeof strategies[0] && !found; i++)
		if (worth_trying(&strategies[i], carriage, ascii))
			found = try_strategy(text, request, &strategies[i], result);
	check_unchanged(text, result);
	if (found)
		return;
	if (already_applied(text, request)) {
		result->outcome = EDIT_ALREADY;
		return;
	}
	result->outcome = EDIT_NOT_FOUND;
	edit_hints_missing(text, &request->old, &result->error);
}

void
edit_result_clear(struct edit_result *result)
{
	buffer_free(&result->text);
	buffer_free(&result->error);
}
