/*
 * A command as the list of simple commands that it runs.
 */
#include <config.h>

#include "worker/tools/shell_words.h"
#include "worker/tools/shell_reader.h"

#include <string.h>

void
shell_words_read(struct shell_words *words, const char *command)
{
	static const struct shell_upward upward = {
	    .read_list = shell_list_read, .read_text = shell_list_read_text};
	size_t length = strlen(command);

	memset(words, 0, sizeof *words);
	words->up = &upward;
	words->budget = length + length * SHELL_AGAIN_TIMES + SHELL_AGAIN_MORE;
	shell_list_read_text(words, command, length, 0);
	shell_unwrap(words);
}
