/*
 * Names in a folder that look like one that is not there.
 */
#ifndef HERMES_WORKER_TOOLS_SIMILAR_NAMES_H
#define HERMES_WORKER_TOOLS_SIMILAR_NAMES_H

struct json_object;
struct tool_context;

#define SIMILAR_NAMES_MAX 5 /* as in Hermes */

/* Paths (as path_rules_shown() gives them) of up to five entries beside `path` whose names are
 * like its last component, best first. An array, perhaps empty; owned by the caller. */
struct json_object *similar_names_find(const struct tool_context *context, const char *path);

#endif
