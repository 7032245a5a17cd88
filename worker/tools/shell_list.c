/*
 * A list of shell commands: operators, reserved words, redirections, here documents. It
 * needs no syntax tree: every simple command in the text is found, in whatever construct it
 * stands. It must never skip text that the shell would run.
 */
#include <config.h>

#include "worker/tools/shell_reader.h"

#include "common/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What is read at one level. */
struct list {
	struct shell_reader *reader;
	struct shell_word *words; /* of the current command */
	size_t count, room;
	struct shell_word *assignments;
	size_t assignment_count, assignment_room;
	struct shell_redirection *redirections, **last_redirection;
	bool heading;	 /* words that are no command: for NAME in …, case WORD in */
	bool case_head;	 /* ... of a case */
	bool name_next;	 /* the next word is a function's name */
	bool test;	 /* within [[ … ]] */
	bool timed;	 /* after the reserved word time, which may have an option */
	bool pattern;	 /* a case pattern stands here */
	unsigned cases;	 /* case constructs that are open */
	unsigned parens; /* subshells that are open */
	size_t last;	 /* the command before this one */
	bool piped;	 /* ... and its output goes to this one */
	bool joined;	 /* ... or this one runs only when it succeeded */
};

/* Reserved words after which a command follows (or nothing). */
static const char *const reserved[] = {"if", "then", "elif", "else", "fi", "while", "until",
    "do", "done", "!", "{", "}", "time", "coproc"};

static void
add_word(struct shell_word **words, size_t *count, size_t *room, const struct shell_word *word)
{
	if (*count == *room) {
		*room = *room == 0 ? 8 : *room * 2;
		*words = xreallocarray(*words, *room, sizeof **words);
	}
	(*words)[(*count)++] = *word;
}

static struct shell_word *
keep_words(struct shell_words *out, const struct shell_word *words, size_t count)
{
	struct shell_word *copy;

	if (count == 0)
		return NULL;
	copy = shell_words_allocate(out, count * sizeof *copy);
	memcpy(copy, words, count * sizeof *copy);
	return copy;
}

static void
drop_command(struct list *list)
{
	list->count = list->assignment_count = 0;
	list->redirections = NULL;
	list->last_redirection = &list->redirections;
	list->heading = list->case_head = list->test = false;
}

/* The current command is complete. */
static void
end_command(struct list *list)
{
	struct shell_words *out = list->reader->out;
	struct shell_simple *command;
	bool empty;

	if (list->heading)
		list->count = 0;
	empty = list->count == 0 && list->assignment_count == 0 && list->redirections == NULL;
	if (!empty && out->count >= SHELL_COMMANDS_MAX) {
		out->problem = "too many commands";
		list->reader->at = list->reader->length;
	} else if (!empty) {
		size_t index = shell_words_add(out);

		command = &out->commands[index];
		command->words = keep_words(out, list->words, list->count);
		command->count = list->count;
		command->assignments =
		    keep_words(out, list->assignments, list->assignment_count);
		command->assignment_count = list->assignment_count;
		command->redirections = list->redirections;
		command->joined = list->joined;
		command->level = list->reader->depth;
		command->previous = list->piped ? list->last : SHELL_NO_COMMAND;
		list->last = index;
	}
	if (!empty)
		list->piped = list->joined = false;
	drop_command(list);
}

static bool
is_assignment(const char *raw, size_t length)
{
	size_t i = 0;

	if (length == 0 || !(isalpha((unsigned char)raw[0]) || raw[0] == '_'))
		return false;
	while (i < length && (isalnum((unsigned char)raw[i]) || raw[i] == '_'))
		i++;
	if (i < length && raw[i] == '[')
		while (i < length && raw[i++] != ']')
			continue;
	if (i < length && raw[i] == '+')
		i++;
	return i < length && raw[i] == '=';
}

/* NAME=(…): the values are words, substitutions in them run. */
static void
skip_array(struct list *list)
{
	struct shell_reader *reader = list->reader;
	struct shell_word word;

	reader->at++;
	while (reader->at < reader->length && reader->text[reader->at] != ')')
		if (!shell_word_read(reader, &word))
			reader->at++;
	if (reader->at < reader->length)
		reader->at++;
}

/* ":(){ :|:& };:" with any name, white space left out. */
static bool
is_fork_bomb(const struct shell_reader *reader, const char *name)
{
	char compact[160], expected[160];
	size_t i, n = 0, length = strlen(name);

	if (length == 0 || length > 20)
		return false;
	for (i = reader->at; i < reader->length && n < sizeof compact - 1; i++)
		if (!isspace((unsigned char)reader->text[i]))
			compact[n++] = reader->text[i];
	compact[n] = '\0';
	strcpy(expected, "(){");
	strcat(expected, name);
	strcat(expected, "|");
	strcat(expected, name);
	strcat(expected, "&}");
	return strncmp(compact, expected, strlen(expected)) == 0;
}

/* A reserved word; false when it is an ordinary one. */
static bool
take_reserved(struct list *list, const struct shell_word *word)
{
	size_t i;

	if (list->count > 0 || list->assignment_count > 0 || word->quoted || word->dynamic)
		return false;
	for (i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (strcmp(word->text, reserved[i]) == 0) {
			list->timed = strcmp(word->text, "time") == 0;
			return true;
		}
	if (list->timed && (strcmp(word->text, "-p") == 0 || strcmp(word->text, "--") == 0))
		return true;
	list->timed = false;
	if (strcmp(word->text, "for") == 0 || strcmp(word->text, "select") == 0) {
		list->heading = true;
	} else if (strcmp(word->text, "case") == 0) {
		list->heading = list->case_head = true;
		list->cases++;
	} else if (strcmp(word->text, "esac") == 0) {
		if (list->cases > 0)
			list->cases--;
		list->pattern = false;
	} else if (strcmp(word->text, "function") == 0) {
		list->name_next = true;
	} else {
		return false;
	}
	return true;
}

static void
take_word(struct list *list)
{
	struct shell_reader *reader = list->reader;
	const char *raw = reader->text + reader->at;
	struct shell_word word;
	size_t before = reader->at;

	if (!shell_word_read(reader, &word)) {
		if (reader->at == before)
			reader->at++; /* a byte that cannot be: never stand still */
		return;
	}
	if (list->name_next) {
		list->name_next = false;
		return;
	}
	if (list->case_head && strcmp(word.text, "in") == 0 && list->count > 0) {
		drop_command(list);
		list->pattern = true;
		return;
	}
	if (!list->heading && take_reserved(list, &word))
		return;
	if (list->count == 0 && !list->heading && is_assignment(raw, reader->at - before)) {
		add_word(
		    &list->assignments, &list->assignment_count, &list->assignment_room, &word);
		if (reader->at > before && reader->text[reader->at - 1] == '=' &&
		    shell_reader_peek(reader, 0) == '(')
			skip_array(list);
		return;
	}
	add_word(&list->words, &list->count, &list->room, &word);
	if (list->count == 1 && strcmp(word.text, "[[") == 0)
		list->test = true;
	else if (list->test && strcmp(word.text, "]]") == 0)
		list->test = false;
}

static void
take_redirection(struct list *list)
{
	struct shell_redirection *redirection = shell_redirection_read(list->reader);

	if (redirection == NULL)
		return;
	*list->last_redirection = redirection;
	list->last_redirection = &redirection->next;
}

static void
take_newline(struct list *list)
{
	struct shell_reader *reader = list->reader;
	size_t i, count = reader->pending_count;

	reader->at++;
	reader->pending_count = 0;
	for (i = 0; i < count; i++)
		shell_redirection_document(reader, &reader->pending[i]);
	if (!list->pattern)
		end_command(list);
}

/* ";", "&", "|" and what they form. */
static void
take_operator(struct list *list)
{
	struct shell_reader *reader = list->reader;
	char byte = shell_reader_peek(reader, 0), next = shell_reader_peek(reader, 1);

	if (list->pattern && byte == '|') {
		reader->at++;
		return;
	}
	end_command(list);
	reader->at++;
	if (byte == '|' && next != '|') {
		list->piped = true;
		reader->at += next == '&';
	} else if (byte == ';' && (next == ';' || next == '&')) {
		reader->at++;
		if (shell_reader_peek(reader, 0) == '&')
			reader->at++;
		list->pattern = list->cases > 0;
	} else if (next == byte) {
		list->joined = byte == '&';
		reader->at++;
	}
}

static void
take_open(struct list *list)
{
	struct shell_reader *reader = list->reader;
	size_t arithmetic = shell_word_arithmetic(
	    reader->out, reader->text + reader->at, reader->length - reader->at);
	struct shell_word scanned = {0};
	size_t ahead = 1;

	if (arithmetic > 0 && (list->count == 0 || list->heading)) {
		shell_word_scan(reader->out, reader->text + reader->at, arithmetic,
		    reader->depth + 1, &scanned);
		reader->at += arithmetic;
		return;
	}
	if (list->pattern) {
		reader->at++;
		return;
	}
	while (isspace((unsigned char)shell_reader_peek(reader, ahead)))
		ahead++;
	if (list->count <= 1 && shell_reader_peek(reader, ahead) == ')') {
		if (list->count == 1 && is_fork_bomb(reader, list->words[0].text))
			reader->out->fork_bomb = true;
		drop_command(list);
		reader->at += ahead + 1;
		return;
	}
	end_command(list);
	list->parens++;
	reader->at++;
}

/* True when the list ends here. */
static bool
take_close(struct list *list, char stop)
{
	list->reader->at++;
	if (list->pattern) {
		list->pattern = false;
		drop_command(list);
		return false;
	}
	end_command(list);
	if (list->parens == 0)
		return stop == ')';
	list->parens--;
	return false;
}

static bool
at_redirection(const struct shell_reader *reader)
{
	size_t ahead = 0;
	char next;

	if (shell_reader_peek(reader, 0) == '&' && shell_reader_peek(reader, 1) == '>')
		return true;
	while (isdigit((unsigned char)shell_reader_peek(reader, ahead)))
		ahead++;
	next = shell_reader_peek(reader, ahead);
	return (next == '<' || next == '>') && shell_reader_peek(reader, ahead + 1) != '(';
}

static void
take_test_byte(struct list *list)
{
	if (strchr("&|()<>", shell_reader_peek(list->reader, 0)) != NULL)
		list->reader->at++;
	else
		take_word(list);
}

void
shell_list_read(struct shell_reader *reader, char stop)
{
	struct list list = {.reader = reader, .last = SHELL_NO_COMMAND};
	bool closed = stop == '\0';
	char byte;

	list.last_redirection = &list.redirections;
	for (shell_reader_skip_blanks(reader); reader->at < reader->length;
	     shell_reader_skip_blanks(reader)) {
		byte = shell_reader_peek(reader, 0);
		if (byte == '#') {
			while (
			    reader->at < reader->length && shell_reader_peek(reader, 0) != '\n')
				reader->at++;
		} else if (byte == '\n') {
			take_newline(&list);
		} else if (list.test) {
			take_test_byte(&list);
		} else if (at_redirection(reader)) {
			while (isdigit((unsigned char)shell_reader_peek(reader, 0)))
				reader->at++;
			take_redirection(&list);
		} else if (byte == ';' || byte == '&' || byte == '|') {
			take_operator(&list);
		} else if (byte == '(') {
			take_open(&list);
		} else if (byte == ')') {
			if (take_close(&list, stop)) {
				closed = true;
				break;
			}
		} else {
			take_word(&list);
		}
	}
	end_command(&list);
	if (!closed && reader->out->problem == NULL)
		reader->out->problem = "a parenthesis is not closed";
	free(list.words);
	free(list.assignments);
}

void
shell_list_read_text(struct shell_words *words, const char *text, size_t length, unsigned depth)
{
	struct shell_reader reader = {.text = text, .length = length, .depth = depth};

	reader.out = words;
	if (depth > SHELL_DEPTH_MAX || length > words->budget) {
		words->problem = "too many levels";
		return;
	}
	words->budget -= length;
	shell_list_read(&reader, '\0');
}
