/*
 * The output of search programs, taken apart as it comes. It must hold no more than a path
 * and the neighbourhood of one match, however long a line is.
 */
#include <config.h>

#include "worker/tools/search_output.h"

#include "common/utf8.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 8192	 /* bytes of a line that are held */
#define KEPT_BEFORE 1024 /* bytes that stay when the front is dropped */
#define SHOWN_BEFORE 200 /* characters before the match when a line is cut */
#define MESSAGES_MAX 4096
#define PATH_BYTES_MAX ((size_t)PATH_MAX * 2)

enum output_state { AT_START, IN_PATH, IN_NUMBER, IN_COLUMN, IN_TEXT, IN_MESSAGE };

static void
start_record(struct search_output *output)
{
	output->state = AT_START;
	buffer_clear(&output->path);
	buffer_clear(&output->text);
	output->number = output->column = output->base = 0;
	output->context = output->found = output->quiet = false;
}

/* Removes every `mark` from the text. */
static void
remove_marks(struct buffer *text, const char *mark)
{
	const size_t size = strlen(mark);
	char *in, *out, *end, *found;

	if (text->length == 0)
		return;
	in = out = text->data;
	end = text->data + text->length;
	while (in < end) {
		found = memmem(in, (size_t)(end - in), mark, size);
		if (found == NULL)
			found = end;
		memmove(out, in, (size_t)(found - in));
		out += found - in;
		in = found < end ? found + size : end;
	}
	text->length = (size_t)(out - text->data);
	text->data[text->length] = '\0';
}

/* Where in the held text the match begins. */
static size_t
match_offset(const struct search_output *output)
{
	const struct buffer *text = &output->text;
	const char *mark;

	if (output->context || text->length == 0)
		return 0;
	if (output->form == SEARCH_MARKED) {
		mark = memmem(
		    text->data, text->length, SEARCH_MARK_BEGIN, sizeof SEARCH_MARK_BEGIN - 1);
		return mark != NULL ? (size_t)(mark - text->data) : 0;
	}
	return output->column > output->base ? (size_t)(output->column - 1 - output->base) : 0;
}

/* The held text as it is shown: at most SEARCH_LINE_MAX characters around the match. */
static char *
shown_text(struct search_output *output)
{
	struct buffer *text = &output->text, shown = BUFFER_EMPTY;
	size_t match = match_offset(output), length, start = 0, end, before;
	bool cut_front = output->base > 0;
	char *clean;

	if (output->form == SEARCH_MARKED) {
		remove_marks(text, SEARCH_MARK_BEGIN);
		remove_marks(text, SEARCH_MARK_END);
	}
	if (text->length > 0 && text->data[text->length - 1] == '\r')
		text->length--;
	if (match > text->length)
		match = text->length;
	before = utf8_count(buffer_text(text), match);
	clean = utf8_clean(buffer_text(text), text->length, &length);
	if (clean == NULL)
		return NULL;
	if (cut_front || utf8_count(clean, length) > SEARCH_LINE_MAX) {
		if (before > SHOWN_BEFORE)
			start = utf8_offset(clean, length, before - SHOWN_BEFORE);
		cut_front = cut_front || start > 0;
	}
	end = start + utf8_offset(clean + start, length - start, SEARCH_LINE_MAX);
	buffer_printf(&shown, "%s%.*s%s", cut_front ? "..." : "", (int)(end - start),
	    clean + start, end < length ? "..." : "");
	free(clean);
	return buffer_take(&shown);
}

static void
end_record(struct search_output *output)
{
	struct search_record record = {
	    buffer_text(&output->path), output->number, output->context, ""};
	char *text = NULL;

	if (!output->quiet && (output->form == SEARCH_LINES || output->form == SEARCH_MARKED)) {
		text = shown_text(output);
		if (text != NULL)
			record.text = text;
	}
	output->record(&record, output->arg);
	free(text);
	start_record(output);
}

/* ripgrep says on a line of its own that a file was binary after all, path first: what comes
 * after such a line is the real path. */
static void
drop_binary_notice(struct buffer *path)
{
	static const char notice[] = "\"\\0\" byte around offset";
	const char *found, *line_end;

	while ((found = strstr(buffer_text(path), notice)) != NULL) {
		line_end = strchr(found, '\n');
		if (line_end == NULL)
			return;
		buffer_consume(path, (size_t)(line_end + 1 - path->data));
	}
}

static size_t
take_path(struct search_output *output, const char *bytes, size_t length)
{
	const char *end = memchr(bytes, '\0', length);
	size_t size = end != NULL ? (size_t)(end - bytes) : length;

	if (output->path.length + size <= PATH_BYTES_MAX)
		buffer_append(&output->path, bytes, size);
	if (end == NULL)
		return length;
	drop_binary_notice(&output->path);
	output->quiet =
	    output->wants != NULL && !output->wants(buffer_text(&output->path), output->arg);
	if (output->form == SEARCH_PATHS)
		end_record(output);
	else
		output->state = IN_NUMBER;
	return size + 1;
}

/* A number and the byte that ends it. */
static void
take_digit(struct search_output *output, char byte, int64_t *number)
{
	if (byte >= '0' && byte <= '9') {
		if (*number < INT64_MAX / 10 - 9)
			*number = *number * 10 + (byte - '0');
	} else if (byte == '\n') {
		end_record(output);
	} else if (output->state == IN_COLUMN || output->form == SEARCH_MARKED || byte == '-') {
		output->context = output->state == IN_NUMBER && byte == '-';
		output->state = IN_TEXT;
	} else {
		output->state = IN_COLUMN;
	}
}

/* Looks whether the match is in what is held; `added` bytes are new. */
static void
look_for_match(struct search_output *output, size_t added)
{
	const struct buffer *text = &output->text;
	const size_t mark = sizeof SEARCH_MARK_BEGIN - 1;
	size_t from = text->length > added + mark ? text->length - added - mark : 0;

	if (output->context)
		output->found = true;
	else if (output->form == SEARCH_LINES)
		output->found = output->base + (int64_t)text->length >= output->column;
	else
		output->found = memmem(text->data + from, text->length - from,
				    SEARCH_MARK_BEGIN, mark) != NULL;
}

static void
hold(struct search_output *output, const char *bytes, size_t size)
{
	struct buffer *text = &output->text;
	size_t part, drop;

	while (size > 0 && !(output->found && text->length >= KEPT_MAX)) {
		part = size < KEPT_MAX ? size : KEPT_MAX;
		buffer_append(text, bytes, part);
		bytes += part;
		size -= part;
		if (!output->found)
			look_for_match(output, part);
		if (!output->found && text->length > KEPT_MAX) {
			drop = text->length - KEPT_BEFORE;
			buffer_consume(text, drop);
			output->base += (int64_t)drop;
		}
	}
}

static size_t
take_text(struct search_output *output, const char *bytes, size_t length)
{
	const char *end = memchr(bytes, '\n', length);
	size_t size = end != NULL ? (size_t)(end - bytes) : length;

	if (!output->quiet)
		hold(output, bytes, size);
	if (end == NULL)
		return length;
	end_record(output);
	return size + 1;
}

static size_t
take_message(struct search_output *output, const char *bytes, size_t length)
{
	const char *end = memchr(bytes, '\n', length);
	size_t size = end != NULL ? (size_t)(end - bytes) + 1 : length;

	if (output->messages.length + size <= MESSAGES_MAX)
		buffer_append(&output->messages, bytes, size);
	if (end != NULL)
		output->state = AT_START;
	return size;
}

void
search_output_feed(struct search_output *output, const char *bytes, size_t length)
{
	size_t used;

	for (; length > 0; bytes += used, length -= used) {
		used = 1;
		switch ((enum output_state)output->state) {
		case AT_START:
			start_record(output);
			output->state = *bytes == '/' ? IN_PATH : IN_MESSAGE;
			used = 0;
			break;
		case IN_PATH:
			used = take_path(output, bytes, length);
			break;
		case IN_NUMBER:
			take_digit(output, *bytes, &output->number);
			break;
		case IN_COLUMN:
			take_digit(output, *bytes, &output->column);
			break;
		case IN_TEXT:
			used = take_text(output, bytes, length);
			break;
		case IN_MESSAGE:
			used = take_message(output, bytes, length);
			break;
		}
	}
}

void
search_output_clear(struct search_output *output)
{
	buffer_free(&output->messages);
	buffer_free(&output->path);
	buffer_free(&output->text);
}
