/*
 * Numbered lines out of a text that comes in pieces. It must hold no more than one line of
 * bounded length beside what it hands out.
 */
#include <config.h>

#include "worker/tools/line_window.h"

#include "common/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for a full line of the longest characters and a line end. */
#define LINE_BYTES_MAX ((size_t)LINE_CHARACTERS_MAX * 4 + 8)

static const char cut_mark[] = "... [truncated]";

static bool
wants(const struct line_window *window)
{
	return !window->full && window->lines >= window->first &&
	       window->lines - window->first < window->count;
}

bool
line_window_skips(const struct line_window *window)
{
	return window->in_line && (window->skip_line || !wants(window));
}

static void
add_line(struct line_window *window, const char *text, size_t length, bool cut)
{
	char number[24];
	int digits = snprintf(number, sizeof number, "%" PRId64 "|", window->lines);
	size_t characters = utf8_count(text, length) + (size_t)digits + 1;

	if (cut)
		characters += sizeof cut_mark - 1;
	if (window->characters + characters > WINDOW_CHARACTERS_MAX) {
		window->cut_size = window->full = true;
		return;
	}
	window->characters += characters;
	if (window->shown++ > 0)
		buffer_append_byte(&window->content, '\n');
	buffer_append(&window->content, number, (size_t)digits);
	buffer_append(&window->content, text, length);
	if (window->plain.length < WINDOW_PLAIN_MAX) {
		buffer_append(&window->plain, text, length);
		buffer_append_byte(&window->plain, '\n');
	}
	if (cut) {
		window->cut_line = true;
		buffer_append_text(&window->content, cut_mark);
	}
	if (window->shown == window->count)
		window->full = true;
}

/* Puts the line that was collected into the content. */
static void
finish_line(struct line_window *window, bool more)
{
	struct buffer *line = &window->line;
	size_t length = line->length, limit, clean_length = 0;
	char *clean;

	if (!more && window->separator == '\n' && length > 0 && line->data[length - 1] == '\r')
		length--;
	clean = utf8_clean(length > 0 ? line->data : "", length, &clean_length);
	if (clean != NULL) {
		limit = utf8_offset(clean, clean_length, LINE_CHARACTERS_MAX);
		add_line(window, clean, limit, more || limit < clean_length);
	}
	free(clean);
	buffer_clear(line);
}

static void
take_bytes(struct line_window *window, const char *text, size_t length)
{
	if (!window->in_line) {
		window->in_line = true;
		window->skip_line = false;
		window->lines++;
	}
	if (window->skip_line || !wants(window))
		return;
	if (window->line.length + length > LINE_BYTES_MAX) {
		buffer_append(&window->line, text, LINE_BYTES_MAX - window->line.length);
		finish_line(window, true);
		window->skip_line = true;
		return;
	}
	buffer_append(&window->line, text, length);
}

static void
end_line(struct line_window *window)
{
	if (!window->skip_line && wants(window))
		finish_line(window, false);
	window->in_line = false;
}

void
line_window_feed(struct line_window *window, const char *text, size_t length)
{
	const char *at = text, *end = text + length, *stop;

	while (at < end) {
		stop = memchr(at, window->separator, (size_t)(end - at));
		take_bytes(window, at, (size_t)((stop != NULL ? stop : end) - at));
		if (stop == NULL)
			break;
		end_line(window);
		at = stop + 1;
	}
}

void
line_window_end(struct line_window *window)
{
	if (window->in_line)
		end_line(window);
	window->full = true;
}

void
line_window_clear(struct line_window *window)
{
	buffer_free(&window->content);
	buffer_free(&window->plain);
	buffer_free(&window->line);
}
