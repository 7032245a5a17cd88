/*
 * The programs that do the searching and their arguments: ripgrep where it is installed, else
 * find and grep with options that make them answer alike.
 */
#ifndef HERMES_WORKER_TOOLS_SEARCH_COMMAND_H
#define HERMES_WORKER_TOOLS_SEARCH_COMMAND_H

#include "worker/tools/search_output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_context;

#define SEARCH_ARGUMENTS_MAX 48

/* What is searched for; all borrowed. */
struct search_query {
	const char *pattern;
	const char *root;
	const char *file_glob; /* NULL = all files */
	bool names;	       /* files by name: the pattern is not looked at here */
	bool list;	       /* only the names of files with matches */
	bool count;	       /* only numbers of matches */
	int64_t context;
	int64_t per_file_max; /* matches in one file */
};

/* A command that owns its words. */
struct search_command {
	char *words[SEARCH_ARGUMENTS_MAX];
	size_t count;
	enum search_form form; /* of its output */
};

/* The absolute path of ripgrep, NULL when it is not on PATH. The caller frees it. */
char *search_command_ripgrep(void);

void search_command_for_ripgrep(
    struct search_command *command, const char *ripgrep, const struct search_query *query);
/* Lists all files that are not hidden; standard input is not used. */
void search_command_for_find(struct search_command *command, const char *root);
/* Searches the files whose names come NUL-terminated on standard input. `perl`: with Perl's
 * regular expressions, which are nearest to ripgrep's; else extended ones. */
void search_command_for_grep(
    struct search_command *command, const struct search_query *query, bool perl);
void search_command_clear(struct search_command *command);

/* The environment of these programs; ends with NULL. */
void search_command_environment(
    struct search_command *environment, const struct tool_context *context);

#endif
