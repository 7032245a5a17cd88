/*
 * Comparing two sequences of numbers. Its cost must never grow with the product of the two
 * lengths: the greedy search stops at a number of differences, then anchors split the rest.
 */
#include <config.h>

#include "worker/tools/sequence_diff.h"

#include "common/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIFFERENCES_MAX 500 /* of the greedy search: 1 MiB of trace, 250,000 steps */
#define DEPTH_MAX 64	    /* of splitting at anchors */

struct name {
	const char *bytes; /* NULL = free */
	size_t length;
	uint32_t number;
};

struct sequence_names {
	struct name *table;
	size_t size; /* a power of two */
	uint32_t count;
};

/* FNV-1a, 64 bit (Fowler, Noll, Vo; draft-eastlake-fnv). */
static uint64_t
hash_bytes(const char *bytes, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
	return hash ^ hash >> 29;
}

struct sequence_names *
sequence_names_new(void)
{
	struct sequence_names *names = xcalloc(1, sizeof *names);

	names->size = 256;
	names->table = xcalloc(names->size, sizeof *names->table);
	return names;
}

void
sequence_names_free(struct sequence_names *names)
{
	if (names == NULL)
		return;
	free(names->table);
	free(names);
}

static struct name *
find_name(const struct sequence_names *names, const char *bytes, size_t length)
{
	size_t at = (size_t)hash_bytes(bytes, length) & (names->size - 1);
	struct name *name = &names->table[at];

	while (name->bytes != NULL &&
	       (name->length != length || memcmp(name->bytes, bytes, length) != 0)) {
		at = (at + 1) & (names->size - 1);
		name = &names->table[at];
	}
	return name;
}

static void
grow_names(struct sequence_names *names)
{
	struct name *old = names->table;
	size_t size = names->size, i;

	names->size *= 2;
	names->table = xcalloc(names->size, sizeof *names->table);
	for (i = 0; i < size; i++)
		if (old[i].bytes != NULL)
			*find_name(names, old[i].bytes, old[i].length) = old[i];
	free(old);
}

uint32_t
sequence_names_number(struct sequence_names *names, const char *bytes, size_t length)
{
	struct name *name;

	if (names->count >= names->size / 2)
		grow_names(names);
	name = find_name(names, bytes, length);
	if (name->bytes == NULL) {
		name->bytes = bytes;
		name->length = length;
		name->number = names->count++;
	}
	return name->number;
}

/* The two sequences and a part of each. */
struct part {
	const uint32_t *old, *new;
	size_t old_start, old_end, new_start, new_end;
	size_t *match;
};

static void
trim(struct part *part)
{
	while (part->old_start < part->old_end && part->new_start < part->new_end &&
	       part->old[part->old_start] == part->new[part->new_start])
		part->match[part->old_start++] = part->new_start++;
	while (part->old_start < part->old_end && part->new_start < part->new_end &&
	       part->old[part->old_end - 1] == part->new[part->new_end - 1])
		part->match[--part->old_end] = --part->new_end;
}

/* Furthest reaching points per diagonal -d … d, one row for each number of differences:
 * row d starts at d * d (the rows before it have 1 + 3 + 5 … entries). */
struct walk {
	int32_t *trace;
	size_t room;
	int32_t rows, columns;
};

static int32_t *
trace_at(const struct walk *walk, int32_t d, int32_t diagonal)
{
	return &walk->trace[(int64_t)d * d + diagonal + d];
}

/* Where a path with d differences enters `diagonal`; negative when none does. */
static int32_t
reach(const struct walk *walk, int32_t d, int32_t diagonal, bool *down)
{
	int32_t below = -1, right = -1;

	*down = false;
	if (d == 0)
		return 0;
	if (diagonal < d - 1)
		below = *trace_at(walk, d - 1, diagonal + 1);
	if (diagonal > -(d - 1))
		right = *trace_at(walk, d - 1, diagonal - 1) + 1;
	if (below - diagonal > walk->columns)
		below = -1;
	if (right > walk->rows)
		right = -1;
	*down = below >= right;
	return *down ? below : right;
}

/* Walks the trace back from the end and notes what was matched. */
static void
note_matches(const struct part *part, const struct walk *walk, int32_t d, int32_t diagonal)
{
	int32_t x, start;
	bool down;

	for (;; d--) {
		x = *trace_at(walk, d, diagonal);
		start = reach(walk, d, diagonal, &down);
		for (; x > start; x--)
			part->match[part->old_start + (size_t)(x - 1)] =
			    part->new_start + (size_t)(x - 1 - diagonal);
		if (d == 0)
			return;
		diagonal += down ? 1 : -1;
	}
}

/* Follows equal elements from `x`. */
static int32_t
slide(const struct part *part, const struct walk *walk, int32_t x, int32_t diagonal)
{
	while (x < walk->rows && x - diagonal < walk->columns &&
	       part->old[part->old_start + (size_t)x] ==
		   part->new[part->new_start + (size_t)(x - diagonal)])
		x++;
	return x;
}

static void
grow_trace(struct walk *walk, int32_t d)
{
	size_t needed = ((size_t)d + 1) * ((size_t)d + 1);
	int32_t diagonal;

	if (needed > walk->room) {
		walk->room = needed * 2;
		walk->trace = xreallocarray(walk->trace, walk->room, sizeof *walk->trace);
	}
	for (diagonal = -d; diagonal <= d; diagonal++)
		*trace_at(walk, d, diagonal) = INT32_MIN / 2;
}

/* E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), the greedy form.
 * False when there are more than DIFFERENCES_MAX differences. */
static bool
greedy(const struct part *part)
{
	struct walk walk = {NULL, 0, (int32_t)(part->old_end - part->old_start),
	    (int32_t)(part->new_end - part->new_start)};
	int32_t d, diagonal, x;
	bool down, found = false;

	for (d = 0; d <= DIFFERENCES_MAX && !found; d++) {
		grow_trace(&walk, d);
		for (diagonal = -d; diagonal <= d && !found; diagonal += 2) {
			x = reach(&walk, d, diagonal, &down);
			if (x < 0 || x - diagonal < 0)
				continue;
			x = slide(part, &walk, x, diagonal);
			*trace_at(&walk, d, diagonal) = x;
			if (x == walk.rows && x - diagonal == walk.columns) {
				note_matches(part, &walk, d, diagonal);
				found = true;
			}
		}
	}
	free(walk.trace);
	return found;
}

/* An element that occurs exactly once in both parts. */
struct anchor {
	size_t old, new;
	size_t before; /* index of the previous one in the longest ascending chain */
};

struct occurrence {
	uint32_t number;
	size_t new; /* where it stands in the new part, the last time */
	unsigned in_old, in_new;
};

static struct occurrence *
count_occurrence(struct occurrence *table, size_t mask, uint32_t number)
{
	size_t at = (number * 2654435761u) & mask;

	while ((table[at].in_old > 0 || table[at].in_new > 0) && table[at].number != number)
		at = (at + 1) & mask;
	table[at].number = number;
	return &table[at];
}

static size_t
find_anchors(const struct part *part, struct anchor *anchors)
{
	size_t size = 64, i, count = 0;
	struct occurrence *table, *found;

	while (size < 2 * (part->old_end - part->old_start + part->new_end - part->new_start))
		size *= 2;
	table = xcalloc(size, sizeof *table);
	for (i = part->old_start; i < part->old_end; i++) {
		found = count_occurrence(table, size - 1, part->old[i]);
		found->in_old++;
	}
	for (i = part->new_start; i < part->new_end; i++) {
		found = count_occurrence(table, size - 1, part->new[i]);
		found->in_new++;
		found->new = i;
	}
	for (i = part->old_start; i < part->old_end; i++) {
		found = count_occurrence(table, size - 1, part->old[i]);
		if (found->in_old == 1 && found->in_new == 1) {
			anchors[count].old = i;
			anchors[count++].new = found->new;
		}
	}
	free(table);
	return count;
}

/* Keeps the longest chain of anchors that ascends in `new`; returns its length. */
static size_t
longest_chain(struct anchor *anchors, size_t count)
{
	size_t *tops = xcalloc(count + 1, sizeof *tops), piles = 0, i, low, high, middle, at;
	struct anchor *chain;

	for (i = 0; i < count; i++) {
		low = 0;
		high = piles;
		while (low < high) {
			middle = low + (high - low) / 2;
			if (anchors[tops[middle]].new < anchors[i].new)
				low = middle + 1;
			else
				high = middle;
		}
		anchors[i].before = low > 0 ? tops[low - 1] : SIZE_MAX;
		tops[low] = i;
		if (low == piles)
			piles++;
	}
	chain = xcalloc(piles + 1, sizeof *chain);
	for (i = piles, at = piles > 0 ? tops[piles - 1] : 0; i > 0; i--) {
		chain[i - 1] = anchors[at];
		at = anchors[at].before;
	}
	memcpy(anchors, chain, piles * sizeof *chain);
	free(chain);
	free(tops);
	return piles;
}

static void
diff_part(struct part part, unsigned depth)
{
	struct part gap;
	struct anchor *anchors;
	size_t count, i;

	trim(&part);
	if (part.old_start == part.old_end || part.new_start == part.new_end || greedy(&part))
		return;
	anchors = xcalloc(part.old_end - part.old_start, sizeof *anchors);
	count = longest_chain(anchors, find_anchors(&part, anchors));
	gap = part;
	for (i = 0; count > 0 && depth < DEPTH_MAX && i <= count; i++) {
		gap.old_end = i < count ? anchors[i].old : part.old_end;
		gap.new_end = i < count ? anchors[i].new : part.new_end;
		diff_part(gap, depth + 1);
		if (i < count) {
			part.match[anchors[i].old] = anchors[i].new;
			gap.old_start = anchors[i].old + 1;
			gap.new_start = anchors[i].new + 1;
		}
	}
	free(anchors);
}

void
sequence_diff(
    const uint32_t *old, size_t old_count, const uint32_t *new, size_t new_count, size_t *match)
{
	struct part part = {old, new, 0, old_count, 0, new_count, match};
	size_t i;

	for (i = 0; i < old_count; i++)
		match[i] = SEQUENCE_UNMATCHED;
	if (old_count < INT32_MAX / 4 && new_count < INT32_MAX / 4)
		diff_part(part, 0);
}
