/*
 * Which files a search leaves out because of .gitignore, .ignore and .rgignore, for the case
 * that ripgrep, which knows by itself, is not there.
 */
#ifndef HERMES_WORKER_TOOLS_IGNORE_RULES_H
#define HERMES_WORKER_TOOLS_IGNORE_RULES_H

#include <stdbool.h>

struct ignore_rules;

/* `root`: the folder that is searched, absolute, links followed. Never ignored itself. */
struct ignore_rules *ignore_rules_new(const char *root);
void ignore_rules_free(struct ignore_rules *rules);
/* True when the file (absolute, below the root) or a folder on the way to it is ignored. Ask
 * in the order of a walk: folders are read once, while the walk is in them. */
bool ignore_rules_match(struct ignore_rules *rules, const char *path);

#endif
