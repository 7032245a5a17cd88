/*
 * Arguments for ripgrep, find and grep. Whatever the model wrote stands behind "--" or "-e",
 * so that it can never become an option; no shell is involved.
 */
#include <config.h>

#include "worker/tools/search_command.h"

#include "common/alloc.h"
#include "worker/tools/tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usual_path[] = "/usr/local/bin:/usr/bin:/bin";

static const char *
search_path(void)
{
	const char *path = getenv("PATH");

	return path != NULL && *path != '\0' ? path : usual_path;
}

char *
search_command_ripgrep(void)
{
	const char *path = search_path();
	struct stat status;
	size_t length;
	char *program;

	/* Only absolute folders: a program in the session's folder must not be picked up. */
	for (; *path != '\0'; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		if (*path != '/')
			continue;
		program = xasprintf("%.*s/rg", (int)length, path);
		if (access(program, X_OK) == 0 && stat(program, &status) == 0 &&
		    S_ISREG(status.st_mode))
			return program;
		free(program);
	}
	return NULL;
}

static void
take_word(struct search_command *command, char *word)
{
	if (command->count < SEARCH_ARGUMENTS_MAX - 1)
		command->words[command->count++] = word;
	else
		free(word);
}

static void
add_words(struct search_command *command, const char *const *words)
{
	for (; *words != NULL; words++)
		take_word(command, xstrdup(*words));
}

#define ADD(command, ...) add_words(command, (const char *const[]){__VA_ARGS__, NULL})

static void
add_number(struct search_command *command, const char *option, int64_t number)
{
	take_word(command, xasprintf("%s%" PRId64, option, number));
}

/* Which files: by the last component of the glob. What its folders demand is checked when the
 * results come in; ripgrep's own --glob would bring back files that are ignored. */
static void
add_file_type(struct search_command *command, const char *glob)
{
	const char *slash = strrchr(glob, '/'), *name = slash != NULL ? slash + 1 : glob;

	if (*name == '\0' || strcmp(name, "**") == 0 || strcmp(name, "*") == 0)
		return;
	/* A brace that holds a slash is no longer whole. */
	if (slash != NULL && strpbrk(glob, "{}") != NULL)
		return;
	ADD(command, "--type-add");
	take_word(command, xasprintf("hermes:%s", name));
	ADD(command, "--type", "hermes");
}

void
search_command_for_ripgrep(
    struct search_command *command, const char *ripgrep, const struct search_query *query)
{
	memset(command, 0, sizeof *command);
	ADD(command, ripgrep, "--no-config", "--no-messages", "--no-ignore-global", "--null",
	    "--color=never");
	if (query->names) {
		command->form = SEARCH_PATHS;
		ADD(command, "--files", "--", query->root);
		return;
	}
	command->form = query->list    ? SEARCH_PATHS
			: query->count ? SEARCH_COUNTS
				       : SEARCH_LINES;
	if (query->list)
		ADD(command, "--files-with-matches");
	else if (query->count)
		ADD(command, "--count", "--with-filename");
	else
		ADD(command, "--no-heading", "--with-filename", "--line-number", "--column");
	ADD(command, "--crlf");
	if (command->form == SEARCH_LINES)
		add_number(command, "--max-count=", query->per_file_max);
	if (command->form == SEARCH_LINES && query->context > 0) {
		add_number(command, "--context=", query->context);
		ADD(command, "--no-context-separator");
	}
	if (query->file_glob != NULL)
		add_file_type(command, query->file_glob);
	ADD(command, "--", query->pattern, query->root);
}

void
search_command_for_find(struct search_command *command, const char *root)
{
	memset(command, 0, sizeof *command);
	command->form = SEARCH_PATHS;
	/* The names below the root only: the root itself may be hidden. */
	ADD(command, "find", root, "-mindepth", "1", "-name", ".*", "-prune", "-o", "-type",
	    "f", "-print0");
}

/* "$" means the end of the line also where the line ends with CR LF. */
static char *
with_crlf_ends(const char *pattern)
{
	struct buffer out = BUFFER_EMPTY;
	bool in_class = false;
	const char *at;

	for (at = pattern; *at != '\0'; at++) {
		if (*at == '\\' && at[1] != '\0')
			buffer_append_byte(&out, *at++);
		else if (*at == '[' || *at == ']')
			in_class = *at == '[';
		if (*at == '$' && !in_class && (at == pattern || at[-1] != '\\'))
			buffer_append_text(&out, "(?=\\r?$)");
		else
			buffer_append_byte(&out, *at);
	}
	return buffer_take(&out);
}

void
search_command_for_grep(
    struct search_command *command, const struct search_query *query, bool perl)
{
	memset(command, 0, sizeof *command);
	command->form = query->list    ? SEARCH_PATHS
			: query->count ? SEARCH_COUNTS
				       : SEARCH_MARKED;
	ADD(command, "xargs", "-0", "grep", perl ? "-P" : "-E", "-s", "-I", "-H", "-Z");
	if (query->list)
		ADD(command, "-l");
	else if (query->count)
		ADD(command, "-c");
	else
		ADD(command, "-n", "--color=always");
	if (command->form == SEARCH_MARKED)
		add_number(command, "-m", query->per_file_max);
	if (command->form == SEARCH_MARKED && query->context > 0) {
		add_number(command, "-C", query->context);
		ADD(command, "--no-group-separator");
	}
	ADD(command, "-e");
	take_word(command, perl ? with_crlf_ends(query->pattern) : xstrdup(query->pattern));
	ADD(command, "--");
}

void
search_command_clear(struct search_command *command)
{
	while (command->count > 0)
		free(command->words[--command->count]);
	memset(command, 0, sizeof *command);
}

void
search_command_environment(
    struct search_command *environment, const struct tool_context *context)
{
	memset(environment, 0, sizeof *environment);
	take_word(environment, xasprintf("PATH=%s", search_path()));
	take_word(environment,
	    xasprintf("HOME=%s", context->user_home != NULL ? context->user_home : "/"));
	ADD(environment, "LANG=C.UTF-8", SEARCH_GREP_COLORS);
}
