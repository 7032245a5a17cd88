/*
 * The table of sessions. What stands in a cell cannot leave it: no control characters, no line
 * ends, and widths as a terminal counts them.
 */
#include <config.h>

#include "worker/sessions/sessions_table.h"
#include "common/alloc.h"
#include "common/utf8.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define WIDTH_LEAST 40
#define FLEXIBLE_LEAST 8 /* of a column that gives way */
#define GAP 2

enum column { ID, UPDATED, MESSAGES, SOURCE, CWD, TITLE, COLUMNS };

static const char *const heads[COLUMNS] = {
    "ID", "UPDATED", "MESSAGES", "SOURCE", "FOLDER", "TITLE"};

struct row {
	char *cells[COLUMNS];
};

struct table {
	struct row *rows;
	size_t count;
	int widths[COLUMNS];
	bool sources;
};

int
sessions_table_width(int fd)
{
	const char *named = getenv("COLUMNS");
	struct winsize size;
	int width = 0;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (named != NULL && atoi(named) > 0 && atoi(named) < 10000)
		width = atoi(named);
	if (width == 0)
		width = 80;
	return width < WIDTH_LEAST ? WIDTH_LEAST : width;
}

/* wcwidth() needs a locale that knows more than ASCII. */
static void
choose_locale(void)
{
	setlocale(LC_CTYPE, "");
	if (wcwidth(0x4e00) != 2)
		setlocale(LC_CTYPE, "C.UTF-8");
}

static int
width_of_code(uint32_t code)
{
	int width = wcwidth((wchar_t)code);

	return width >= 0 ? width : 1;
}

static int
width_of(const char *text)
{
	size_t length = strlen(text), size;
	uint32_t code;
	int width = 0;

	while (length > 0 && (size = utf8_decode(text, length, &code)) > 0) {
		width += width_of_code(code);
		text += size;
		length -= size;
	}
	return width;
}

/* Appends the beginning of the text that is at most `width` wide; returns its width. */
static int
append_beginning(struct buffer *out, const char *text, int width)
{
	size_t length = strlen(text), size;
	uint32_t code;
	int used = 0;

	while (length > 0 && (size = utf8_decode(text, length, &code)) > 0 &&
	       used + width_of_code(code) <= width) {
		buffer_append(out, text, size);
		used += width_of_code(code);
		text += size;
		length -= size;
	}
	return used;
}

/* The end of the text that is at most `width` wide. */
static const char *
end_of(const char *text, int width)
{
	while (width_of(text) > width)
		text += utf8_sequence(text, strlen(text));
	return text;
}

/* A folder keeps its end, everything else its beginning. */
static void
append_cell(struct buffer *out, const char *text, int width, enum column column)
{
	int used;

	if (width_of(text) <= width) {
		used = append_beginning(out, text, width);
	} else if (column == CWD) {
		buffer_append_text(out, "\xe2\x80\xa6");
		used = 1 + append_beginning(out, end_of(text, width - 1), width - 1);
	} else {
		used = append_beginning(out, text, width - 1) + 1;
		buffer_append_text(out, "\xe2\x80\xa6");
	}
	for (; used < width; used++)
		buffer_append_byte(out, ' ');
}

static char *
clean(const char *text)
{
	struct buffer line = BUFFER_EMPTY;

	sessions_output_line(&line, text);
	if (line.length == 0)
		buffer_append_text(&line, "-");
	return buffer_take(&line);
}

/* The folder as people write it. */
static char *
folder(const char *cwd)
{
	const char *home = getenv("HOME");
	size_t length = home != NULL ? strlen(home) : 0;
	char *text, *cell;

	if (length < 2 || strncmp(cwd, home, length) != 0 ||
	    (cwd[length] != '/' && cwd[length] != '\0'))
		return clean(cwd);
	text = xasprintf("~%s", cwd + length);
	cell = clean(text);
	free(text);
	return cell;
}

static void
fill_row(struct row *row, struct json_object *entry, bool shorten)
{
	char time[SESSIONS_TIME_SIZE];
	double updated = 0;
	int64_t messages = 0;

	json_member_double(entry, "_updated", &updated);
	json_member_integer(entry, "messages", &messages);
	sessions_output_time(time, updated, false);
	row->cells[ID] = clean(json_member_text(entry, shorten ? "_short" : "sessionId", ""));
	row->cells[UPDATED] = xstrdup(time);
	row->cells[MESSAGES] = xasprintf("%lld", (long long)messages);
	row->cells[SOURCE] = clean(json_member_text(entry, "source", ""));
	row->cells[CWD] = folder(json_member_text(entry, "cwd", ""));
	row->cells[TITLE] = clean(json_member_text(entry, "title", ""));
}

static void
measure(struct table *table)
{
	size_t i;
	int column, width;

	for (column = 0; column < COLUMNS; column++)
		table->widths[column] = width_of(heads[column]);
	for (i = 0; i < table->count; i++)
		for (column = 0; column < COLUMNS; column++) {
			width = width_of(table->rows[i].cells[column]);
			if (width > table->widths[column])
				table->widths[column] = width;
		}
}

/* Folder and title share what the others leave: the folder gives way first. */
static void
fit(struct table *table, int width)
{
	int *widths = table->widths, left = width, column, least;

	for (column = 0; column < CWD; column++)
		if (column != SOURCE || table->sources)
			left -= widths[column] + GAP;
	left -= GAP;
	if (left >= widths[CWD] + widths[TITLE])
		return;
	least = left * 2 / 5 > FLEXIBLE_LEAST ? left * 2 / 5 : FLEXIBLE_LEAST;
	if (widths[CWD] > least)
		widths[CWD] = left - widths[TITLE] > least ? left - widths[TITLE] : least;
	if (widths[TITLE] > left - widths[CWD])
		widths[TITLE] =
		    left - widths[CWD] > FLEXIBLE_LEAST ? left - widths[CWD] : FLEXIBLE_LEAST;
}

static void
append_number(struct buffer *out, const char *text, int width)
{
	buffer_printf(out, "%*s", width, text);
}

static void
append_row(const struct table *table, struct buffer *out, const char *const *cells)
{
	int column;

	for (column = 0; column < COLUMNS; column++) {
		if (column == SOURCE && !table->sources)
			continue;
		if (column == MESSAGES)
			append_number(out, cells[column], table->widths[column]);
		else
			append_cell(
			    out, cells[column], table->widths[column], (enum column)column);
		buffer_append_text(out, "  ");
	}
	while (out->length > 0 && out->data[out->length - 1] == ' ')
		out->length--;
	buffer_append_byte(out, '\n');
}

static void
free_rows(struct table *table)
{
	size_t i;
	int column;

	for (i = 0; i < table->count; i++)
		for (column = 0; column < COLUMNS; column++)
			free(table->rows[i].cells[column]);
	free(table->rows);
}

void
sessions_table_write(
    struct sessions_output *output, struct json_object *sessions, int width, bool sources)
{
	struct table table = {.count = json_object_array_length(sessions), .sources = sources};
	struct buffer *out = sessions_output_buffer(output);
	size_t i;

	if (table.count == 0)
		return;
	choose_locale();
	table.rows = xcalloc(table.count, sizeof *table.rows);
	for (i = 0; i < table.count; i++)
		fill_row(&table.rows[i], json_object_array_get_idx(sessions, i), width > 0);
	measure(&table);
	if (width > 0)
		fit(&table, width);
	append_row(&table, out, heads);
	for (i = 0; i < table.count && sessions_output_flush(output); i++)
		append_row(&table, out, (const char *const *)table.rows[i].cells);
	free_rows(&table);
}
