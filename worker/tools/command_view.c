/*
 * Looking at a simple command. Nothing here touches the file system.
 */
#include <config.h>

#include "worker/tools/command_view.h"

#include "common/buffer.h"
#include "worker/tools/tool.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

void
command_view_select(struct command_view *view, const struct shell_simple *command)
{
	size_t i;

	view->command = command;
	shell_words_program(command, view->program, sizeof view->program);
	for (i = 1; i < command->count; i++)
		if (strcmp(command->words[i].text, "--") == 0)
			break;
	view->options_end = i;
}

bool
command_view_listed(const char *names, const char *name)
{
	size_t length = strlen(name), n;

	if (length == 0)
		return false;
	while (*names != '\0') {
		n = strcspn(names, " ");
		if (n == length && strncmp(names, name, n) == 0)
			return true;
		names += n;
		names += strspn(names, " ");
	}
	return false;
}

const char *
command_view_word(const struct command_view *view, size_t index)
{
	return index < view->command->count ? view->command->words[index].text : "";
}

bool
command_view_short(const struct command_view *view, const char *letters)
{
	const char *text;
	size_t i;

	for (i = 1; i < view->command->count; i++) {
		text = view->command->words[i].text;
		if (strcmp(text, "--") == 0)
			break;
		if (text[0] == '-' && text[1] != '-' && strpbrk(text + 1, letters) != NULL)
			return true;
	}
	return false;
}

bool
command_view_long(const struct command_view *view, const char *name, size_t least)
{
	const char *text;
	size_t i, length;

	for (i = 1; i < view->command->count; i++) {
		text = view->command->words[i].text;
		if (strcmp(text, "--") == 0)
			break;
		length = strcspn(text, "=");
		if (length >= least && strncmp(text, name, length) == 0)
			return true;
	}
	return false;
}

bool
command_view_has(const struct command_view *view, const char *word)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (strcmp(view->command->words[i].text, word) == 0)
			return true;
	return false;
}

const struct shell_word *
command_view_operand(const struct command_view *view, size_t *index)
{
	const struct shell_word *word;
	size_t i;

	while (*index < view->command->count) {
		i = (*index)++;
		word = &view->command->words[i];
		if (i != view->options_end &&
		    (i > view->options_end || word->text[0] != '-' || word->text[1] == '\0'))
			return word;
	}
	return NULL;
}

bool
command_view_action(const struct command_view *view, const char *names)
{
	size_t index = 1;
	const struct shell_word *word = command_view_operand(view, &index);

	return word != NULL && command_view_listed(names, word->text);
}

bool
command_view_unknown_words(const struct command_view *view)
{
	const struct shell_word *word;
	size_t i;

	for (i = 1; i < view->command->count; i++) {
		word = &view->command->words[i];
		if (word->splits && word->text[0] == '$')
			return true;
		if (word->pattern && (word->text[0] == '-' || word->text[0] == '{'))
			return true;
	}
	return false;
}

/* Appends the components of `text`, following "." and "..". */
static void
append_components(struct buffer *path, const char *text)
{
	size_t n;

	for (;; text += n) {
		text += strspn(text, "/");
		n = strcspn(text, "/");
		if (n == 0)
			break;
		if (n == 1 && text[0] == '.')
			continue;
		if (n == 2 && text[0] == '.' && text[1] == '.') {
			while (path->length > 0 && path->data[--path->length] != '/')
				continue;
			continue;
		}
		buffer_append_byte(path, '/');
		buffer_append(path, text, n);
	}
	if (path->data != NULL)
		path->data[path->length] = '\0';
}

/* Takes off a last component that stands for everything in its folder. */
static void
drop_wildcard(char *path)
{
	char *last = strrchr(path, '/');

	if (last == NULL || last[1] == '\0')
		return;
	if (last[1 + strspn(last + 1, "*?.[]!{},")] == '\0' && strchr(last, '*') != NULL)
		*last = '\0';
}

char *
command_view_path(const struct command_view *view, const struct shell_word *word)
{
	struct buffer path = BUFFER_EMPTY;
	const char *text = word->text;

	if (word->dynamic || *text == '\0')
		return NULL;
	if (*text == SHELL_WORDS_HOME) {
		if (view->context->user_home == NULL)
			return NULL;
		append_components(&path, view->context->user_home);
		text++;
	} else if (*text != '/') {
		if (view->moved)
			return NULL;
		append_components(&path, view->cwd);
	}
	append_components(&path, text);
	if (word->pattern && path.data != NULL)
		drop_wildcard(path.data);
	if (path.data == NULL || path.data[0] == '\0') {
		buffer_clear(&path);
		buffer_append_byte(&path, '/');
	}
	return buffer_take(&path);
}

bool
command_view_is_disk(const char *path)
{
	static const char *const disks[] = {"/dev/sd*", "/dev/nvme*", "/dev/hd*",
	    "/dev/mmcblk*", "/dev/vd*", "/dev/xvd*", "/dev/disk*", "/dev/rdisk*"};
	size_t i;

	for (i = 0; i < sizeof disks / sizeof *disks; i++)
		if (fnmatch(disks[i], path, 0) == 0)
			return true;
	return false;
}

bool
command_view_runs(
    const struct command_view *view, const struct shell_word *word, const char *programs)
{
	char program[32];
	size_t i;

	for (i = word->inner; i < word->inner_end && i < view->words->count; i++) {
		shell_words_program(&view->words->commands[i], program, sizeof program);
		if (command_view_listed(programs, program))
			return true;
	}
	return false;
}
