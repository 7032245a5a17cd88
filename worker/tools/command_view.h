/*
 * One simple command as the rules look at it: options, operands, the path that a word means.
 */
#ifndef HERMES_WORKER_TOOLS_COMMAND_VIEW_H
#define HERMES_WORKER_TOOLS_COMMAND_VIEW_H

#include "worker/tools/shell_words.h"

#include <stdbool.h>
#include <stddef.h>

struct path_places;
struct tool_context;

struct command_view {
	const struct tool_context *context;
	const char *cwd; /* where the whole command starts */
	const struct shell_words *words;
	const struct shell_simple *command;
	size_t *lookups; /* how often the file system was asked, for all commands */
	const struct path_places *places; /* see path_rules.h */
	size_t options_end;		  /* index of "--", or the number of words */
	char program[32];		  /* name without folder, lower case; "" = not known */
	bool moved;			  /* the whole command changes its folder somewhere */
};

/* A rule: its programs (separated by blanks; "*" = any), when it fits, and the label that the
 * user sees and command_allowlist holds. A table ends with a row without label. */
struct command_rule {
	const char *programs;
	bool (*fits)(const struct command_view *view);
	const char *label;
	bool never;
};

extern const struct command_rule command_rules_delete[];
extern const struct command_rule command_rules_system[];
extern const struct command_rule command_rules_database[];
extern const struct command_rule command_rules_remote[];
extern const struct command_rule command_rules_services[];

/* Makes the view one of `command`. */
void command_view_select(struct command_view *view, const struct shell_simple *command);
/* True when `name` is one of `names`, which are separated by blanks. */
bool command_view_listed(const char *names, const char *name);
/* The text of word `index`, "" past the end. */
const char *command_view_word(const struct command_view *view, size_t index);
/* True when an option in front of "--" has one of `letters` ("-rf" has r and f). */
bool command_view_short(const struct command_view *view, const char *letters);
/* True when the long option `name` is there, also cut to at least `least` characters. */
bool command_view_long(const struct command_view *view, const char *name, size_t least);
/* True when word 1 or a later one is exactly this. */
bool command_view_has(const struct command_view *view, const char *word);
/* True when the first word that is not an option is one of `names`. */
bool command_view_action(const struct command_view *view, const char *names);
/* The next word that is not an option, from *index on; NULL at the end. */
const struct shell_word *command_view_operand(const struct command_view *view, size_t *index);
/* True when a word may turn into options or several words when it runs. */
bool command_view_unknown_words(const struct command_view *view);
/* The path that a word means, "." and ".." taken out, without a wildcard that stands for all
 * at its end; NULL when that is not known. The caller frees it. */
char *command_view_path(const struct command_view *view, const struct shell_word *word);
/* True for /dev/sda and its like. */
bool command_view_is_disk(const char *path);
/* True when a command within the word's substitutions is one of `programs`. */
bool command_view_runs(
    const struct command_view *view, const struct shell_word *word, const char *programs);

#endif
