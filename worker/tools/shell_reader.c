/*
 * What all readers of shell text stand on: the memory of the list of commands, and looking
 * ahead in the text.
 */
#include <config.h>

#include "worker/tools/shell_reader.h"
#include "common/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void *
shell_words_allocate(struct shell_words *words, size_t size)
{
	if (words->block_count == words->block_room) {
		words->block_room = words->block_room == 0 ? 64 : words->block_room * 2;
		words->blocks =
		    xreallocarray(words->blocks, words->block_room, sizeof *words->blocks);
	}
	words->blocks[words->block_count] = xcalloc(1, size);
	return words->blocks[words->block_count++];
}

char *
shell_words_copy(struct shell_words *words, const char *text, size_t length)
{
	char *copy = shell_words_allocate(words, length + 1);

	memcpy(copy, text, length);
	return copy;
}

size_t
shell_words_add(struct shell_words *words)
{
	if (words->count == words->room) {
		words->room = words->room == 0 ? 16 : words->room * 2;
		words->commands =
		    xreallocarray(words->commands, words->room, sizeof *words->commands);
	}
	memset(&words->commands[words->count], 0, sizeof *words->commands);
	words->commands[words->count].previous = SHELL_NO_COMMAND;
	return words->count++;
}

char
shell_reader_peek(const struct shell_reader *reader, size_t ahead)
{
	size_t at = reader->at + ahead;

	return at < reader->length ? reader->text[at] : '\0';
}

void
shell_reader_skip_blanks(struct shell_reader *reader)
{
	char byte;

	while (reader->at < reader->length) {
		byte = shell_reader_peek(reader, 0);
		if (byte == '\\' && shell_reader_peek(reader, 1) == '\n')
			reader->at += 2;
		else if (byte == ' ' || byte == '\t' || byte == '\r')
			reader->at++;
		else
			break;
	}
}

void
shell_words_clear(struct shell_words *words)
{
	size_t i;

	for (i = 0; i < words->block_count; i++)
		free(words->blocks[i]);
	free(words->blocks);
	free(words->commands);
	memset(words, 0, sizeof *words);
}

void
shell_words_program(const struct shell_simple *command, char *name, size_t size)
{
	const char *text, *slash;
	size_t i;

	name[0] = '\0';
	if (command->count == 0 || command->words[0].dynamic)
		return;
	text = command->words[0].text;
	slash = strrchr(text, '/');
	if (slash != NULL)
		text = slash + 1;
	for (i = 0; text[i] != '\0' && i + 1 < size; i++)
		name[i] = (char)tolower((unsigned char)text[i]);
	name[i] = '\0';
}
