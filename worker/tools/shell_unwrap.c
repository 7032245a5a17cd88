/*
 * Commands that run other commands: wrappers, shells with a string, eval, find -exec, and a
 * shell that reads what an echo writes. Each inner command joins the list, so that rules see
 * it like any other. Where the inner command is not known, the word that holds it is left
 * dynamic for the rules to see.
 */
#include <config.h>

#include "worker/tools/shell_reader.h"

#include "common/buffer.h"

#include <string.h>

/* A program that runs the command in its arguments. */
struct wrapper {
	const char *name;
	const char *with_value; /* letters of options whose value is the next word */
	unsigned positional;	/* words before the command */
	enum shell_origin origin;
};

static const struct wrapper wrappers[] = {
    {"sudo", "CDghpRrTtUu", 0, SHELL_ORIGIN_WRAPPED},
    {"doas", "Cu", 0, SHELL_ORIGIN_WRAPPED},
    {"pkexec", "u", 0, SHELL_ORIGIN_WRAPPED},
    {"env", "uC", 0, SHELL_ORIGIN_WRAPPED},
    {"command", "", 0, SHELL_ORIGIN_WRAPPED},
    {"builtin", "", 0, SHELL_ORIGIN_WRAPPED},
    {"exec", "a", 0, SHELL_ORIGIN_WRAPPED},
    {"nohup", "", 0, SHELL_ORIGIN_WRAPPED},
    {"setsid", "", 0, SHELL_ORIGIN_WRAPPED},
    {"time", "fo", 0, SHELL_ORIGIN_WRAPPED},
    {"nice", "n", 0, SHELL_ORIGIN_WRAPPED},
    {"ionice", "cnpPu", 0, SHELL_ORIGIN_WRAPPED},
    {"chrt", "TPDp", 1, SHELL_ORIGIN_WRAPPED},
    {"taskset", "", 1, SHELL_ORIGIN_WRAPPED},
    {"timeout", "ks", 1, SHELL_ORIGIN_WRAPPED},
    {"gtimeout", "ks", 1, SHELL_ORIGIN_WRAPPED},
    {"stdbuf", "ioe", 0, SHELL_ORIGIN_WRAPPED},
    {"unbuffer", "", 0, SHELL_ORIGIN_WRAPPED},
    {"busybox", "", 0, SHELL_ORIGIN_WRAPPED},
    {"toybox", "", 0, SHELL_ORIGIN_WRAPPED},
    {"flock", "wE", 1, SHELL_ORIGIN_WRAPPED},
    {"chroot", "", 1, SHELL_ORIGIN_WRAPPED},
    {"strace", "abeEIoOpPsSuUX", 0, SHELL_ORIGIN_WRAPPED},
    {"ltrace", "aAbDeFlnopsuwx", 0, SHELL_ORIGIN_WRAPPED},
    {"unshare", "", 0, SHELL_ORIGIN_WRAPPED},
    {"nsenter", "tSG", 0, SHELL_ORIGIN_WRAPPED},
    {"systemd-run", "pEMHu", 0, SHELL_ORIGIN_WRAPPED},
    {"fakeroot", "lsib", 0, SHELL_ORIGIN_WRAPPED},
    {"caffeinate", "tw", 0, SHELL_ORIGIN_WRAPPED},
    {"firejail", "", 0, SHELL_ORIGIN_WRAPPED},
    {"torsocks", "", 0, SHELL_ORIGIN_WRAPPED},
    {"proxychains", "f", 0, SHELL_ORIGIN_WRAPPED},
    {"proxychains4", "f", 0, SHELL_ORIGIN_WRAPPED},
    {"xvfb-run", "nsefwp", 0, SHELL_ORIGIN_WRAPPED},
    {"dbus-run-session", "", 0, SHELL_ORIGIN_WRAPPED},
    {"xargs", "adEIJLnPRs", 0, SHELL_ORIGIN_XARGS},
    {"parallel", "jPIaSN", 0, SHELL_ORIGIN_XARGS},
};

/* Long options of wrappers whose value is the next word. */
static const char *const long_with_value[] = {"--user", "--group", "--host", "--prompt",
    "--chdir", "--close-from", "--role", "--type", "--other-user", "--chroot",
    "--command-timeout", "--unset", "--adjustment", "--class", "--classdata", "--signal",
    "--kill-after", "--input", "--output", "--error", "--arg-file", "--delimiter",
    "--max-lines", "--max-args", "--max-procs", "--max-chars", "--replace-str", "--jobs",
    "--format"};

static const char *const shells[] = {
    "sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "mksh", "rbash"};

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define PROGRAM_MAX 32

static bool
is_shell(const char *program)
{
	size_t i;

	for (i = 0; i < COUNT(shells); i++)
		if (strcmp(program, shells[i]) == 0)
			return true;
	return false;
}

static const struct wrapper *
find_wrapper(const char *program)
{
	size_t i;

	for (i = 0; i < COUNT(wrappers); i++)
		if (strcmp(program, wrappers[i].name) == 0)
			return &wrappers[i];
	return NULL;
}

/* Adds words[from, to) of the command as a command of its own. */
static void
add_slice(
    struct shell_words *words, size_t index, size_t from, size_t to, enum shell_origin origin)
{
	const struct shell_simple outer = words->commands[index];
	struct shell_simple *inner;
	size_t added;

	if (from >= to)
		return;
	if (outer.level >= SHELL_DEPTH_MAX || words->count >= SHELL_COMMANDS_MAX) {
		words->problem = "too many levels";
		return;
	}
	added = shell_words_add(words); /* may move the list */
	inner = &words->commands[added];
	inner->words = outer.words + from;
	inner->count = to - from;
	inner->redirections = outer.redirections;
	inner->previous = outer.previous;
	inner->origin = origin;
	inner->level = outer.level + 1;
}

/* Adds what a shell would make of `text`. */
static void
add_text(struct shell_words *words, size_t index, const char *text, size_t length)
{
	size_t first = words->count, i;
	unsigned level = words->commands[index].level + 1;

	shell_list_read_text(words, text, length, level);
	for (i = first; i < words->count; i++)
		if (words->commands[i].origin == SHELL_ORIGIN_WRITTEN)
			words->commands[i].origin = SHELL_ORIGIN_STRING;
}

static void
add_joined(struct shell_words *words, size_t index, size_t from)
{
	const struct shell_simple command = words->commands[index];
	struct buffer text = BUFFER_EMPTY;
	size_t i;

	for (i = from; i < command.count && text.length <= words->budget; i++) {
		if (text.length > 0)
			buffer_append_byte(&text, ' ');
		buffer_append_text(&text, command.words[i].text);
	}
	if (text.length > 0)
		add_text(words, index, text.data, text.length);
	buffer_free(&text);
}

static bool
takes_next_word(const struct wrapper *wrapper, const char *option)
{
	size_t i;

	if (option[1] == '-') {
		for (i = 0; i < COUNT(long_with_value); i++)
			if (strcmp(option, long_with_value[i]) == 0)
				return true;
		return false;
	}
	for (i = 1; option[i] != '\0'; i++)
		if (strchr(wrapper->with_value, option[i]) != NULL)
			return option[i + 1] == '\0';
	return false;
}

/* Where the command of a wrapper begins. */
static size_t
find_wrapped(const struct shell_simple *command, const struct wrapper *wrapper)
{
	unsigned positional = wrapper->positional;
	size_t at;

	for (at = 1; at < command->count; at++) {
		const char *text = command->words[at].text;
		const char *equals = strchr(text, '=');

		if (strcmp(text, "--") == 0)
			continue;
		if (text[0] == '-' && text[1] != '\0') {
			if (takes_next_word(wrapper, text))
				at++;
		} else if (equals != NULL && equals != text && wrapper->positional == 0 &&
			   memchr(text, '/', (size_t)(equals - text)) == NULL) {
			continue; /* an assignment */
		} else if (positional-- == 0) {
			return at;
		}
	}
	return command->count;
}

/* A wrapper with a string for a shell as well: env -S string, flock file -c string. */
static void
unwrap_wrapper(struct shell_words *words, size_t index, const struct wrapper *wrapper)
{
	const struct shell_simple command = words->commands[index];
	const char *option = strcmp(wrapper->name, "env") == 0	   ? "-S"
			     : strcmp(wrapper->name, "flock") == 0 ? "-c"
								   : NULL;
	size_t at, i;

	if (strcmp(wrapper->name, "command") == 0 && command.count > 1 &&
	    (strcmp(command.words[1].text, "-v") == 0 ||
		strcmp(command.words[1].text, "-V") == 0))
		return;
	for (i = 1; option != NULL && i + 1 < command.count; i++)
		if (strcmp(command.words[i].text, option) == 0) {
			add_joined(words, index, i + 1);
			break;
		}
	at = find_wrapped(&command, wrapper);
	add_slice(words, index, at, command.count, wrapper->origin);
}

/* The index of the string of "sh -c string", or 0. */
static size_t
find_shell_string(const struct shell_simple *command)
{
	bool wanted = false;
	size_t i;

	for (i = 1; i < command->count; i++) {
		const char *text = command->words[i].text;

		if (text[0] != '-' && text[0] != '+')
			return wanted ? i : 0;
		if (strcmp(text, "--") == 0)
			continue;
		if (strcmp(text, "--command") == 0)
			wanted = true;
		else if (strcmp(text, "--rcfile") == 0 || strcmp(text, "--init-file") == 0 ||
			 strcmp(text, "-o") == 0 || strcmp(text, "-O") == 0 ||
			 strcmp(text, "+O") == 0 || strcmp(text, "+o") == 0)
			i++;
		else if (text[0] == '-' && text[1] != '-' && strchr(text, 'c') != NULL)
			wanted = true;
	}
	return 0;
}

/* Adds the here documents and here strings of a command as shell text. */
static void
add_documents(struct shell_words *words, size_t index)
{
	const struct shell_redirection *at;

	for (at = words->commands[index].redirections; at != NULL; at = at->next)
		if (at->kind == SHELL_REDIRECTION_TEXT)
			add_text(words, index, at->word.text, strlen(at->word.text));
}

/* What "echo …", "printf …" or "cat <<END" writes into a shell. */
static void
add_written(struct shell_words *words, size_t index)
{
	size_t writer = words->commands[index].previous;
	char program[PROGRAM_MAX];

	if (writer == SHELL_NO_COMMAND)
		return;
	shell_words_program(&words->commands[writer], program, sizeof program);
	if (strcmp(program, "echo") == 0 || strcmp(program, "printf") == 0)
		add_joined(words, writer, 1);
	else
		add_documents(words, writer);
}

static void
unwrap_shell(struct shell_words *words, size_t index)
{
	const struct shell_simple command = words->commands[index];
	size_t string = find_shell_string(&command);
	const char *text;

	if (string > 0) {
		text = command.words[string].text;
		add_text(words, index, text, strlen(text));
		return;
	}
	add_documents(words, index);
	add_written(words, index);
}

/* find … -exec command … ; and fd … -x command … */
static void
unwrap_find(struct shell_words *words, size_t index)
{
	static const char *const options[] = {
	    "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"};
	const struct shell_simple command = words->commands[index];
	size_t i, k, end;

	for (i = 1; i < command.count; i++) {
		for (k = 0; k < COUNT(options); k++)
			if (strcmp(command.words[i].text, options[k]) == 0)
				break;
		if (k == COUNT(options))
			continue;
		for (end = i + 1; end < command.count; end++)
			if (strcmp(command.words[end].text, ";") == 0 ||
			    strcmp(command.words[end].text, "+") == 0)
				break;
		add_slice(words, index, i + 1, end, SHELL_ORIGIN_FIND);
		i = end;
	}
}

/* Aliases that git is given on its command line run a shell when they begin with "!". */
static void
unwrap_git(struct shell_words *words, size_t index)
{
	const struct shell_simple command = words->commands[index];
	const char *value;
	size_t i;

	for (i = 1; i + 1 < command.count; i++) {
		if (strcmp(command.words[i].text, "-c") != 0 ||
		    strncmp(command.words[i + 1].text, "alias.", 6) != 0)
			continue;
		value = strstr(command.words[i + 1].text, "=!");
		if (value != NULL)
			add_text(words, index, value + 2, strlen(value + 2));
	}
}

/* su -c string, script -c string, watch words…, ssh host words… */
static void
unwrap_other(struct shell_words *words, size_t index, const char *program)
{
	const struct shell_simple command = words->commands[index];
	size_t i;

	if (strcmp(program, "watch") == 0) {
		for (i = 1; i < command.count && command.words[i].text[0] == '-'; i++)
			if (strcmp(command.words[i].text, "-n") == 0)
				i++;
		add_joined(words, index, i);
		return;
	}
	if (strcmp(program, "ssh") == 0) {
		static const struct wrapper ssh = {
		    "ssh", "BbcDEeFIiJLlmOopQRSWw", 1, SHELL_ORIGIN_STRING};

		add_joined(words, index, find_wrapped(&command, &ssh));
		return;
	}
	for (i = 1; i + 1 < command.count; i++)
		if (strcmp(command.words[i].text, "-c") == 0 ||
		    strcmp(command.words[i].text, "--command") == 0) {
			add_joined(words, index, i + 1);
			return;
		}
}

/* trap [--] string signal … */
static void
unwrap_trap(struct shell_words *words, size_t index)
{
	const struct shell_simple command = words->commands[index];
	size_t at = command.count > 1 && strcmp(command.words[1].text, "--") == 0 ? 2 : 1;

	if (at + 1 < command.count)
		add_text(words, index, command.words[at].text, strlen(command.words[at].text));
}

static void
unwrap(struct shell_words *words, size_t index)
{
	static const char *const others[] = {"su", "runuser", "script", "watch", "ssh"};
	char program[PROGRAM_MAX];
	const struct wrapper *wrapper;
	size_t i;

	shell_words_program(&words->commands[index], program, sizeof program);
	wrapper = find_wrapper(program);
	if (wrapper != NULL)
		unwrap_wrapper(words, index, wrapper);
	else if (is_shell(program))
		unwrap_shell(words, index);
	else if (strcmp(program, "eval") == 0)
		add_joined(words, index, 1);
	else if (strcmp(program, "find") == 0)
		unwrap_find(words, index);
	else if (strcmp(program, "git") == 0)
		unwrap_git(words, index);
	else if (strcmp(program, "fd") == 0 || strcmp(program, "fdfind") == 0)
		unwrap_find(words, index);
	else if (strcmp(program, "trap") == 0)
		unwrap_trap(words, index);
	for (i = 0; i < COUNT(others); i++)
		if (strcmp(program, others[i]) == 0)
			unwrap_other(words, index, program);
}

void
shell_unwrap(struct shell_words *words)
{
	size_t i;

	for (i = 0; i < words->count; i++)
		unwrap(words, i);
}
