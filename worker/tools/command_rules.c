/*
 * Judging a command: every simple command that it runs against every table of rules. Never
 * runs anything; what it cannot decide, it asks.
 */
#include <config.h>

#include "worker/tools/command_rules.h"

#include "worker/tools/command_targets.h"
#include "worker/tools/command_view.h"
#include "worker/tools/path_rules.h"

#include <string.h>

static const struct command_rule *const tables[] = {command_rules_delete, command_rules_system,
    command_rules_database, command_rules_remote, command_rules_services};

static void
add(struct command_judgement *judgement, const char *label, bool sensitive)
{
	struct command_finding *finding;
	size_t i;

	if (judgement->verdict == COMMAND_NEVER)
		return;
	judgement->verdict = COMMAND_ASK;
	for (i = 0; i < judgement->count; i++)
		if (strcmp(judgement->findings[i].label, label) == 0)
			return;
	if (judgement->count == COMMAND_FINDINGS_MAX) {
		/* More than anybody reads: the last one stands for all, and always asks. */
		judgement->findings[COMMAND_FINDINGS_MAX - 1].sensitive = true;
		return;
	}
	finding = &judgement->findings[judgement->count++];
	finding->label = label;
	finding->sensitive = sensitive;
}

static void
refuse(struct command_judgement *judgement, const char *label)
{
	judgement->verdict = COMMAND_NEVER;
	judgement->findings[0].label = label;
	judgement->findings[0].sensitive = true;
	judgement->count = 1;
}

static void
on_target(const char *label, void *arg)
{
	add(arg, label, true);
}

static void
judge_simple(const struct command_view *view, struct command_judgement *judgement)
{
	const struct command_rule *rule;
	size_t i;

	for (i = 0; i < sizeof tables / sizeof *tables; i++)
		for (rule = tables[i]; rule->label != NULL; rule++) {
			if (judgement->verdict == COMMAND_NEVER)
				return;
			if (strcmp(rule->programs, "*") != 0 &&
			    !command_view_listed(rule->programs, view->program))
				continue;
			if (!rule->fits(view))
				continue;
			if (rule->never)
				refuse(judgement, rule->label);
			else
				add(judgement, rule->label, false);
		}
	command_targets_find(view, on_target, judgement);
}

static bool
changes_folder(const struct shell_words *words)
{
	char program[32];
	size_t i;

	for (i = 0; i < words->count; i++) {
		shell_words_program(&words->commands[i], program, sizeof program);
		if (command_view_listed("cd pushd popd chdir", program))
			return true;
	}
	return false;
}

void
command_rules_judge(const struct tool_context *context, const char *cwd, const char *command,
    struct command_judgement *judgement)
{
	struct command_view view = {.context = context, .cwd = cwd};
	struct path_places places;
	struct shell_words words;
	size_t lookups = 0, i;

	memset(judgement, 0, sizeof *judgement);
	shell_words_read(&words, command);
	path_places_find(context, &places);
	view.words = &words;
	view.places = &places;
	view.lookups = &lookups;
	view.moved = changes_folder(&words);
	if (words.fork_bomb)
		refuse(judgement, "fork bomb");
	for (i = 0; i < words.count && judgement->verdict != COMMAND_NEVER; i++) {
		command_view_select(&view, &words.commands[i]);
		judge_simple(&view, judgement);
	}
	if (words.problem != NULL)
		add(judgement, "shell syntax that cannot be judged", true);
	path_places_clear(&places);
	shell_words_clear(&words);
}
