/*
 * Output of commands as text. It must never keep more than its fixed share, and never cut
 * inside a code point.
 */
#include <config.h>

#include "worker/tools/terminal_output.h"

#include "common/alloc.h"
#include "common/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TAIL_BYTES_MAX (256 * 1024) /* more than twice what the tail can need */
#define NOTICE_ROOM 200		    /* characters that the notice may take */
#define SEQUENCE_MAX 4096	    /* a longer escape string is not one */

enum parser {
	PARSER_TEXT,
	PARSER_ESCAPE,	     /* after ESC */
	PARSER_INTERMEDIATE, /* ESC and bytes 0x20 to 0x2f; a final byte follows */
	PARSER_CONTROL,	     /* ESC [ … final byte */
	PARSER_STRING,	     /* ESC ] and its like; ends with BEL or ESC \ */
	PARSER_STRING_ESCAPE
};

struct terminal_output {
	struct buffer head, tail, work;
	size_t head_count, tail_count; /* code points */
	size_t dropped;		       /* code points between head and tail */
	bool line_in_tail;	       /* where the current line starts */
	size_t line_at, line_count;    /* ... in bytes and code points of that buffer */
	enum parser parser;
	size_t sequence;
	bool carriage; /* a \r came last */
	char carry[4]; /* beginning of a code point that is not complete */
	size_t carry_length;
};

struct terminal_output *
terminal_output_new(void)
{
	return xcalloc(1, sizeof(struct terminal_output));
}

void
terminal_output_free(struct terminal_output *output)
{
	if (output == NULL)
		return;
	buffer_free(&output->head);
	buffer_free(&output->tail);
	buffer_free(&output->work);
	free(output);
}

/* Drops what the tail will not need again. */
static void
trim_tail(struct terminal_output *output)
{
	size_t drop = output->tail_count - TERMINAL_OUTPUT_TAIL;
	size_t bytes = utf8_offset(output->tail.data, output->tail.length, drop);

	buffer_consume(&output->tail, bytes);
	output->tail_count -= drop;
	output->dropped += drop;
	if (!output->line_in_tail)
		return;
	output->line_at = output->line_at > bytes ? output->line_at - bytes : 0;
	output->line_count = output->line_count > drop ? output->line_count - drop : 0;
}

static void
append(struct terminal_output *output, const char *text, size_t length, size_t count)
{
	size_t room = TERMINAL_OUTPUT_HEAD - output->head_count;
	size_t bytes = length;

	if (room > 0) {
		if (count > room)
			bytes = utf8_offset(text, length, room);
		buffer_append(&output->head, text, bytes);
		output->head_count += count < room ? count : room;
		if (count <= room)
			return;
		text += bytes;
		length -= bytes;
		count -= room;
	}
	buffer_append(&output->tail, text, length);
	output->tail_count += count;
	if (output->tail.length > TAIL_BYTES_MAX)
		trim_tail(output);
}

/* The current line starts `back` ASCII bytes before the end. */
static void
mark_line(struct terminal_output *output, size_t back)
{
	output->line_in_tail = output->tail.length > 0 && back <= output->tail.length;
	if (output->line_in_tail) {
		output->line_at = output->tail.length - back;
		output->line_count = output->tail_count - back;
		return;
	}
	back -= output->tail.length;
	output->line_at = output->head.length - back;
	output->line_count = output->head_count - back;
}

static void
truncate_buffer(struct buffer *buffer, size_t length)
{
	if (length >= buffer->length)
		return;
	buffer->length = length;
	buffer->data[length] = '\0';
}

/* The line is about to be written again from its beginning. */
static void
restart_line(struct terminal_output *output)
{
	if (output->line_in_tail) {
		truncate_buffer(&output->tail, output->line_at);
		output->tail_count = output->line_count;
		return;
	}
	truncate_buffer(&output->head, output->line_at);
	output->head_count = output->line_count;
	buffer_clear(&output->tail);
	output->tail_count = 0;
	output->dropped = 0;
}

static void
erase_last(struct terminal_output *output)
{
	struct buffer *buffer = output->tail.length > 0 ? &output->tail : &output->head;
	bool in_tail = buffer == &output->tail;
	size_t least = in_tail == output->line_in_tail ? output->line_at : 0;
	size_t length = buffer->length;

	if (length <= least)
		return;
	do
		length--;
	while (length > least && ((unsigned char)buffer->data[length] & 0xc0) == 0x80);
	truncate_buffer(buffer, length);
	if (in_tail)
		output->tail_count--;
	else
		output->head_count--;
}

static void
before_text(struct terminal_output *output)
{
	if (output->carriage)
		restart_line(output);
	output->carriage = false;
}

static bool
is_plain(unsigned char byte)
{
	return (byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\t';
}

/* Takes a run of plain bytes; returns its length. */
static size_t
take_plain(struct terminal_output *output, const char *text, size_t length)
{
	const char *newline;
	size_t n = 1;

	if (text[0] == '\n')
		output->carriage = false;
	before_text(output);
	while (n < length && is_plain((unsigned char)text[n]))
		n++;
	append(output, text, n, n);
	newline = memrchr(text, '\n', n);
	if (newline != NULL)
		mark_line(output, n - (size_t)(newline - text) - 1);
	return n;
}

/* Takes one character outside escape sequences; 0 = it is not complete. */
static size_t
take_character(struct terminal_output *output, const char *text, size_t length)
{
	unsigned char byte = (unsigned char)text[0];
	size_t n;

	if (is_plain(byte))
		return take_plain(output, text, length);
	if (byte == 0x1b) {
		output->parser = PARSER_ESCAPE;
		output->sequence = 0;
	} else if (byte == '\r') {
		output->carriage = true;
	} else if (byte == '\b') {
		erase_last(output);
	}
	if (byte < 0x80)
		return 1; /* other control characters, NUL among them, leave no trace */
	n = utf8_sequence(text, length);
	if (n == 0 && utf8_incomplete(text, length))
		return 0;
	before_text(output);
	if (n > 0) {
		append(output, text, n, 1);
		return n;
	}
	append(output, UTF8_REPLACEMENT, 3, 1);
	return utf8_invalid_length(text, length);
}

static enum parser
after_escape(unsigned char byte)
{
	if (byte == '[')
		return PARSER_CONTROL;
	if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_')
		return PARSER_STRING;
	return byte >= 0x20 && byte < 0x30 ? PARSER_INTERMEDIATE : PARSER_TEXT;
}

/* One byte of an escape sequence (ECMA-48). False when it is text after all: a line never
 * ends inside a sequence. */
static bool
take_sequence_byte(struct terminal_output *output, unsigned char byte)
{
	enum parser parser = output->parser;

	if (byte == '\n') {
		output->parser = PARSER_TEXT;
		return false;
	}
	if (parser == PARSER_ESCAPE)
		parser = after_escape(byte);
	else if (parser == PARSER_STRING && byte == 0x1b)
		parser = PARSER_STRING_ESCAPE;
	else if (parser == PARSER_STRING)
		parser = byte == 0x07 ? PARSER_TEXT : PARSER_STRING;
	else if (parser == PARSER_STRING_ESCAPE)
		parser = byte == '\\' ? PARSER_TEXT : after_escape(byte);
	else if (byte < 0x20 || byte >= 0x40 || (parser == PARSER_INTERMEDIATE && byte >= 0x30))
		parser = PARSER_TEXT;
	output->sequence++;
	if (output->sequence > SEQUENCE_MAX)
		parser = PARSER_TEXT;
	output->parser = parser;
	return true;
}

void
terminal_output_feed(struct terminal_output *output, const char *bytes, size_t length)
{
	size_t at = 0, n;

	if (output->carry_length > 0) {
		buffer_clear(&output->work);
		buffer_append(&output->work, output->carry, output->carry_length);
		buffer_append(&output->work, bytes, length);
		bytes = buffer_text(&output->work);
		length = output->work.length;
		output->carry_length = 0;
	}
	while (at < length) {
		if (output->parser != PARSER_TEXT) {
			at += take_sequence_byte(output, (unsigned char)bytes[at]);
			continue;
		}
		n = take_character(output, bytes + at, length - at);
		if (n == 0) {
			output->carry_length = length - at;
			memcpy(output->carry, bytes + at, length - at);
			break;
		}
		at += n;
	}
}

char *
terminal_output_text(const struct terminal_output *output, size_t *length)
{
	size_t total = output->head_count + output->dropped + output->tail_count;
	size_t tail = TERMINAL_OUTPUT_TAIL - NOTICE_ROOM, skip = 0;
	struct buffer text = BUFFER_EMPTY;

	buffer_append(&text, buffer_text(&output->head), output->head.length);
	if (total + (output->carry_length > 0) > TERMINAL_OUTPUT_MAX) {
		if (tail > output->tail_count)
			tail = output->tail_count;
		skip = utf8_offset(
		    output->tail.data, output->tail.length, output->tail_count - tail);
		buffer_printf(&text,
		    "\n\n... [OUTPUT TRUNCATED - %zu chars omitted out of %zu total; they were "
		    "not "
		    "kept: filter the output or send it to a file to see them] ...\n\n",
		    total - output->head_count - tail, total);
	}
	buffer_append(&text, buffer_text(&output->tail) + skip, output->tail.length - skip);
	if (output->carry_length > 0)
		buffer_append_text(&text, UTF8_REPLACEMENT);
	*length = text.length;
	if (text.data == NULL)
		buffer_append_text(&text, "");
	return buffer_take(&text);
}

static void
append_end(const struct buffer *buffer, size_t limit, struct buffer *out)
{
	size_t at = buffer->length > limit ? buffer->length - limit : 0;

	while (at < buffer->length && ((unsigned char)buffer->data[at] & 0xc0) == 0x80)
		at++;
	buffer_append(out, buffer_text(buffer) + at, buffer->length - at);
}

void
terminal_output_recent(const struct terminal_output *output, size_t limit, struct buffer *out)
{
	if (output->dropped == 0 && output->tail.length < limit)
		append_end(&output->head, limit - output->tail.length, out);
	append_end(&output->tail, limit, out);
}
