/*
 * The table of exit statuses (as in Hermes).
 */
#include <config.h>

#include "worker/tools/exit_meaning.h"

#include "worker/tools/command_view.h"
#include "worker/tools/shell_words.h"

#include <stddef.h>
#include <string.h>

struct meaning {
	const char *programs; /* separated by blanks; NULL = any */
	const char *actions;  /* second word; NULL = any */
	int code;
	bool normal;
	const char *text;
};

static const struct meaning meanings[] = {
    {"grep egrep fgrep zgrep rg ag ack pgrep", NULL, 1, true, "no match"},
    {"diff colordiff cmp sdiff", NULL, 1, true, "the inputs differ"},
    {"test [ [[", NULL, 1, true, "the condition is false"},
    {"git", "diff", 1, true, "there are differences"},
    {"git", "grep", 1, true, "no match"},
    {"git", NULL, 1, false, "may be a normal answer of this git command"},
    {"find", NULL, 1, false, "some paths were not accessible"},
    {"curl", NULL, 6, false, "the host's name could not be resolved"},
    {"curl", NULL, 7, false, "could not connect"},
    {"curl", NULL, 22, false, "the server answered with an HTTP error"},
    {"curl", NULL, 28, false, "timed out"},
    {"timeout gtimeout", NULL, 124, false, "the command ran into its time limit"},
    {NULL, NULL, 126, false, "found, but cannot be run"},
    {NULL, NULL, 127, false, "command not found"},
};

/* The last command that the text itself names; what it runs in turn stands behind it. */
static const struct shell_simple *
find_last(const struct shell_words *words)
{
	const struct shell_simple *last = NULL;
	size_t i;

	for (i = 0; i < words->count; i++)
		if (words->commands[i].origin == SHELL_ORIGIN_WRITTEN &&
		    words->commands[i].level == 0 && words->commands[i].count > 0)
			last = &words->commands[i];
	return last;
}

/* True when the status may be that of a command before the last one: with &&, unless that
 * only changed the folder. */
static bool
may_be_another(const struct shell_words *words, const struct shell_simple *last)
{
	const struct shell_simple *command = last;
	char program[32];

	for (; command > words->commands && command->joined; command--) {
		shell_words_program(command - 1, program, sizeof program);
		if (strcmp(program, "cd") != 0)
			return true;
	}
	return false;
}

const char *
exit_meaning_find(const char *command, int code, bool *normal)
{
	const struct shell_simple *last;
	const char *text = NULL, *action;
	struct shell_words words;
	char program[32] = "";
	size_t i;

	*normal = code == 0;
	if (code == 0)
		return NULL;
	shell_words_read(&words, command);
	last = find_last(&words);
	if (last != NULL)
		shell_words_program(last, program, sizeof program);
	action = last != NULL && last->count > 1 ? last->words[1].text : "";
	for (i = 0; text == NULL && i < sizeof meanings / sizeof *meanings; i++) {
		if (meanings[i].code != code ||
		    (meanings[i].programs != NULL &&
			!command_view_listed(meanings[i].programs, program)) ||
		    (meanings[i].actions != NULL && strcmp(meanings[i].actions, action) != 0))
			continue;
		text = meanings[i].text;
		*normal = meanings[i].normal && !may_be_another(&words, last);
	}
	shell_words_clear(&words);
	return text;
}
