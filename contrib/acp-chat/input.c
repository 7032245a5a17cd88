/*
 * Standard input, read only when there is something: a terminal in its line mode, a pipe or a
 * file. It never changes flags of the descriptor, which it shares with the shell.
 */
#include <config.h>

#include "contrib/acp-chat/input.h"

#include "common/alloc.h"
#include "common/buffer.h"

#include <event2/event.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_LENGTH_MAX (16U << 20)

struct input {
	struct event *readable;
	struct buffer text;
	input_line on_line;
	void *arg;
	bool reading, ended;
};

/* Hands out one line; false when there is none yet. */
static bool
take_line(struct input *input)
{
	char *line, *newline;
	size_t length;

	if (input->text.length == 0)
		return false;
	newline = memchr(input->text.data, '\n', input->text.length);
	if (newline == NULL && !input->ended && input->text.length < LINE_LENGTH_MAX)
		return false;
	length = newline != NULL ? (size_t)(newline - input->text.data) : input->text.length;
	line = xstrndup(input->text.data, length);
	buffer_consume(&input->text, length + (newline != NULL));
	if (length > 0 && line[strlen(line) - 1] == '\r')
		line[strlen(line) - 1] = '\0';
	input->on_line(line, input->arg);
	free(line);
	return true;
}

static void
take_lines(struct input *input)
{
	while (input->reading && take_line(input))
		continue;
	if (input->reading && input->ended && input->text.length == 0) {
		input_read(input, false);
		input->on_line(NULL, input->arg);
	}
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct input *input = arg;
	char chunk[4096];
	ssize_t n;

	/* The event is also made active by hand, to go on with what was read before. */
	if (what & EV_READ) {
		n = read(fd, chunk, sizeof chunk);
		if (n > 0)
			buffer_append(&input->text, chunk, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			input->ended = true;
	}
	take_lines(input);
}

struct input *
input_new(struct event_base *base, input_line on_line, void *arg)
{
	struct input *input = xcalloc(1, sizeof *input);

	input->on_line = on_line;
	input->arg = arg;
	input->readable =
	    event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, on_readable, input);
	return input;
}

void
input_free(struct input *input)
{
	if (input == NULL)
		return;
	event_free(input->readable);
	buffer_free(&input->text);
	free(input);
}

void
input_read(struct input *input, bool on)
{
	if (input->reading == on)
		return;
	input->reading = on;
	if (!on) {
		event_del(input->readable);
		return;
	}
	if (!input->ended)
		event_add(input->readable, NULL);
	if (input->ended || input->text.length > 0)
		event_active(input->readable, EV_TIMEOUT, 0);
}
