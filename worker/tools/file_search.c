/*
 * The tool "search_files": lines of files, or files by name. It reads only, leaves files of
 * credentials out, and always tells "nothing found" from "could not search".
 */
#include <config.h>

#include "worker/tools/search_program.h"
#include "worker/tools/search_result.h"
#include "worker/tools/tool_rows.h"

#include "common/alloc.h"
#include "worker/tools/glob_match.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/similar_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIMIT_DEFAULT 50
#define LIMIT_MAX 1000
#define OFFSET_MAX 10000
#define PATTERN_MAX 65536 /* bytes; a program's argument may not be longer than 128 KiB */
#define PER_FILE_MIN 1000 /* matches in one file that are counted at least */

struct search_state {
	struct path_target target;
	struct path_places places;
	struct glob *glob;
	struct search_program program;
	struct search_page page;
	char *name_pattern; /* target files: what the glob was made of */
};

struct word {
	const char *name;
	int value;
};

static const struct word targets[] = {
    {"content", 0},
    {"grep", 0},
    {"files", 1},
    {"find", 1},
    {NULL, 0},
};

static const struct word modes[] = {
    {"content", SEARCH_MATCHES},
    {"files_only", SEARCH_FILES},
    {"count", SEARCH_FILE_COUNTS},
    {NULL, 0},
};

/* An optional word out of a list; false when the run was ended because it is none of them. */
static bool
read_word(struct tool_run *run, const char *name, const struct word *words, int *value)
{
	const struct json_object *given = json_member(run->arguments, name);
	/* Another type than a string is none of the words. */
	const char *text = given != NULL && !json_object_is_type(given, json_type_string)
			       ? ""
			       : json_member_text(run->arguments, name, "content");
	struct buffer known = BUFFER_EMPTY;
	const struct word *word;

	for (word = words; word->name != NULL; word++) {
		if (strcmp(word->name, text) == 0) {
			*value = word->value;
			buffer_free(&known);
			return true;
		}
		buffer_printf(&known, "%s%s", known.length > 0 ? ", " : "", word->name);
	}
	tool_finish_error(
	    run, "search_files: \"%s\" must be one of %s.", name, buffer_text(&known));
	buffer_free(&known);
	return false;
}

static bool
read_number(struct tool_run *run, const char *name, int64_t least, int64_t most,
    int64_t otherwise, int64_t *value)
{
	*value = otherwise;
	if (json_has(run->arguments, name) &&
	    !json_member_integer(run->arguments, name, value)) {
		tool_finish_error(run, "search_files: \"%s\" must be an integer.", name);
		return false;
	}
	if (*value < least) {
		tool_finish_error(
		    run, "search_files: \"%s\" must be %" PRId64 " or more.", name, least);
		return false;
	}
	if (*value > most)
		*value = most;
	return true;
}

/* True when the pattern asks for a line end, written as such or as \n. */
static bool
has_newline(const char *pattern)
{
	for (; *pattern != '\0'; pattern++) {
		if (*pattern == '\n')
			return true;
		if (*pattern == '\\' && *++pattern == 'n')
			return true;
		if (*pattern == '\0')
			break;
	}
	return false;
}

/* A text that may be left out; false when the run was ended because it is something else. */
static bool
read_text(struct tool_run *run, const char *name, const char **text)
{
	*text = json_has(run->arguments, name) ? json_member_string(run->arguments, name) : "";
	if (*text == NULL)
		tool_finish_error(run, "search_files: \"%s\" must be a string.", name);
	return *text != NULL;
}

/* Makes the glob; false when the run was ended because it is not one. */
static bool
read_glob(
    struct tool_run *run, struct search_state *state, const char *what, const char *pattern)
{
	struct buffer error = BUFFER_EMPTY;

	state->glob = glob_new(pattern, &error);
	if (state->glob == NULL)
		tool_finish_error(run,
		    "search_files: \"%s\" is not a file name pattern: %s (%s).", what,
		    buffer_text(&error), pattern);
	buffer_free(&error);
	return state->glob != NULL;
}

/* For files by name a plain word stands for names that contain it. */
static bool
read_name_pattern(struct tool_run *run, struct search_state *state, const char *pattern)
{
	if (glob_is_pattern(pattern))
		state->name_pattern = xstrdup(pattern);
	else if (strchr(pattern, '/') != NULL)
		state->name_pattern = xasprintf("**/*%s*", pattern + (*pattern == '/'));
	else
		state->name_pattern = xasprintf("*%s*", pattern);
	return read_glob(run, state, "pattern", state->name_pattern);
}

static bool
read_pattern(struct tool_run *run, struct search_state *state, const char *pattern)
{
	const char *glob;

	if (strlen(pattern) > PATTERN_MAX) {
		tool_finish_error(
		    run, "search_files: \"pattern\" is longer than %d bytes.", PATTERN_MAX);
		return false;
	}
	if (state->program.query.names)
		return read_name_pattern(run, state, pattern);
	if (has_newline(pattern)) {
		tool_finish_error(run, "search_files: \"pattern\" has a newline in it, but "
				       "lines are searched one by "
				       "one. Search for a part that stands on one line.");
		return false;
	}
	if (!read_text(run, "file_glob", &glob))
		return false;
	if (*glob == '\0')
		return true;
	state->program.query.file_glob = glob;
	return read_glob(run, state, "file_glob", glob);
}

static bool
read_numbers(struct tool_run *run, struct search_state *state)
{
	struct search_query *query = &state->program.query;
	struct search_page *page = &state->page;
	int64_t wanted;

	if (!read_number(run, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &page->limit) ||
	    !read_number(run, "offset", 0, INT64_MAX, 0, &page->offset) ||
	    !read_number(run, "context", 0, SEARCH_CONTEXT_MAX, 0, &query->context))
		return false;
	if (page->offset > OFFSET_MAX) {
		tool_finish_error(run,
		    "search_files: \"offset\" may be at most %d. Narrow the search instead.",
		    OFFSET_MAX);
		return false;
	}
	wanted = page->offset + page->limit;
	query->per_file_max = wanted > PER_FILE_MIN ? wanted : PER_FILE_MIN;
	return true;
}

/* Keeps what the search needs beside its query. */
static void
set_up(struct tool_run *run, struct search_state *state)
{
	struct search_program *program = &state->program;
	struct search_collect *collect = &program->collect;
	bool lines = !program->query.names && state->page.answer == SEARCH_MATCHES;

	program->context = run->context;
	program->query.list = !program->query.names && state->page.answer == SEARCH_FILES;
	program->query.count = state->page.answer == SEARCH_FILE_COUNTS;
	path_places_find(run->context, &state->places);
	collect->places = &state->places;
	collect->root = program->query.root = state->target.real;
	collect->glob = state->glob;
	/* A name alone gives no secret away, but what is never read is not shown either. */
	collect->left_out =
	    program->query.names ? PATH_UNREADABLE : PATH_SECRET | PATH_UNREADABLE;
	collect->by_time = program->query.names;
	collect->whole_files = !lines;
	collect->keep = (size_t)(state->page.offset + state->page.limit);
	collect->per_file_max = lines ? program->query.per_file_max : 0;
	collect->context = lines ? program->query.context : 0;
}

static bool
read_arguments(struct tool_run *run, struct search_state *state, const char *pattern)
{
	int names = 0, answer = SEARCH_MATCHES;

	if (!read_word(run, "target", targets, &names) ||
	    !read_word(run, "output_mode", modes, &answer))
		return false;
	state->program.query.names = names != 0;
	state->program.query.pattern = pattern;
	state->page.answer = names != 0 ? SEARCH_FILES : (enum search_answer)answer;
	return read_numbers(run, state) && read_pattern(run, state, pattern);
}

/* What a search would wait in for ever; true when the run has ended. */
static bool
refuse_place(struct tool_run *run, const struct path_target *target)
{
	if (!path_rules_below("/proc", target->real))
		return false;
	tool_finish_error(run,
	    "search_files does not search %s: files of the kernel may never end. Read single "
	    "ones with read_file.",
	    target->shown);
	return true;
}

static void
search_prepare(struct tool_run *run)
{
	const char *pattern = tool_string(run, "pattern", false);
	const char *path;
	struct buffer error = BUFFER_EMPTY;
	struct search_state *state;

	if (pattern == NULL || !read_text(run, "path", &path))
		return;
	run->state = state = xcalloc(1, sizeof *state);
	if (path_rules_resolve(
		run->context, *path != '\0' ? path : ".", &state->target, &error) != 0) {
		tool_finish_error(run, "%s.", buffer_text(&error));
		buffer_free(&error);
		return;
	}
	if (refuse_place(run, &state->target) || !read_arguments(run, state, pattern))
		return;
	set_up(run, state);
	tool_card_title(run,
	    state->program.query.names ? "Find %s in %s" : "Search \"%s\" in %s", pattern,
	    state->target.shown);
	tool_card_location(run, state->target.real, 0);
}

static void
finish_absent(struct tool_run *run, const struct search_state *state)
{
	struct json_object *result = json_object_new_object();
	struct buffer text = BUFFER_EMPTY;

	buffer_printf(&text, "Path not found: %s", state->target.shown);
	json_set(result, "error", json_new_bytes(buffer_text(&text), text.length));
	json_set(result, "similar_files", similar_names_find(run->context, state->target.real));
	tool_contents_text(&run->shown, buffer_text(&text), text.length);
	buffer_free(&text);
	tool_finish(run, result, true);
}

static void
search_done(void *arg)
{
	struct tool_run *run = arg;
	struct search_state *state = run->state;
	struct search_program *program = &state->program;
	struct buffer text = BUFFER_EMPTY;

	if (program->error.length > 0) {
		tool_finish_error(run, "The search failed: %s", buffer_text(&program->error));
		return;
	}
	state->page.limit_reason = program->limit_reason;
	if (program->unread)
		state->page.note = "Some files could not be read.";
	search_result_show(run->context, &program->collect, &state->page, &text);
	tool_contents_text(&run->shown, buffer_text(&text), text.length);
	buffer_free(&text);
	tool_finish(
	    run, search_result_build(run->context, &program->collect, &state->page), false);
}

static void
search_start(struct tool_run *run)
{
	struct search_state *state = run->state;
	struct stat status;

	if (!path_rules_still_real(state->target.real)) {
		tool_finish_error(
		    run, "%s was replaced by a link in the meantime.", state->target.shown);
		return;
	}
	if (lstat(state->target.real, &status) != 0) {
		finish_absent(run, state);
		return;
	}
	if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
		tool_finish_error(
		    run, "%s is neither a folder nor a regular file.", state->target.shown);
		return;
	}
	state->program.is_file = S_ISREG(status.st_mode);
	search_program_start(&state->program, search_done, run);
}

static void
search_cancel(struct tool_run *run)
{
	struct search_state *state = run->state;

	search_program_clear(&state->program);
	tool_finish_error(run, "Cancelled by the user.");
}

static void
search_release(struct tool_run *run)
{
	struct search_state *state = run->state;

	if (state == NULL)
		return;
	search_program_clear(&state->program);
	glob_free(state->glob);
	path_places_clear(&state->places);
	path_target_clear(&state->target);
	free(state->name_pattern);
	free(state);
	run->state = NULL;
}

const struct tool tool_search_files = {
    .name = "search_files",
    .description = "Searches below a folder. target \"content\": lines that match a regular "
		   "expression. target \"files\": files by name pattern (*.c, src/**/*.h), "
		   "newest first; a plain word finds names that contain it. Hidden files and "
		   "files that .gitignore names are left out. Faster and safer than grep or "
		   "find in the terminal.",
    .parameters =
	"{\"type\":\"object\",\"properties\":{"
	"\"pattern\":{\"type\":\"string\",\"description\":\"Regular expression, or file name "
	"pattern with target files\"},"
	"\"target\":{\"type\":\"string\",\"enum\":[\"content\",\"files\"],\"default\":"
	"\"content\"},"
	"\"path\":{\"type\":\"string\",\"description\":\"Folder or file to search (default: "
	"the "
	"session's folder)\",\"default\":\".\"},"
	"\"file_glob\":{\"type\":\"string\",\"description\":\"Search only files with such "
	"names, for example *.py\"},"
	"\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"default\":50},"
	"\"offset\":{\"type\":\"integer\",\"minimum\":0,\"default\":0,\"description\":\"Skip "
	"so "
	"many results\"},"
	"\"output_mode\":{\"type\":\"string\",\"enum\":[\"content\",\"files_only\",\"count\"],"
	"\"default\":\"content\"},"
	"\"context\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":20,\"default\":0,"
	"\"description\":\"Lines to show before and after each match\"}},"
	"\"required\":[\"pattern\"]}",
    .kind = TOOL_KIND_SEARCH,
    .class = TOOL_CLASS_READ,
    .prepare = search_prepare,
    .start = search_start,
    .cancel = search_cancel,
    .release = search_release,
};
