/*
 * Names that look like another. It reads one folder and no more than a bounded part of it.
 */
#include <config.h>

#include "worker/tools/similar_names.h"

#include "common/alloc.h"
#include "common/json.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/tool.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 4000 /* more would take longer than a step of the event loop may */
#define NAME_MAX_COMPARED 48
#define NO_LIKENESS 1000

struct similar_name {
	char *name;
	unsigned distance;
};

static unsigned
smallest(unsigned one, unsigned two, unsigned three)
{
	unsigned least = one < two ? one : two;

	return least < three ? least : three;
}

static int
lower(char byte)
{
	return tolower((unsigned char)byte);
}

/* Levenshtein's distance of two short texts, upper and lower case being the same. */
static unsigned
edit_distance(const char *one, size_t one_length, const char *two, size_t two_length)
{
	unsigned row[NAME_MAX_COMPARED + 1], diagonal, above;
	size_t i, j;

	for (j = 0; j <= two_length; j++)
		row[j] = (unsigned)j;
	for (i = 1; i <= one_length; i++) {
		diagonal = row[0];
		row[0] = (unsigned)i;
		for (j = 1; j <= two_length; j++) {
			above = row[j];
			row[j] = smallest(above + 1, row[j - 1] + 1,
			    diagonal + (lower(one[i - 1]) != lower(two[j - 1])));
			diagonal = above;
		}
	}
	return row[two_length];
}

/* 0 is best; NO_LIKENESS when the two have nothing in common. */
static unsigned
distance_of(const char *wanted, const char *name)
{
	size_t wanted_length = strlen(wanted), name_length = strlen(name);
	size_t wanted_stem = strcspn(wanted, "."), name_stem = strcspn(name, ".");
	size_t longest = wanted_length > name_length ? wanted_length : name_length;
	unsigned distance;

	if (strcasecmp(wanted, name) == 0)
		return 0;
	if (wanted_stem > 0 && wanted_stem == name_stem &&
	    strncasecmp(wanted, name, wanted_stem) == 0)
		return 1;
	if (longest > NAME_MAX_COMPARED)
		return strcasestr(name, wanted) != NULL || strcasestr(wanted, name) != NULL
			   ? 2
			   : NO_LIKENESS;
	distance = edit_distance(wanted, wanted_length, name, name_length);
	if (distance * 2 <= longest)
		return 1 + distance;
	if (name_length >= 3 && wanted_length >= 3 &&
	    (strcasestr(name, wanted) != NULL || strcasestr(wanted, name) != NULL))
		return 50;
	return NO_LIKENESS;
}

/* Keeps the best, sorted; a name is copied when it is among them. */
static void
keep_best(struct similar_name *best, size_t *count, const char *name, unsigned distance)
{
	size_t at = *count;

	while (at > 0 &&
	       (best[at - 1].distance > distance ||
		   (best[at - 1].distance == distance && strcmp(best[at - 1].name, name) > 0)))
		at--;
	if (at == SIMILAR_NAMES_MAX)
		return;
	if (*count == SIMILAR_NAMES_MAX)
		free(best[--*count].name);
	memmove(&best[at + 1], &best[at], (*count - at) * sizeof *best);
	best[at].name = xstrdup(name);
	best[at].distance = distance;
	++*count;
}

static void
scan_folder(DIR *folder, const char *wanted, struct similar_name *best, size_t *count)
{
	struct dirent *entry;
	unsigned distance, seen;

	for (seen = 0; seen < ENTRIES_MAX && (entry = readdir(folder)) != NULL; seen++) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		distance = distance_of(wanted, entry->d_name);
		if (distance < NO_LIKENESS)
			keep_best(best, count, entry->d_name, distance);
	}
}

struct json_object *
similar_names_find(const struct tool_context *context, const char *path)
{
	struct json_object *found = json_object_new_array();
	struct similar_name best[SIMILAR_NAMES_MAX + 1];
	const char *slash = strrchr(path, '/');
	size_t i, count = 0;
	char *parent, *full, *shown;
	DIR *folder;

	if (slash == NULL || slash[1] == '\0')
		return found;
	parent = slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
	folder = opendir(parent);
	if (folder != NULL) {
		scan_folder(folder, slash + 1, best, &count);
		closedir(folder);
	}
	for (i = 0; i < count; i++) {
		full = xasprintf("%s/%s", slash == path ? "" : parent, best[i].name);
		shown = path_rules_shown(context, full);
		json_object_array_add(found, json_new_text(shown));
		free(shown);
		free(full);
		free(best[i].name);
	}
	free(parent);
	return found;
}
