/*
 * Search in folded text. Places found there are traced back by reading the text a second
 * time; a place in the middle of a folded character is no match.
 */
#include <config.h>

#include "worker/tools/edit_search.h"

#include "common/alloc.h"
#include "common/utf8.h"
#include "worker/tools/edit_fold.h"

#include <stdlib.h>
#include <string.h>

#define FALSE_HITS_MAX 10000 /* places that turned out not to count; then the search ends */

/* Reads the text again to turn ascending places of the folded text into places of its own. */
struct trace {
	struct edit_fold fold;
	struct edit_piece piece;
	size_t source; /* where the piece starts in the text */
	size_t folded; /* and in the folded text */
};

static void
trace_begin(struct trace *trace, const struct edit_text *text, size_t from, unsigned flags)
{
	memset(trace, 0, sizeof *trace);
	edit_fold_begin(&trace->fold, text->bytes + from, text->length - from, flags, true);
}

/* Moves to the piece that holds folded byte `place`. */
static bool
trace_to(struct trace *trace, size_t place)
{
	while (place >= trace->folded + trace->piece.length) {
		trace->folded += trace->piece.length;
		trace->source = trace->fold.at;
		if (!edit_fold_next(&trace->fold, &trace->piece))
			return false;
	}
	return true;
}

/* The source place of folded `place` as the start of a passage. */
static bool
trace_start(struct trace *trace, size_t place, size_t *source)
{
	if (!trace_to(trace, place))
		return false;
	if (!trace->piece.same && place != trace->folded)
		return false;
	*source = trace->source + (place - trace->folded);
	return true;
}

/* Likewise as its end, from the last byte in it. */
static bool
trace_end(struct trace *trace, size_t place, size_t *source)
{
	if (!trace_to(trace, place - 1))
		return false;
	if (!trace->piece.same && place != trace->folded + trace->piece.length)
		return false;
	*source = trace->piece.same ? trace->source + (place - trace->folded) : trace->fold.at;
	return true;
}

static size_t
skip_blanks(const struct edit_text *text, size_t at)
{
	while (at < text->length && (text->bytes[at] == ' ' || text->bytes[at] == '\t'))
		at++;
	return at;
}

/* A line of nothing but blanks reads like an empty one, so that a passage that begins with it
 * is found behind its blanks: they belong to it all the same. */
static void
take_blank_line(const struct edit_text *text, struct edit_span *span)
{
	size_t start = span->start;

	if (text->bytes[start] != '\n' && text->bytes[start] != '\r')
		return;
	while (start > 0 && (text->bytes[start - 1] == ' ' || text->bytes[start - 1] == '\t'))
		start--;
	if (start == 0 || text->bytes[start - 1] == '\n')
		span->start = start;
}

/* The passage ends where a line does. */
static bool
ends_line(const struct edit_text *text, size_t end, unsigned flags)
{
	if (end == text->length || text->bytes[end - 1] == '\n')
		return true;
	if ((flags & EDIT_FOLD_TRAILING) != 0)
		end = skip_blanks(text, end);
	return end == text->length ||
	       edit_fold_line_end(text->bytes + end, text->length - end) > 0;
}

static bool
acceptable(
    const struct edit_text *text, struct edit_span *span, unsigned flags, bool whole_lines)
{
	uint32_t code;

	if ((flags & EDIT_FOLD_TRAILING) != 0)
		take_blank_line(text, span);
	if ((flags & EDIT_FOLD_LEADING) != 0)
		while (span->start > 0 && text->bytes[span->start - 1] != '\n')
			span->start--;
	if ((flags & EDIT_FOLD_LOOKALIKES) != 0 &&
	    utf8_decode(text->bytes + span->end, text->length - span->end, &code) > 0 &&
	    edit_fold_combining(code))
		return false;
	if (!whole_lines)
		return true;
	return (span->start == 0 || text->bytes[span->start - 1] == '\n') &&
	       ends_line(text, span->end, flags);
}

static void
add_span(struct edit_spans *spans, size_t *room, const struct edit_span *span)
{
	if (spans->count == *room) {
		*room = *room > 0 ? 2 * *room : 8;
		spans->items = xreallocarray(spans->items, *room, sizeof *spans->items);
	}
	spans->items[spans->count++] = *span;
}

/* The needle occurs again, overlapping its first occurrence at `place`; as whole lines where
 * only those count. */
static bool
overlaps(const struct edit_text *folded, size_t place, const struct edit_text *needle,
    bool whole_lines)
{
	const char *at = folded->bytes + place + 1, *end, *hit;
	size_t window = 2 * (needle->length - 1), left = folded->length - place - 1;

	if (needle->length < 2)
		return false;
	end = at + (window < left ? window : left);
	while ((hit = memmem(at, (size_t)(end - at), needle->bytes, needle->length)) != NULL) {
		if (!whole_lines || hit[-1] == '\n')
			return true;
		at = hit + 1;
	}
	return false;
}

/* Searches `folded` (what `text` reads as from `from` on) for `needle`. */
static void
search_folded(const struct edit_text *text, size_t from, const struct edit_text *folded,
    const struct edit_text *needle, unsigned flags, bool whole_lines, struct edit_spans *spans)
{
	struct trace starts,
	    ends; /* two, because a place that does not count moves `ends` on */
	struct edit_span span;
	size_t at = 0, room = 0, misses = 0, place;
	const char *hit;

	trace_begin(&starts, text, from, flags);
	trace_begin(&ends, text, from, flags);
	while (misses < FALSE_HITS_MAX && at < folded->length &&
	       (hit = memmem(folded->bytes + at, folded->length - at, needle->bytes,
		    needle->length)) != NULL) {
		place = (size_t)(hit - folded->bytes);
		at = place + 1;
		misses++;
		if ((flags & EDIT_FOLD_LEADING) != 0 && place > 0 && hit[-1] != '\n')
			continue;
		if (!trace_start(&starts, place, &span.start) ||
		    !trace_end(&ends, place + needle->length, &span.end))
			continue;
		span.start += from;
		span.end += from;
		if (!acceptable(text, &span, flags, whole_lines))
			continue;
		add_span(spans, &room, &span);
		at = place + needle->length;
		misses = 0;
		if (spans->count == 1)
			spans->overlapping = overlaps(folded, place, needle, whole_lines);
	}
}

void
edit_search(const struct edit_text *text, size_t from, const struct edit_text *old,
    unsigned flags, bool whole_lines, struct edit_spans *spans)
{
	struct buffer folded_text = BUFFER_EMPTY, folded_old = BUFFER_EMPTY;
	struct edit_text folded = {text->bytes + from, text->length - from}, needle = *old;

	memset(spans, 0, sizeof *spans);
	if (flags != 0) {
		edit_fold_all(old->bytes, old->length, flags, false, &folded_old);
		edit_fold_all(folded.bytes, folded.length, flags, true, &folded_text);
		folded.bytes = buffer_text(&folded_text);
		folded.length = folded_text.length;
		needle.bytes = buffer_text(&folded_old);
		needle.length = folded_old.length;
	}
	if (needle.length > 0 && !folded_text.failed && !folded_old.failed)
		search_folded(text, from, &folded, &needle, flags, whole_lines, spans);
	buffer_free(&folded_text);
	buffer_free(&folded_old);
}
