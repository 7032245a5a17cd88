/*
 * .gitignore, .ignore and .rgignore as ripgrep reads them: the rules of .gitignore count only
 * inside a Git repository, a deeper file beats a higher one, the last fitting line of a file
 * decides. It reads only these files.
 */
#include <config.h>

#include "worker/tools/ignore_rules.h"

#include "common/alloc.h"
#include "worker/tools/glob_match.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/text_file.h"

#include <stdlib.h>
#include <string.h>

#define RULES_BYTES_MAX ((size_t)1024 * 1024)

enum rule_source { SOURCE_RGIGNORE, SOURCE_IGNORE, SOURCE_GIT, SOURCE_EXCLUDE, SOURCE_COUNT };

static const char *const source_names[SOURCE_COUNT] = {
    [SOURCE_RGIGNORE] = ".rgignore",
    [SOURCE_IGNORE] = ".ignore",
    [SOURCE_GIT] = ".gitignore",
    [SOURCE_EXCLUDE] = ".git/info/exclude",
};

struct ignore_rule {
	char *pattern; /* for glob_match_path(), relative to the folder of the file */
	bool keep;     /* "!": not ignored after all */
	bool folders;  /* "/" at the end: folders only */
};

struct rule_list {
	struct ignore_rule *items;
	size_t count;
};

/* One folder on the way from "/" to where the walk is. */
struct level {
	char *folder;
	struct rule_list lists[SOURCE_COUNT];
	bool repository; /* has a .git */
	bool ignored;	 /* this folder or one above it, below the root */
};

struct ignore_rules {
	struct level *levels;
	size_t count, capacity;
	size_t root_depth; /* levels up to the root, which are never taken away */
};

enum decision { UNDECIDED, IGNORED, KEPT };

/* Cuts blanks off the end, but not one that a backslash protects. */
static size_t
trimmed_length(const char *line, size_t length)
{
	if (length > 0 && line[length - 1] == '\r')
		length--;
	while (
	    length > 0 && line[length - 1] == ' ' && !(length > 1 && line[length - 2] == '\\'))
		length--;
	return length;
}

static void
add_rule(struct rule_list *list, const char *line, size_t length)
{
	struct ignore_rule rule = {NULL, false, false};
	const char *slash;

	length = trimmed_length(line, length);
	if (length == 0 || *line == '#')
		return;
	if (*line == '!') {
		rule.keep = true;
		line++;
		length--;
	}
	while (length > 0 && line[length - 1] == '/') {
		rule.folders = true;
		length--;
	}
	if (length == 0)
		return;
	slash = memchr(line, '/', length);
	if (*line == '/') {
		line++;
		length--;
	}
	rule.pattern = xasprintf("%s%.*s", slash == NULL ? "**/" : "", (int)length, line);
	list->items = xreallocarray(list->items, list->count + 1, sizeof *list->items);
	list->items[list->count++] = rule;
}

static void
read_rules(struct rule_list *list, const char *folder, const char *name)
{
	struct buffer error = BUFFER_EMPTY;
	struct text_file file;
	const char *at, *end, *stop;
	char *path = xasprintf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
	char *real = path_rules_real(path);

	if (real != NULL && text_file_read(real, RULES_BYTES_MAX, &file, &error) == TEXT_READ) {
		end = file.text + file.length;
		for (at = file.text; at < end; at = stop + 1) {
			stop = memchr(at, '\n', (size_t)(end - at));
			if (stop == NULL)
				stop = end;
			add_rule(list, at, (size_t)(stop - at));
			if (stop == end)
				break;
		}
		text_file_clear(&file);
	}
	buffer_free(&error);
	free(real);
	free(path);
}

static void
list_clear(struct rule_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		free(list->items[i].pattern);
	free(list->items);
}

static void
pop_level(struct ignore_rules *rules)
{
	struct level *level = &rules->levels[--rules->count];
	size_t i;

	for (i = 0; i < SOURCE_COUNT; i++)
		list_clear(&level->lists[i]);
	free(level->folder);
}

static enum decision
decide_by_list(const struct rule_list *list, const char *relative, bool is_folder)
{
	size_t i;

	for (i = list->count; i-- > 0;) {
		const struct ignore_rule *rule = &list->items[i];

		if ((!rule->folders || is_folder) && glob_match_path(rule->pattern, relative))
			return rule->keep ? KEPT : IGNORED;
	}
	return UNDECIDED;
}

/* The first level whose .gitignore counts: the innermost repository; none = rules->count. */
static size_t
repository_level(const struct ignore_rules *rules)
{
	size_t i;

	for (i = rules->count; i-- > 0;)
		if (rules->levels[i].repository)
			return i;
	return rules->count;
}

/* Asks all levels, from the deepest up, about something in the deepest folder. */
static bool
is_ignored(const struct ignore_rules *rules, const char *path, bool is_folder)
{
	enum decision decision = UNDECIDED;
	size_t source, i, top;

	for (source = 0; decision == UNDECIDED && source < SOURCE_COUNT; source++) {
		top = source >= SOURCE_GIT ? repository_level(rules) : 0;
		for (i = rules->count; decision == UNDECIDED && i-- > top;) {
			const struct level *level = &rules->levels[i];
			const char *relative = path + strlen(level->folder);

			relative += strspn(relative, "/");
			decision = decide_by_list(&level->lists[source], relative, is_folder);
		}
	}
	return decision == IGNORED;
}

static void
push_level(struct ignore_rules *rules, const char *folder, size_t length, bool above_root)
{
	struct level level = {NULL, {{NULL, 0}}, false, false};
	struct stat status;
	char *git;
	size_t i;

	level.folder = length == 0 ? xstrdup("/") : xstrndup(folder, length);
	if (!above_root && rules->count > 0)
		level.ignored = rules->levels[rules->count - 1].ignored ||
				is_ignored(rules, level.folder, true);
	if (!level.ignored) {
		git = xasprintf("%s/.git", length == 0 ? "" : level.folder);
		level.repository = lstat(git, &status) == 0;
		free(git);
		for (i = 0; i < SOURCE_COUNT; i++)
			read_rules(&level.lists[i], level.folder, source_names[i]);
	}
	if (rules->count == rules->capacity) {
		rules->capacity = rules->capacity * 2 + 16;
		rules->levels =
		    xreallocarray(rules->levels, rules->capacity, sizeof *rules->levels);
	}
	rules->levels[rules->count++] = level;
}

/* Pushes a level for each folder of `path` that has none yet. */
static void
push_folders(struct ignore_rules *rules, const char *path, bool above_root)
{
	size_t length = rules->count == 0 ? 0 : strlen(rules->levels[rules->count - 1].folder);
	const char *slash;

	if (rules->count == 0)
		push_level(rules, path, 0, above_root);
	if (rules->count == 1)
		length = 0;
	while ((slash = strchr(path + length + 1, '/')) != NULL) {
		length = (size_t)(slash - path);
		push_level(rules, path, length, above_root);
	}
}

struct ignore_rules *
ignore_rules_new(const char *root)
{
	struct ignore_rules *rules = xcalloc(1, sizeof *rules);
	char *inside = xasprintf("%s/", strcmp(root, "/") == 0 ? "" : root);

	push_folders(rules, inside, true);
	rules->root_depth = rules->count;
	free(inside);
	return rules;
}

void
ignore_rules_free(struct ignore_rules *rules)
{
	if (rules == NULL)
		return;
	while (rules->count > 0)
		pop_level(rules);
	free(rules->levels);
	free(rules);
}

bool
ignore_rules_match(struct ignore_rules *rules, const char *path)
{
	while (rules->count > rules->root_depth &&
	       !path_rules_below(rules->levels[rules->count - 1].folder, path))
		pop_level(rules);
	push_folders(rules, path, false);
	return rules->levels[rules->count - 1].ignored || is_ignored(rules, path, false);
}
