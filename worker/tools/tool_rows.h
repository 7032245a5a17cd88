/*
 * The rows of the tool table: one for each tool, defined by the file of that tool.
 */
#ifndef HERMES_WORKER_TOOLS_TOOL_ROWS_H
#define HERMES_WORKER_TOOLS_TOOL_ROWS_H

#include "worker/tools/tool.h"

extern const struct tool tool_read_file;
extern const struct tool tool_write_file;
extern const struct tool tool_patch;
extern const struct tool tool_search_files;
extern const struct tool tool_terminal;
extern const struct tool tool_todo;
extern const struct tool tool_memory;
extern const struct tool tool_session_search;

#endif
