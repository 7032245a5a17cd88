/*
 * Reading answers. It must never leave a terminal without echo.
 */
#include <config.h>

#include "worker/config/setup_prompt.h"

#include "common/alloc.h"
#include "common/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define KEY_INTERRUPT 3
#define KEY_END 4
#define KEY_ERASE_LINE 21

static char *
trimmed(struct buffer *line)
{
	const char *text = buffer_text(line);
	size_t length;
	char *copy;

	text += strspn(text, " \t\r\n");
	length = strlen(text);
	while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
		length--;
	copy = xstrndup(text, length);
	if (line->data != NULL)
		explicit_bzero(line->data, line->length);
	buffer_free(line);
	return copy;
}

/* One line; false at the end of the input with nothing read. */
static bool
read_line(FILE *in, struct buffer *line)
{
	int byte;

	while ((byte = getc(in)) != EOF && byte != '\n')
		if (line->length < SETUP_ANSWER_MAX && byte != '\0')
			buffer_append_byte(line, (char)byte);
	return byte != EOF || line->length > 0;
}

/* The same key by key, so that Ctrl-C comes here and cannot end the program while the
 * terminal has no echo. */
static bool
read_keys(FILE *in, struct buffer *line)
{
	int byte;

	for (;;) {
		byte = getc(in);
		if (byte == EOF || byte == KEY_INTERRUPT ||
		    (byte == KEY_END && line->length == 0))
			return false;
		if (byte == '\n' || byte == '\r')
			return true;
		if (byte == KEY_ERASE_LINE)
			buffer_clear(line);
		else if ((byte == 0x7f || byte == '\b') && line->length > 0)
			line->data[--line->length] = '\0';
		else if (byte >= 0x20 && byte != 0x7f && line->length < SETUP_ANSWER_MAX)
			buffer_append_byte(line, (char)byte);
	}
}

static bool
read_hidden(FILE *in, FILE *out, struct buffer *line)
{
	int fd = fileno(in);
	struct termios before, hidden;
	bool done;

	if (!isatty(fd) || tcgetattr(fd, &before) == -1)
		return read_line(in, line);
	hidden = before;
	hidden.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
	hidden.c_cc[VMIN] = 1;
	hidden.c_cc[VTIME] = 0;
	if (tcsetattr(fd, TCSAFLUSH, &hidden) == -1)
		return false;
	done = read_keys(in, line);
	tcsetattr(fd, TCSAFLUSH, &before);
	fputc('\n', out);
	return done;
}

char *
setup_prompt_ask(FILE *in, FILE *out, const char *question, bool secret)
{
	struct buffer line = BUFFER_EMPTY;

	fputs(question, out);
	fflush(out);
	if (secret ? read_hidden(in, out, &line) : read_line(in, &line))
		return trimmed(&line);
	buffer_free(&line);
	return NULL;
}
