/*
 * A small line diff: what both texts begin and end with is set aside, the rest is compared
 * by the longest common subsequence while that is cheap. It must never take long: above
 * CELLS_MAX the middle is shown as removed and added as a whole.
 */
#include <config.h>

#include "contrib/acp-chat/diff.h"

#include "common/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX 1000000
#define CONTEXT 3
#define LINES_SHOWN 120

struct line {
	const char *text;
	size_t length;
};

struct lines {
	struct line *items;
	size_t count;
};

/* One line of the result: ' ', '-' or '+'. */
struct row {
	char sign;
	const struct line *line;
};

struct rows {
	struct row *items;
	size_t count;
};

static void
split(const char *text, struct lines *lines)
{
	size_t capacity = 0;
	const char *end;

	memset(lines, 0, sizeof *lines);
	for (; text != NULL && *text != '\0'; text = *end != '\0' ? end + 1 : end) {
		end = text + strcspn(text, "\n");
		if (lines->count == capacity) {
			capacity = capacity ? capacity * 2 : 64;
			lines->items =
			    xreallocarray(lines->items, capacity, sizeof *lines->items);
		}
		lines->items[lines->count++] = (struct line){text, (size_t)(end - text)};
	}
}

static bool
same(const struct line *a, const struct line *b)
{
	return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static void
add(struct rows *rows, char sign, const struct line *line)
{
	rows->items[rows->count++] = (struct row){sign, line};
}

/* Lengths of the longest common subsequence of all pairs of tails. */
static uint32_t *
fill_table(const struct line *old, size_t old_count, const struct line *new, size_t new_count)
{
	size_t width = new_count + 1;
	uint32_t *table = xcalloc((old_count + 1) * width, sizeof *table), down, right;

	for (size_t i = old_count; i-- > 0;) {
		for (size_t j = new_count; j-- > 0;) {
			down = table[(i + 1) * width + j];
			right = table[i * width + j + 1];
			if (same(&old[i], &new[j]))
				table[i * width + j] = table[(i + 1) * width + j + 1] + 1;
			else
				table[i * width + j] = down > right ? down : right;
		}
	}
	return table;
}

static void
compare(struct rows *rows, const struct line *old, size_t old_count, const struct line *new,
    size_t new_count)
{
	size_t i = 0, j = 0, width = new_count + 1;
	bool cheap = old_count == 0 || new_count <= CELLS_MAX / old_count;
	uint32_t *table = cheap ? fill_table(old, old_count, new, new_count) : NULL;

	while (table != NULL && i < old_count && j < new_count) {
		if (same(&old[i], &new[j])) {
			add(rows, ' ', &old[i++]);
			j++;
		} else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) {
			add(rows, '-', &old[i++]);
		} else {
			add(rows, '+', &new[j++]);
		}
	}
	while (i < old_count)
		add(rows, '-', &old[i++]);
	while (j < new_count)
		add(rows, '+', &new[j++]);
	free(table);
}

static void
make_rows(const struct lines *old, const struct lines *new, struct rows *rows)
{
	size_t least = old->count < new->count ? old->count : new->count, first = 0, last = 0,
	       i;

	rows->items = xcalloc(old->count + new->count, sizeof *rows->items);
	rows->count = 0;
	while (first < least && same(&old->items[first], &new->items[first]))
		add(rows, ' ', &old->items[first++]);
	while (last < least - first &&
	       same(&old->items[old->count - 1 - last], &new->items[new->count - 1 - last]))
		last++;
	if (old->count + new->count > 2 * (first + last))
		compare(rows, old->items != NULL ? old->items + first : NULL,
		    old->count - first - last, new->items != NULL ? new->items + first : NULL,
		    new->count - first - last);
	for (i = last; i > 0; i--)
		add(rows, ' ', &old->items[old->count - i]);
}

/* True when a changed line is at most CONTEXT lines away. */
static bool
near_change(const struct rows *rows, size_t index)
{
	size_t from = index > CONTEXT ? index - CONTEXT : 0;

	for (size_t i = from; i <= index + CONTEXT && i < rows->count; i++)
		if (rows->items[i].sign != ' ')
			return true;
	return false;
}

static void
show_row(struct render *render, const struct row *row)
{
	enum render_style style = row->sign == '-'   ? STYLE_RED
				  : row->sign == '+' ? STYLE_GREEN
						     : STYLE_DIM;
	struct buffer text = BUFFER_EMPTY;

	buffer_append_byte(&text, row->sign);
	buffer_append(&text, row->line->text, row->line->length);
	render_block(render, style, "  ", buffer_text(&text), text.length, 0);
	buffer_free(&text);
}

static size_t
count_rows(const struct rows *rows, char sign)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		count += rows->items[i].sign == sign;
	return count;
}

static void
show_rows(struct render *render, const struct rows *rows)
{
	size_t shown = 0, i;
	bool gap = false;

	for (i = 0; i < rows->count; i++) {
		if (!near_change(rows, i)) {
			gap = true;
			continue;
		}
		if (!render->verbose && shown++ >= LINES_SHOWN) {
			render_line(render, STYLE_DIM, "  ... %zu more lines", rows->count - i);
			return;
		}
		if (gap)
			render_line(render, STYLE_DIM, "  @@");
		gap = false;
		show_row(render, &rows->items[i]);
	}
}

void
diff_show(struct render *render, const char *path, const char *old_text, const char *new_text)
{
	struct lines old, new;
	struct rows rows;

	split(old_text, &old);
	split(new_text, &new);
	make_rows(&old, &new, &rows);
	render_line(render, STYLE_BOLD, "  %s%s (+%zu -%zu)", path,
	    old_text == NULL ? " (new file)" : "", count_rows(&rows, '+'),
	    count_rows(&rows, '-'));
	show_rows(render, &rows);
	free(rows.items);
	free(old.items);
	free(new.items);
}
