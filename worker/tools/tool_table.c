/*
 * The table of all tools. A new tool is a file of its own and a row here; nothing else must
 * know tools by name.
 */
#include <config.h>

#include "worker/tools/tool_rows.h"

#include <string.h>

static const struct tool *const rows[] = {
    &tool_read_file,
    &tool_write_file,
    &tool_patch,
    &tool_search_files,
    &tool_terminal,
    &tool_todo,
    &tool_memory,
    &tool_session_search,
};

#define ROW_COUNT (sizeof rows / sizeof *rows)

const struct tool *
tool_table(void)
{
	/* A constant in all but name: C cannot initialise an array with objects of other
	 * files, so it is put together on first use and never changed after that. */
	static struct tool table[ROW_COUNT + 1];
	size_t i;

	if (table[0].name == NULL)
		for (i = 0; i < ROW_COUNT; i++)
			table[i] = *rows[i];
	return table;
}

const struct tool *
tool_find(const char *name)
{
	size_t i;

	for (i = 0; name != NULL && i < ROW_COUNT; i++)
		if (strcmp(rows[i]->name, name) == 0)
			return rows[i];
	return NULL;
}

bool
tool_is_offered(const struct tool *tool, const struct tool_context *context)
{
	return tool->offered == NULL || tool->offered(context);
}
