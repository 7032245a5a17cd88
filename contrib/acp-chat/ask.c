/*
 * Asking on the terminal. It must never take anything for a yes but an answer that the user
 * gave after the question was shown.
 */
#include <config.h>

#include "contrib/acp-chat/ask.h"

#include "common/alloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

struct question {
	struct question *next;
	struct json_object *id, *options;
	char *title;
};

/* The letters that stand for the kinds of options. */
static const struct {
	const char *kind;
	char letter;
	const char *word;
} letters[] = {
    {"allow_once", 'y', "yes"},
    {"allow_always", 'a', "always"},
    {"reject_once", 'n', "no"},
    {"reject_always", 'r', "never"},
};

static struct json_object *
option_at(const struct question *question, size_t index)
{
	return json_object_array_get_idx(question->options, index);
}

static size_t
option_count(const struct question *question)
{
	return question->options != NULL ? json_object_array_length(question->options) : 0;
}

/* The first option of a kind, NULL when there is none. */
static struct json_object *
option_of_kind(const struct question *question, const char *kind)
{
	for (size_t i = 0; i < option_count(question); i++)
		if (strcmp(json_member_text(option_at(question, i), "kind", ""), kind) == 0)
			return option_at(question, i);
	return NULL;
}

static struct json_object *
rejection(const struct question *question)
{
	struct json_object *option = option_of_kind(question, "reject_once");

	return option != NULL ? option : option_of_kind(question, "reject_always");
}

static void
free_question(struct question *question)
{
	json_object_put(question->id);
	json_object_put(question->options);
	free(question->title);
	free(question);
}

static char
letter_of(struct json_object *option)
{
	const char *kind = json_member_text(option, "kind", "");

	for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
		if (strcmp(letters[i].kind, kind) == 0)
			return letters[i].letter;
	return '\0';
}

static void
show_first(struct ask *ask)
{
	const struct question *question = ask->first;
	struct json_object *option;
	char letter;

	if (question == NULL)
		return;
	render_line(ask->render, STYLE_YELLOW, "Permission: %s", question->title);
	for (size_t i = 0; i < option_count(question); i++) {
		option = option_at(question, i);
		letter = letter_of(option);
		/* Only the first of its kind has the letter. */
		if (letter != '\0' &&
		    option_of_kind(question, json_member_text(option, "kind", "")) == option)
			render_line(ask->render, STYLE_PLAIN, "  %zu, %c) %s", i + 1, letter,
			    json_member_text(option, "name", "?"));
		else
			render_line(ask->render, STYLE_PLAIN, "  %zu)    %s", i + 1,
			    json_member_text(option, "name", "?"));
	}
	/* What was typed before the question was no answer to it. */
	tcflush(STDIN_FILENO, TCIFLUSH);
	render_prompt(ask->render, STYLE_YELLOW, "Your choice [n]: ");
}

/* Answers the first question with an option, or with "cancelled" when it is NULL. */
static void
answer_first(struct ask *ask, struct json_object *option)
{
	struct question *question = ask->first;
	struct json_object *outcome = json_object_new_object();
	const char *option_id = json_member_string(option, "optionId");

	ask->first = question->next;
	json_set_text(outcome, "outcome", option_id != NULL ? "selected" : "cancelled");
	if (option_id != NULL)
		json_set_text(outcome, "optionId", option_id);
	ask->answer(question->id, outcome, ask->arg);
	free_question(question);
}

static void
answer_by_policy(struct ask *ask)
{
	struct json_object *option = NULL;

	if (ask->policy == ASK_YES) {
		option = option_of_kind(ask->first, "allow_once");
		if (option == NULL)
			render_message(ask->render,
			    "--yes: no option allows only this once; refused: %s",
			    ask->first->title);
	}
	if (ask->policy == ASK_NOBODY)
		render_message(ask->render,
		    "permission denied, because there is no terminal to ask on (--yes allows): "
		    "%s",
		    ask->first->title);
	if (option == NULL)
		option = rejection(ask->first);
	render_line(ask->render, STYLE_YELLOW, "Permission: %s -> %s", ask->first->title,
	    json_member_text(option, "name", "cancelled"));
	answer_first(ask, option);
}

void
ask_add(struct ask *ask, struct json_object *id, struct json_object *params)
{
	struct question *question = xcalloc(1, sizeof *question), **at = &ask->first;
	struct json_object *call = json_member_object(params, "toolCall");

	question->id = json_copy(id);
	question->options = json_object_get(json_member_array(params, "options"));
	question->title = xstrdup(json_member_text(
	    call, "title", json_member_text(call, "toolCallId", "a tool call")));
	while (*at != NULL)
		at = &(*at)->next;
	*at = question;
	if (ask->policy != ASK_USER)
		answer_by_policy(ask);
	else if (ask->first == question)
		show_first(ask);
}

bool
ask_waits(const struct ask *ask)
{
	return ask->first != NULL;
}

/* The option that a line names by number, letter or word; NULL when it names none. */
static struct json_object *
understand(const struct question *question, const char *line)
{
	char answer[16] = "", *end;
	unsigned long number;

	if (sscanf(line, " %15s", answer) != 1)
		return rejection(question);
	number = strtoul(answer, &end, 10);
	if (*end == '\0' && number >= 1 && number <= option_count(question))
		return option_at(question, number - 1);
	for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
		if (strcasecmp(answer, letters[i].word) != 0 &&
		    (tolower((unsigned char)answer[0]) != letters[i].letter ||
			answer[1] != '\0'))
			continue;
		return letters[i].letter == 'n' ? rejection(question)
						: option_of_kind(question, letters[i].kind);
	}
	return NULL;
}

/* True for the empty line and the plain no, which also stand where no option fits. */
static bool
is_no(const char *line)
{
	line += strspn(line, " \t\r");
	return *line == '\0' || tolower((unsigned char)*line) == 'n';
}

void
ask_line(struct ask *ask, const char *line)
{
	struct json_object *option;

	if (ask->first == NULL)
		return;
	if (line != NULL)
		render_prompt_answered(ask->render);
	option = understand(ask->first, line != NULL ? line : "");
	if (option == NULL && line != NULL && !is_no(line)) {
		render_prompt(ask->render, STYLE_YELLOW,
		    "Please give the number or letter of a choice, or nothing for no: ");
		return;
	}
	answer_first(ask, option);
	if (line == NULL)
		while (ask->first != NULL)
			answer_first(ask, rejection(ask->first));
	show_first(ask);
}

void
ask_cancel(struct ask *ask)
{
	while (ask->first != NULL)
		answer_first(ask, NULL);
}

bool
ask_withdraw(struct ask *ask, struct json_object *id)
{
	struct question **at = &ask->first, *found;
	bool was_first;

	while (*at != NULL && !json_object_equal((*at)->id, id))
		at = &(*at)->next;
	found = *at;
	if (found == NULL)
		return false;
	was_first = found == ask->first;
	*at = found->next;
	render_line(ask->render, STYLE_DIM, "(no longer asked: %s)", found->title);
	free_question(found);
	if (was_first)
		show_first(ask);
	return true;
}
