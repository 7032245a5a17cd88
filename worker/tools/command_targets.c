/*
 * Sensitive files that a command changes. A target whose name is not known is judged by what
 * is known of it, and by the sensitive names that the same command keeps in variables.
 */
#include <config.h>

#include "worker/tools/command_targets.h"

#include "common/alloc.h"
#include "common/buffer.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/tool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum means {
	MEANS_REDIRECTION,
	MEANS_TEE,
	MEANS_COPY,
	MEANS_EDIT,
	MEANS_EDIT_LONG,
	MEANS_EDIT_SCRIPT,
	MEANS_DELETE
};

enum sort {
	SORT_NONE,
	SORT_SYSTEM,
	SORT_CREDENTIAL,
	SORT_PROJECT,
	SORT_HERMES,
	SORT_INSTRUCTIONS
};

#define SENSITIVE (PATH_SENSITIVE | PATH_SECRET | PATH_UNWRITABLE | PATH_INSTRUCTIONS)

static const char via_redirection[] = "overwrite system file via redirection";
static const char via_tee[] = "overwrite system file via tee";
static const char onto_credential[] =
    "copy/move file into sensitive credential/SSH/shell-rc path";
static const char delete_sensitive[] = "delete or move away a sensitive file";

/* The labels of Hermes; [means][sort]. */
static const char *const labels[][SORT_INSTRUCTIONS] = {
    [MEANS_REDIRECTION] = {NULL, "overwrite system config", via_redirection,
	"overwrite project env/config via redirection", via_redirection},
    [MEANS_TEE] = {NULL, via_tee, via_tee, "overwrite project env/config via tee", via_tee},
    [MEANS_COPY] = {NULL, "copy/move file into system config path", onto_credential,
	"overwrite project env/config file", onto_credential},
    [MEANS_EDIT] = {NULL, "in-place edit of system config",
	"in-place edit of sensitive credential/SSH/shell-rc path",
	"in-place edit of sensitive credential/SSH/shell-rc path",
	"in-place edit of Hermes config/env"},
    [MEANS_EDIT_LONG] = {NULL, "in-place edit of system config (long flag)",
	"in-place edit of sensitive credential/SSH/shell-rc path (long flag)",
	"in-place edit of sensitive credential/SSH/shell-rc path (long flag)",
	"in-place edit of Hermes config/env (long flag)"},
    [MEANS_EDIT_SCRIPT] = {NULL, "in-place edit of system config",
	"in-place edit of sensitive credential/SSH/shell-rc path (perl/ruby)",
	"in-place edit of sensitive credential/SSH/shell-rc path (perl/ruby)",
	"in-place edit of Hermes config/env (perl/ruby)"},
    [MEANS_DELETE] = {NULL, delete_sensitive, delete_sensitive, delete_sensitive,
	delete_sensitive},
};

/* Devices that hold nothing. */
static const char *const harmless[] = {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty",
    "/dev/zero", "/dev/full", "/dev/fd", "/dev/shm"};

#define RESOLVED_MAX 1000

struct search {
	const struct command_view *view;
	void (*found)(const char *label, void *arg);
	void *arg;
};

static bool
is_below_one(const char *const *folders, size_t count, const char *path)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (path_rules_below(folders[i], path))
			return true;
	return false;
}

static enum sort
sort_path(struct search *search, const char *path, unsigned flags)
{
	static const char *const system[] = {"/etc", "/boot", "/usr", "/lib", "/var", "/proc",
	    "/sys", "/dev", "/private/etc", "/private/var", "/run"};
	const char *name = strrchr(path, '/');

	if ((flags & SENSITIVE) == 0 ||
	    is_below_one(harmless, sizeof harmless / sizeof *harmless, path))
		return SORT_NONE;
	if ((flags & SENSITIVE) == PATH_INSTRUCTIONS)
		return SORT_INSTRUCTIONS;
	if (search->view->context->home != NULL &&
	    path_rules_below(search->view->context->home, path))
		return SORT_HERMES;
	if (is_below_one(system, sizeof system / sizeof *system, path))
		return SORT_SYSTEM;
	if (name != NULL && strncmp(name, "/.env", 5) == 0)
		return SORT_PROJECT;
	return SORT_CREDENTIAL;
}

static void
tell(struct search *search, enum means means, enum sort sort)
{
	if (sort == SORT_INSTRUCTIONS)
		search->found("change of a file of instructions for agents", search->arg);
	else if (sort != SORT_NONE)
		search->found(labels[means][sort], search->arg);
}

static enum sort
sort_name(struct search *search, const char *path)
{
	return sort_path(search, path, path_rules_flags(search->view->places, path, NULL));
}

/* What follows the last expansion of a word that is not known: "$dir/.ssh/config". */
static enum sort
sort_unknown(struct search *search, const struct shell_word *word)
{
	const char *dollar = strrchr(word->text, '$');
	const char *rest = strchr(dollar == NULL ? word->text : dollar, '/');

	return rest == NULL ? SORT_NONE : sort_name(search, rest);
}

/* What a path is. Links of more than so many files are not followed: that takes too long. */
static enum sort
sort_text(struct search *search, const char *text)
{
	struct path_target target;
	struct buffer error = BUFFER_EMPTY;
	enum sort sort = SORT_NONE;
	char *full = NULL;
	const char *path;

	if (*text == SHELL_WORDS_HOME || (text[0] == '~' && text[1] == '/'))
		full = xasprintf("%s%s", search->view->context->user_home, text + 1);
	else if (*text != '/')
		full = xasprintf("%s/%s", search->view->cwd, text);
	path = full == NULL ? text : full;
	if (++*search->view->lookups > RESOLVED_MAX) {
		sort = sort_name(search, path);
	} else if (path_rules_resolve(search->view->context, path, &target, &error) == 0) {
		sort = sort_path(search, target.real, target.flags);
		if (sort == SORT_NONE)
			sort = sort_path(search, target.given, target.flags);
		path_target_clear(&target);
	}
	buffer_free(&error);
	free(full);
	return sort;
}

/* A sensitive name that an assignment anywhere in the command holds. */
static enum sort
sort_assigned(struct search *search)
{
	const struct shell_words *words = search->view->words;
	enum sort sort = SORT_NONE;
	const char *value;
	size_t i, k;

	for (i = 0; i < words->count && sort == SORT_NONE; i++)
		for (k = 0; k < words->commands[i].assignment_count; k++) {
			value = strchr(words->commands[i].assignments[k].text, '=');
			if (value != NULL && value[1] != '\0' && sort == SORT_NONE &&
			    strpbrk(value, "/.~\001") != NULL)
				sort = sort_text(search, value + 1);
		}
	return sort;
}

static void
check(struct search *search, enum means means, const struct shell_word *word)
{
	const char *name = strrchr(word->text, '/');
	enum sort sort;

	name = name == NULL ? word->text : name + 1;
	if (*word->text == '\0')
		return;
	if (word->dynamic) {
		sort = sort_unknown(search, word);
		tell(search, means, sort != SORT_NONE ? sort : sort_assigned(search));
		return;
	}
	sort = sort_text(search, word->text);
	if (sort == SORT_NONE && word->pattern && name[0] == '.')
		sort = SORT_CREDENTIAL; /* a wildcard for hidden files */
	tell(search, means, sort);
}

static void
check_operands(struct search *search, enum means means)
{
	const struct shell_word *word;
	size_t index = 1;

	while ((word = command_view_operand(search->view, &index)) != NULL)
		check(search, means, word);
}

static void
check_redirections(struct search *search)
{
	const struct shell_redirection *at;

	for (at = search->view->command->redirections; at != NULL; at = at->next)
		if (at->kind == SHELL_REDIRECTION_WRITE)
			check(search, MEANS_REDIRECTION, &at->word);
}

/* The file that `source` becomes in the folder `target`. */
static void
check_within(
    struct search *search, const struct shell_word *target, const struct shell_word *source)
{
	const char *name = strrchr(source->text, '/');
	struct shell_word joined = *target;
	char *text;

	if (target->dynamic || source->dynamic)
		return;
	text = xasprintf("%s/%s", target->text, name == NULL ? source->text : name + 1);
	joined.text = text;
	joined.pattern = source->pattern;
	check(search, MEANS_COPY, &joined);
	free(text);
}

/* cp, mv, install, ln: the last operand, or the one of -t. */
static void
check_copy(struct search *search)
{
	const struct command_view *view = search->view;
	const struct shell_word *word, *target = NULL;
	bool moves = strcmp(view->program, "mv") == 0;
	size_t index, i;

	for (i = 1; i + 1 < view->command->count; i++)
		if (strcmp(view->command->words[i].text, "-t") == 0 ||
		    strcmp(view->command->words[i].text, "--target-directory") == 0)
			target = &view->command->words[i + 1];
	for (index = 1; target == NULL && (word = command_view_operand(view, &index)) != NULL;)
		if (index >= view->command->count)
			target = word;
	if (target == NULL)
		return;
	check(search, MEANS_COPY, target);
	for (index = 1; (word = command_view_operand(view, &index)) != NULL;) {
		if (word == target)
			continue;
		check_within(search, target, word);
		if (moves)
			check(search, MEANS_DELETE, word);
	}
}

static void
check_edit(struct search *search)
{
	const struct command_view *view = search->view;

	if (command_view_long(view, "--in-place", 4))
		check_operands(search, MEANS_EDIT_LONG);
	else if (command_view_short(view, "i"))
		check_operands(
		    search, strcmp(view->program, "sed") == 0 ? MEANS_EDIT : MEANS_EDIT_SCRIPT);
}

/* The words behind these options are files that are written. */
static void
check_option(struct search *search, const char *options)
{
	const struct shell_simple *command = search->view->command;
	size_t i;

	for (i = 1; i + 1 < command->count; i++)
		if (command_view_listed(options, command->words[i].text))
			check(search, MEANS_REDIRECTION, &command->words[i + 1]);
}

static void
check_dd(struct search *search)
{
	const struct shell_simple *command = search->view->command;
	struct shell_word target;
	size_t i;

	for (i = 1; i < command->count; i++) {
		if (strncmp(command->words[i].text, "of=", 3) != 0)
			continue;
		target = command->words[i];
		target.text += 3;
		check(search, MEANS_REDIRECTION, &target);
	}
}

void
command_targets_find(
    const struct command_view *view, void (*found)(const char *label, void *arg), void *arg)
{
	struct search search = {.view = view, .found = found, .arg = arg};
	const char *program = view->program;

	check_redirections(&search);
	if (command_view_listed("tee sponge", program))
		check_operands(&search, MEANS_TEE);
	else if (command_view_listed("cp mv install ln rsync scp", program))
		check_copy(&search);
	else if (command_view_listed("sed gsed perl ruby", program))
		check_edit(&search);
	else if (command_view_listed("rm unlink shred truncate", program))
		check_operands(&search, MEANS_DELETE);
	else if (strcmp(program, "dd") == 0)
		check_dd(&search);
	else if (command_view_listed("curl wget", program))
		check_option(&search, "-o -O --output --output-document");
}
