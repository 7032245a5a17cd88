/*
 * File name patterns: ? * ** [a-z] [!a-z] {a,b} and backslash. They mean the same whichever
 * program does the searching. Matching takes polynomial time whatever the pattern is.
 */
#ifndef HERMES_WORKER_TOOLS_GLOB_MATCH_H
#define HERMES_WORKER_TOOLS_GLOB_MATCH_H

#include "common/buffer.h"

#include <stdbool.h>

struct glob;

/* A pattern ready for use; NULL with a sentence in `error` when it is not one. */
struct glob *glob_new(const char *pattern, struct buffer *error);
void glob_free(struct glob *glob);
/* `path` is relative, without a leading "/". A pattern without "/" is compared with the last
 * component, one with "/" with the whole path. */
bool glob_matches(const struct glob *glob, const char *path);

/* One pattern without braces against a whole relative path: "*" stays within a component,
 * "**" as a component stands for any number of them (at the end for one or more). */
bool glob_match_path(const char *pattern, const char *path);
/* True when `text` has a character that makes it a pattern. */
bool glob_is_pattern(const char *text);

#endif
