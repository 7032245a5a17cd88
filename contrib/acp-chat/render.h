/*
 * What stands on the screen. Everything that comes from the agent goes through here.
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_RENDER_H
#define HERMES_CONTRIB_ACP_CHAT_RENDER_H

#include "common/text_filter.h"

#include <stdbool.h>
#include <stddef.h>

enum render_style {
	STYLE_PLAIN,
	STYLE_DIM,
	STYLE_BOLD,
	STYLE_RED,
	STYLE_GREEN,
	STYLE_YELLOW,
	STYLE_CYAN
};

enum render_flow { FLOW_NONE, FLOW_TEXT, FLOW_THOUGHT };

struct render {
	bool terminal; /* stdout is one */
	bool colour;   /* and may be coloured */
	bool verbose;  /* nothing is shortened */
	bool broken;   /* stdout cannot be written any more */
	/* Private. */
	enum render_flow flow;
	bool inside_line, status_shown;
	struct text_filter filter;
};

void render_open(struct render *render, bool verbose);
/* Streamed text; a change of the flow begins a new paragraph. */
void
render_stream(struct render *render, enum render_flow flow, const char *text, size_t length);
/* Ends what is streamed and the line; the next text is a new paragraph. */
void render_break(struct render *render);
/* One line; what does not belong on one line is taken out. */
void render_line(struct render *render, enum render_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Lines with `margin` in front of each. At most `limit` lines unless verbose (0 = all), then
 * one that tells how many are left out. */
void render_block(struct render *render, enum render_style style, const char *margin,
    const char *text, size_t length, size_t limit);
/* A question or prompt: like a line, and the cursor stays behind it. */
void render_prompt(struct render *render, enum render_style style, const char *text);
/* The user has ended the line that a prompt began. */
void render_prompt_answered(struct render *render);
/* A passing line at the bottom of a terminal, until anything else is shown. */
void render_status(struct render *render, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A message of the program itself, on stderr. */
void render_message(struct render *render, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void render_flush(struct render *render);

#endif
