/*
 * Rules for code that is fetched, decoded or put together and then run.
 */
#include <config.h>

#include "worker/tools/command_view.h"

#include "worker/tools/tool.h"

#include <stdlib.h>
#include <string.h>

#define SHELLS "sh bash zsh ksh dash ash fish mksh rbash"
#define INTERPRETERS                                                                           \
	"python python2 python3 perl ruby node nodejs deno bun php lua awk gawk mawk "         \
	"osascript"
#define FETCHERS "curl wget fetch http https aria2c lynx w3m"
#define PIPELINE_MAX 32 /* commands of a pipeline that are looked at */

/* Calls in a script on the command line that start programs, delete, or hide what they do. */
static const char *const risky_calls[] = {"system(", "system (", "popen", "subprocess",
    "rmtree", "unlink", "os.remove", "os.rmdir", "removedirs", "shutil.", "exec(", "execv",
    "execl", "execSync", "spawn", "eval(", "child_process", "rmSync", "fs.rm", ".rmdir", "qx{",
    "qx(", "__import__", "importlib", "b64decode", "from_base64", "atob(", "ctypes", "socket",
    "urlopen", "requests.", "do shell script", "FileUtils", "File.delete", "`"};

/* True when a command before this one in its pipeline passes `judge`. */
static bool
reads_from(const struct command_view *view, bool (*judge)(const struct command_view *before))
{
	struct command_view before = *view;
	size_t index = view->command->previous, i;

	for (i = 0; i < PIPELINE_MAX && index != SHELL_NO_COMMAND; i++) {
		command_view_select(&before, &view->words->commands[index]);
		if (judge(&before))
			return true;
		index = before.command->previous;
	}
	return false;
}

/* A shell or interpreter that reads its program from standard input. */
static bool
reads_program(const struct command_view *view)
{
	size_t index = 1;
	const struct shell_word *word = command_view_operand(view, &index);

	if (view->command->previous == SHELL_NO_COMMAND)
		return false;
	if (word == NULL)
		return !command_view_short(view, "ce");
	return strcmp(word->text, "-") == 0 || strcmp(word->text, "/dev/stdin") == 0 ||
	       (command_view_listed(SHELLS, view->program) && command_view_short(view, "s"));
}

static bool
fetches(const struct command_view *view)
{
	return command_view_listed(FETCHERS, view->program);
}

static bool
decodes(const struct command_view *view)
{
	return command_view_listed("base64 base32 base16 basenc uudecode", view->program) &&
	       (command_view_short(view, "dD") || command_view_long(view, "--decode", 3) ||
		   strcmp(view->program, "uudecode") == 0);
}

static bool
decodes_hex(const struct command_view *view)
{
	return strcmp(view->program, "xxd") == 0 && command_view_short(view, "r");
}

static bool
transforms(const struct command_view *view)
{
	return command_view_listed("tr rev", view->program);
}

static bool
decrypts(const struct command_view *view)
{
	return strcmp(view->program, "openssl") == 0;
}

/* What a shell may read without a question: a file, or text that was judged itself. */
static bool
writes_unknown(const struct command_view *view)
{
	size_t i;

	if (strcmp(view->program, "cat") == 0)
		return false;
	if (!command_view_listed("echo printf", view->program))
		return true;
	for (i = 1; i < view->command->count; i++)
		if (strpbrk(view->command->words[i].text, "\\%") != NULL)
			return true;
	return false;
}

static bool
pipes_remote(const struct command_view *view)
{
	return reads_program(view) && reads_from(view, fetches);
}

static bool
pipes_decoded(const struct command_view *view)
{
	return reads_program(view) && reads_from(view, decodes);
}

static bool
pipes_hex(const struct command_view *view)
{
	return reads_program(view) && reads_from(view, decodes_hex);
}

static bool
pipes_transformed(const struct command_view *view)
{
	return reads_program(view) && reads_from(view, transforms);
}

static bool
pipes_decrypted(const struct command_view *view)
{
	return reads_program(view) && reads_from(view, decrypts);
}

static bool
pipes_unknown(const struct command_view *view)
{
	struct command_view before = *view;

	if (!reads_program(view) || pipes_remote(view) || pipes_decoded(view) ||
	    pipes_hex(view) || pipes_transformed(view) || pipes_decrypted(view))
		return false;
	command_view_select(&before, &view->words->commands[view->command->previous]);
	return writes_unknown(&before);
}

static bool
any_word_fetches(const struct command_view *view)
{
	size_t i;

	for (i = 1; i < view->command->count; i++)
		if (command_view_runs(view, &view->command->words[i], FETCHERS))
			return true;
	return false;
}

static bool
runs_fetched_file(const struct command_view *view)
{
	return !command_view_short(view, "c") && any_word_fetches(view);
}

static bool
runs_fetched_text(const struct command_view *view)
{
	return command_view_short(view, "c") && any_word_fetches(view);
}

/* A script that another command writes: bash <(…), source <(…). */
static bool
runs_generated(const struct command_view *view)
{
	size_t index = 1;
	const struct shell_word *word = command_view_operand(view, &index);

	return word != NULL && word->inner_end > 0 && word->text[0] == '$' &&
	       strchr(word->text, '/') == NULL && !any_word_fetches(view);
}

static bool
is_risky(const char *script)
{
	size_t i;

	for (i = 0; i < sizeof risky_calls / sizeof *risky_calls; i++)
		if (strstr(script, risky_calls[i]) != NULL)
			return true;
	return false;
}

static bool
is_script_option(const char *text)
{
	return strcmp(text, "--eval") == 0 || strcmp(text, "--print") == 0 ||
	       (text[0] == '-' && text[1] != '-' && text[1] != '\0' &&
		   strchr("ceEpr", text[strlen(text) - 1]) != NULL);
}

/* A script on the command line that starts programs, deletes, or is not known. */
static bool
runs_risky_script(const struct command_view *view)
{
	bool awk = command_view_listed("awk gawk mawk", view->program);
	size_t i;

	for (i = 1; i < view->command->count; i++) {
		const struct shell_word *word = &view->command->words[i];

		if (!awk && !is_script_option(command_view_word(view, i - 1)))
			continue;
		if (is_risky(word->text) || (!awk && word->dynamic && i > 1))
			return true;
	}
	return false;
}

static bool
runs_risky_document(const struct command_view *view)
{
	const struct shell_redirection *at;

	for (at = view->command->redirections; at != NULL; at = at->next)
		if (at->kind == SHELL_REDIRECTION_TEXT && is_risky(at->word.text))
			return true;
	return false;
}

/* chmod +x FILE, and later FILE. */
static bool
makes_and_runs(const struct command_view *view)
{
	size_t index = 1, i;
	const struct shell_word *mode = command_view_operand(view, &index), *file;
	const char *name, *run;

	if (mode == NULL || strchr(mode->text, '+') == NULL || strchr(mode->text, 'x') == NULL)
		return false;
	while ((file = command_view_operand(view, &index)) != NULL) {
		name = strncmp(file->text, "./", 2) == 0 ? file->text + 2 : file->text;
		for (i = 0; i < view->words->count; i++) {
			run = view->words->commands[i].count == 0
				  ? ""
				  : view->words->commands[i].words[0].text;
			if (strncmp(run, "./", 2) == 0)
				run += 2;
			else if (strchr(run, '/') == NULL)
				continue;
			if (strcmp(run, name) == 0)
				return true;
		}
	}
	return false;
}

static bool
reaches_metadata(const struct command_view *view)
{
	static const char *const hosts[] = {
	    "169.254.169.254", "100.100.100.200", "metadata.google.internal", "fd00:ec2::254"};
	size_t i, k;

	for (i = 1; i < view->command->count; i++)
		for (k = 0; k < sizeof hosts / sizeof *hosts; k++)
			if (strstr(view->command->words[i].text, hosts[k]) != NULL)
				return !command_view_listed(
				    "echo printf grep egrep fgrep rg ag git", view->program);
	return false;
}

/* Options that make a harmless program run another one. */
static bool
names_helper(const struct command_view *view)
{
	static const char *const options[] = {"--pre", "--compress-program", "--pager",
	    "--html", "--hostname-bin", "--use-compress-program", "--to-command",
	    "--checkpoint-action"};
	size_t i;

	for (i = 0; i < sizeof options / sizeof *options; i++)
		if (command_view_long(view, options[i], strlen(options[i])))
			return true;
	return false;
}

/* The program's own name, or what a shell makes of it, is not known. */
static bool
is_unknown(const struct command_view *view)
{
	return view->command->count > 0 &&
	       (view->command->words[0].dynamic || view->command->words[0].pattern) &&
	       strcmp(view->command->words[0].text, "[") != 0 &&
	       strcmp(view->command->words[0].text, "[[") != 0;
}

const struct command_rule command_rules_remote[] = {
    {SHELLS " " INTERPRETERS, pipes_remote, "pipe remote content to shell", false},
    {SHELLS, pipes_decoded, "pipe decoded content to shell (possible command obfuscation)",
	false},
    {SHELLS, pipes_hex, "pipe xxd-decoded content to shell (possible command obfuscation)",
	false},
    {SHELLS, pipes_transformed,
	"pipe tr-transformed output to shell (possible command obfuscation)", false},
    {SHELLS, pipes_decrypted,
	"pipe openssl-decoded content to shell (possible command obfuscation)", false},
    {SHELLS, pipes_unknown, "pipe content to shell", false},
    {SHELLS, runs_fetched_file, "execute remote script via process substitution", false},
    {SHELLS, runs_fetched_text, "execute remote content via command substitution", false},
    {SHELLS " source .", runs_generated, "program only known when it runs", false},
    {"eval source .", any_word_fetches, "execute remote content via command substitution",
	false},
    {INTERPRETERS, runs_risky_script, "script execution via -e/-c flag", false},
    {INTERPRETERS, runs_risky_document, "script execution via heredoc", false},
    {"chmod", makes_and_runs, "chmod +x followed by immediate execution", false},
    {"*", reaches_metadata, "cloud metadata endpoint access (instance credentials)", false},
    {"rg sort man ag tar", names_helper,
	"dynamic shell word may expand to arbitrary program execution flag", false},
    {"*", is_unknown, "program only known when it runs", false},
    {NULL, NULL, NULL, false},
};
