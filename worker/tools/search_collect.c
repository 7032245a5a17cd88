/*
 * The hits of a search in their final order. Programs that search in parallel give files in
 * any order; the lines of one file come together and in order, and that is relied on.
 */
#include <config.h>

#include "worker/tools/search_collect.h"

#include "common/alloc.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SPARE 1000 /* hits more than needed before the worst are thrown away */

static void
hit_clear(struct search_hit *hit)
{
	free(hit->path);
	free(hit->text);
	json_object_put(hit->before);
	json_object_put(hit->after);
}

static int
compare_numbers(int64_t one, int64_t two)
{
	return (one > two) - (one < two);
}

static int
compare_by_path(const void *one, const void *two)
{
	const struct search_hit *a = one, *b = two;
	int order = strcmp(a->path, b->path);

	return order != 0 ? order : compare_numbers(a->number, b->number);
}

static int
compare_by_time(const void *one, const void *two)
{
	const struct search_hit *a = one, *b = two;
	int order = compare_numbers(b->modified, a->modified);

	return order != 0 ? order : strcmp(a->path, b->path);
}

/* Sorts and throws away what is beyond what is needed. */
static void
keep_first(struct search_collect *collect)
{
	if (collect->count > 1)
		qsort(collect->hits, collect->count, sizeof *collect->hits,
		    collect->by_time ? compare_by_time : compare_by_path);
	while (collect->count > collect->keep)
		hit_clear(&collect->hits[--collect->count]);
	collect->full = !collect->by_time && collect->count == collect->keep;
}

static void
forget_recent(struct search_collect *collect)
{
	while (collect->recent_count > 0)
		free(collect->recent[--collect->recent_count].text);
}

static const char *
relative_path(const struct search_collect *collect, const char *path)
{
	const char *slash = strrchr(path, '/');

	/* The root may be the file itself. */
	if (strcmp(collect->root, path) == 0)
		return slash != NULL ? slash + 1 : path;
	path += strlen(collect->root);
	return path + strspn(path, "/");
}

bool
search_collect_accepts(const struct search_collect *collect, const char *path)
{
	return path_rules_below(collect->root, path) &&
	       (collect->glob == NULL ||
		   glob_matches(collect->glob, relative_path(collect, path)));
}

static void
end_file(struct search_collect *collect)
{
	forget_recent(collect);
	collect->open = 0;
	if (collect->per_file_max > 0 && collect->in_file >= collect->per_file_max)
		collect->at_least = true;
	collect->in_file = 0;
	if (collect->count > collect->keep + SPARE)
		keep_first(collect);
}

static void
begin_file(struct search_collect *collect, const char *path)
{
	end_file(collect);
	free(collect->path);
	collect->path = xstrdup(path);
	collect->accepted = search_collect_accepts(collect, path);
	if (collect->accepted &&
	    (path_rules_flags(collect->places, path, NULL) & collect->left_out) != 0) {
		collect->accepted = false;
		collect->omitted++;
	}
	collect->files += collect->accepted;
	collect->counted =
	    collect->full && strcmp(path, collect->hits[collect->keep - 1].path) > 0;
}

bool
search_collect_wants(struct search_collect *collect, const char *path)
{
	if (collect->path == NULL || strcmp(collect->path, path) != 0)
		begin_file(collect, path);
	return collect->accepted && !collect->counted;
}

static struct search_hit *
add_hit(struct search_collect *collect, const char *path)
{
	struct search_hit *hit;

	if (collect->count == collect->capacity) {
		collect->capacity = collect->capacity * 2 + 64;
		collect->hits =
		    xreallocarray(collect->hits, collect->capacity, sizeof *collect->hits);
	}
	hit = &collect->hits[collect->count++];
	memset(hit, 0, sizeof *hit);
	hit->path = xstrdup(path);
	return hit;
}

static int64_t
modification_time(const char *path)
{
	struct stat status;

	if (lstat(path, &status) != 0)
		return 0;
	return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

static void
append_context(struct json_object **lines, const char *text)
{
	if (*lines == NULL)
		*lines = json_object_new_array();
	json_object_array_add(*lines, json_new_text(text));
}

/* Gives the line to the hits before it that still want lines after them. */
static void
give_after(struct search_collect *collect, const struct search_record *record)
{
	size_t i;

	while (collect->open > 0 &&
	       collect->hits[collect->count - collect->open].number + collect->context <
		   record->number)
		collect->open--;
	for (i = collect->count - collect->open; i < collect->count; i++)
		append_context(&collect->hits[i].after, record->text);
}

static void
give_before(const struct search_collect *collect, struct search_hit *hit)
{
	size_t i;

	for (i = 0; i < collect->recent_count; i++)
		if (collect->recent[i].number >= hit->number - collect->context)
			append_context(&hit->before, collect->recent[i].text);
}

static void
remember_line(struct search_collect *collect, const struct search_record *record)
{
	size_t last;

	if (collect->recent_count == (size_t)collect->context) {
		free(collect->recent[0].text);
		memmove(&collect->recent[0], &collect->recent[1],
		    --collect->recent_count * sizeof *collect->recent);
	}
	last = collect->recent_count++;
	collect->recent[last].number = record->number;
	collect->recent[last].text = xstrdup(record->text);
}

static void
take_line(struct search_collect *collect, const struct search_record *record)
{
	struct search_hit *hit;

	if (collect->context > 0)
		give_after(collect, record);
	if (!record->context) {
		collect->total++;
		collect->in_file++;
		hit = add_hit(collect, record->path);
		hit->number = record->number;
		hit->text = xstrdup(record->text);
		if (collect->context > 0) {
			give_before(collect, hit);
			collect->open++;
		}
	}
	if (collect->context > 0)
		remember_line(collect, record);
}

/* A hit that is only counted. */
static void
count_hit(struct search_collect *collect, const struct search_record *record)
{
	if (record->context)
		return;
	collect->total += collect->whole_files && record->number > 0 ? record->number : 1;
	collect->in_file++;
}

static void
take_file(struct search_collect *collect, const struct search_record *record)
{
	struct search_hit *hit = add_hit(collect, record->path);

	hit->number = record->number;
	if (collect->by_time)
		hit->modified = modification_time(record->path);
	collect->total += record->number > 0 ? record->number : 1;
}

void
search_collect_record(const struct search_record *record, void *arg)
{
	struct search_collect *collect = arg;

	if (!search_collect_wants(collect, record->path)) {
		if (collect->accepted)
			count_hit(collect, record);
		return;
	}
	if (collect->whole_files)
		take_file(collect, record);
	else
		take_line(collect, record);
}

void
search_collect_end(struct search_collect *collect)
{
	end_file(collect);
	keep_first(collect);
}

void
search_collect_clear(struct search_collect *collect)
{
	forget_recent(collect);
	while (collect->count > 0)
		hit_clear(&collect->hits[--collect->count]);
	free(collect->hits);
	free(collect->path);
	collect->hits = NULL;
	collect->path = NULL;
	collect->capacity = 0;
}
