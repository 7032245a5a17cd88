/*
 * Rules for commands that delete. Labels are those of Hermes, because command_allowlist
 * holds them; what Hermes has no label for has one of ours.
 */
#include <config.h>

#include "worker/tools/command_view.h"

#include "worker/tools/path_rules.h"
#include "worker/tools/tool.h"

#include <stdlib.h>
#include <string.h>

static const char *const system_folders[] = {"/home", "/root", "/etc", "/usr", "/var", "/bin",
    "/sbin", "/boot", "/lib", "/lib64", "/Users", "/System", "/Library"};

/* True when an operand means a folder for which `judge` is true. */
static bool
any_operand(const struct command_view *view,
    bool (*judge)(const struct command_view *view, const char *path))
{
	const struct shell_word *word;
	size_t index = 1;
	bool found = false;
	char *path;

	while (!found && (word = command_view_operand(view, &index)) != NULL) {
		path = command_view_path(view, word);
		found = path != NULL && judge(view, path);
		free(path);
	}
	return found;
}

static bool
is_root(const struct command_view *view, const char *path)
{
	(void)view;
	return strcmp(path, "/") == 0;
}

static bool
is_system_folder(const struct command_view *view, const char *path)
{
	size_t i;

	(void)view;
	for (i = 0; i < sizeof system_folders / sizeof *system_folders; i++)
		if (strcmp(path, system_folders[i]) == 0)
			return true;
	return false;
}

static bool
is_home(const struct command_view *view, const char *path)
{
	return view->context->user_home != NULL && strcmp(path, view->context->user_home) == 0;
}

/* Elsewhere than in the session's folders: a full path is judged, a relative one stays in
 * the folder that the command is in. */
static bool
is_outside(const struct command_view *view, const char *path)
{
	return !path_rules_inside(view->context, path);
}

static bool
deletes_root(const struct command_view *view)
{
	return any_operand(view, is_root);
}

static bool
deletes_system_folder(const struct command_view *view)
{
	return any_operand(view, is_system_folder);
}

static bool
deletes_home(const struct command_view *view)
{
	return any_operand(view, is_home);
}

static bool
deletes_outside(const struct command_view *view)
{
	return any_operand(view, is_outside);
}

/* Where the first operand stands and where the first option that asks for recursion. */
static bool
recursive(const struct command_view *view, bool *after_operand)
{
	bool operand = false;
	size_t i;

	for (i = 1; i < view->command->count; i++) {
		const char *text = view->command->words[i].text;

		if (strcmp(text, "--") == 0)
			break;
		if (text[0] != '-' || text[1] == '\0') {
			operand = true;
		} else if (text[1] != '-' && strpbrk(text, "rR") != NULL) {
			*after_operand = operand;
			return true;
		}
	}
	return false;
}

static bool
deletes_recursively(const struct command_view *view)
{
	bool after;

	return recursive(view, &after) && !after;
}

static bool
deletes_recursively_after(const struct command_view *view)
{
	bool after;

	return recursive(view, &after) && after;
}

static bool
deletes_recursively_long(const struct command_view *view)
{
	return command_view_long(view, "--recursive", 3);
}

static bool
is_from_xargs(const struct command_view *view)
{
	return view->command->origin == SHELL_ORIGIN_XARGS;
}

static bool
is_from_find(const struct command_view *view)
{
	return view->command->origin == SHELL_ORIGIN_FIND;
}

static bool
finds_and_deletes(const struct command_view *view)
{
	return command_view_has(view, "-delete");
}

/* After the first test or action of find, a word that is not known may be "-delete". */
static bool
finds_unknown(const struct command_view *view)
{
	bool expression = false;
	size_t i;

	for (i = 1; i < view->command->count; i++) {
		const struct shell_word *word = &view->command->words[i];

		if (expression && word->splits && word->text[0] == '$')
			return true;
		if (word->pattern && (word->text[0] == '-' || word->text[0] == '{') &&
		    strcmp(word->text, "{}") != 0)
			return true;
		if (word->text[0] == '-')
			expression = true;
	}
	return false;
}

static bool
always(const struct command_view *view)
{
	(void)view;
	return true;
}

const struct command_rule command_rules_delete[] = {
    {"rm rmdir unlink shred", deletes_root, "recursive delete of root filesystem", true},
    {"rm rmdir unlink shred", deletes_system_folder, "recursive delete of system directory",
	true},
    {"rm rmdir unlink shred", deletes_home, "recursive delete of home directory", true},
    {"rm", deletes_recursively, "recursive delete", false},
    {"rm", deletes_recursively_long, "recursive delete (long flag)", false},
    {"rm", deletes_recursively_after, "recursive delete (flags after operands)", false},
    {"rm", is_from_xargs, "xargs with rm", false},
    {"rm", is_from_find, "find -exec/-execdir rm", false},
    {"rm unlink", deletes_outside, "delete in root path", false},
    {"rm", command_view_unknown_words, "delete with words only known when it runs", false},
    {"shred", always, "shred (overwrites files)", false},
    {"find", finds_and_deletes, "find -delete", false},
    {"find", finds_unknown, "find dynamic shell word may expand to destructive flag", false},
    {NULL, NULL, NULL, false},
};
