/*
 * Output. It must never print a byte of the agent that did not pass the filter, and no
 * escape sequence when stdout is no terminal.
 */
#include <config.h>

#include "contrib/acp-chat/render.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_LENGTH_MAX 600

/* In the order of enum render_style (ECMA-48 8.3.117). */
static const char *const style_codes[] = {"", "2", "1", "31", "32", "33", "36"};

void
render_open(struct render *render, bool verbose)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	memset(render, 0, sizeof *render);
	render->verbose = verbose;
	render->terminal = isatty(STDOUT_FILENO);
	render->colour = render->terminal && (no_colour == NULL || *no_colour == '\0') &&
			 (term == NULL || strcmp(term, "dumb") != 0);
}

/* Takes the passing line away. */
static void
clear_status(struct render *render)
{
	if (render->status_shown)
		fputs("\r\033[K", stdout);
	render->status_shown = false;
}

static void
put(struct render *render, enum render_style style, const char *text, size_t length)
{
	bool styled = render->colour && style != STYLE_PLAIN;

	clear_status(render);
	if (length == 0)
		return;
	if (styled)
		printf("\033[%sm", style_codes[style]);
	fwrite(text, 1, length, stdout);
	if (styled)
		fputs("\033[0m", stdout);
	render->inside_line = text[length - 1] != '\n';
}

void
render_break(struct render *render)
{
	if (render->inside_line)
		put(render, STYLE_PLAIN, "\n", 1);
	render->flow = FLOW_NONE;
	render->filter = (struct text_filter)TEXT_FILTER_START;
}

void
render_stream(struct render *render, enum render_flow flow, const char *text, size_t length)
{
	enum render_style style = flow == FLOW_THOUGHT ? STYLE_DIM : STYLE_PLAIN;
	struct buffer clean = BUFFER_EMPTY;

	if (render->flow != flow) {
		render_break(render);
		/* Where nothing is dimmed a word must tell thoughts from text. */
		if (flow == FLOW_THOUGHT && !render->colour)
			put(render, style, "[thought] ", 10);
		render->flow = flow;
	}
	text_filter_append(&render->filter, text, length, &clean);
	put(render, style, buffer_text(&clean), clean.length);
	buffer_free(&clean);
}

static void
put_line(struct render *render, enum render_style style, const char *text, bool end)
{
	struct buffer clean = BUFFER_EMPTY;

	render_break(render);
	text_filter_line(text, LINE_LENGTH_MAX, &clean);
	put(render, style, buffer_text(&clean), clean.length);
	if (end)
		put(render, STYLE_PLAIN, "\n", 1);
	buffer_free(&clean);
}

void
render_line(struct render *render, enum render_style style, const char *format, ...)
{
	struct buffer text = BUFFER_EMPTY;
	va_list arguments;

	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	put_line(render, style, buffer_text(&text), true);
	buffer_free(&text);
}

void
render_prompt(struct render *render, enum render_style style, const char *text)
{
	put_line(render, style, text, false);
	render_flush(render);
}

void
render_prompt_answered(struct render *render)
{
	render->inside_line = false;
}

static size_t
count_lines(const char *text, size_t length)
{
	size_t count = 0;
	const char *end = text + length;

	while (text < end) {
		text = memchr(text, '\n', (size_t)(end - text));
		count++;
		if (text == NULL)
			break;
		text++;
	}
	return count;
}

void
render_block(struct render *render, enum render_style style, const char *margin,
    const char *text, size_t length, size_t limit)
{
	struct text_filter filter = TEXT_FILTER_START;
	struct buffer clean = BUFFER_EMPTY;
	const char *at, *end, *next;
	size_t shown = 0;

	render_break(render);
	text_filter_append(&filter, text, length, &clean);
	at = buffer_text(&clean);
	end = at + clean.length;
	for (; at < end; at = next < end ? next + 1 : end) {
		if (limit > 0 && !render->verbose && shown++ == limit) {
			render_line(render, STYLE_DIM, "%s... %zu more lines", margin,
			    count_lines(at, (size_t)(end - at)));
			break;
		}
		next = memchr(at, '\n', (size_t)(end - at));
		next = next != NULL ? next : end;
		put(render, STYLE_DIM, margin, strlen(margin));
		put(render, style, at, (size_t)(next - at));
		put(render, STYLE_PLAIN, "\n", 1);
	}
	buffer_free(&clean);
}

void
render_status(struct render *render, const char *format, ...)
{
	struct buffer text = BUFFER_EMPTY, clean = BUFFER_EMPTY;
	va_list arguments;

	if (!render->terminal || render->inside_line)
		return;
	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	clear_status(render);
	/* Short, because a line that wraps could not be taken away. */
	text_filter_line(buffer_text(&text), 70, &clean);
	fputs(render->colour ? "\033[2m" : "", stdout);
	fputs(buffer_text(&clean), stdout);
	fputs(render->colour ? "\033[0m" : "", stdout);
	render->status_shown = true;
	render_flush(render);
	buffer_free(&text);
	buffer_free(&clean);
}

void
render_message(struct render *render, const char *format, ...)
{
	struct buffer text = BUFFER_EMPTY, clean = BUFFER_EMPTY;
	va_list arguments;

	render_break(render);
	clear_status(render);
	render_flush(render);
	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	text_filter_line(buffer_text(&text), 4000, &clean);
	fprintf(stderr, "acp-chat: %s\n", buffer_text(&clean));
	buffer_free(&text);
	buffer_free(&clean);
}

void
render_flush(struct render *render)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		render->broken = true;
}
