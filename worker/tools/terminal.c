/*
 * The terminal tool: one command of the model, run by bash under the guard, in the folder
 * and with the exports that the commands before it left. It must never run a command other
 * than the one that the permission was given for, and never quote it: it travels as an
 * argument or in a file.
 */
#include <config.h>

#include "worker/tools/tool_rows.h"

#include "common/alloc.h"
#include "common/fd.h"
#include "common/monotonic.h"
#include "worker/tools/command_environment.h"
#include "worker/tools/command_rules.h"
#include "worker/tools/fenced_text.h"
#include "worker/tools/shell_state.h"
#include "worker/tools/terminal_output.h"
#include "worker/tools/terminal_result.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIMEOUT_DEFAULT 180 /* seconds (as in Hermes) */
#define TIMEOUT_MAX 600
#define PROGRESS_MS 100	    /* between two updates of the card */
#define PROGRESS_BYTES 8192 /* of output that a running card shows */
#define ARGUMENT_MAX 100000 /* Linux takes 128 KiB in one argument */
#define COMMAND_SHOWN 5000  /* characters of the command on the card */

/* What bash runs: $1 the command, or "" and $2 its file; $3 exports to begin with, $4 where
 * to save them, $5 where to save the folder. The trap also sees an exit in the command. */
static const char wrapper[] =
    "__hermes_command=$1; [ -n \"$2\" ] && __hermes_command=$(<\"$2\")\n"
    "[ -n \"$3\" ] && { builtin source \"$3\"; } 2>/dev/null\n"
    "__hermes_exports=$4; __hermes_cwd=$5\n"
    "__hermes_save() {\n"
    "\tbuiltin set +eux\n"
    "\tbuiltin export -n PWD OLDPWD SHLVL\n"
    "\tbuiltin export -p >|\"$__hermes_exports\" && builtin pwd >|\"$__hermes_cwd\"\n"
    "}\n"
    "builtin trap '{ __hermes_save; } 2>/dev/null' EXIT\n"
    "builtin set --\n"
    "builtin eval \"$__hermes_command\"";

struct terminal {
	const char *command; /* borrowed from the arguments */
	char *cwd;
	char *command_file;
	bool has_workdir;
	int64_t timeout; /* seconds */
	struct buffer notes;
	struct terminal_output *output;
	struct shell_command *running;
	struct event *timer, *progress_timer;
	int64_t shown_at; /* when progress was shown last */
	bool progress_waits, waiting, timed_out;
	int status;
};

static void
note(struct terminal *terminal, const char *text)
{
	if (terminal->notes.length > 0)
		buffer_append_byte(&terminal->notes, ' ');
	buffer_append_text(&terminal->notes, text);
}

/* The time limit, brought into its range; says so when it was not. */
static void
take_timeout(struct tool_run *run, struct terminal *terminal)
{
	struct json_object *config = json_member_object(run->context->config, "terminal");
	int64_t wanted = TIMEOUT_DEFAULT;

	json_member_integer(config, "timeout", &wanted);
	if (wanted < 1 || wanted > TIMEOUT_MAX)
		wanted = TIMEOUT_DEFAULT;
	terminal->timeout = wanted;
	if (!json_has(run->arguments, "timeout"))
		return;
	if (!json_member_integer(run->arguments, "timeout", &wanted)) {
		note(terminal,
		    "The timeout was not a whole number of seconds; the default was used.");
		return;
	}
	terminal->timeout = wanted < 1 ? 1 : wanted > TIMEOUT_MAX ? TIMEOUT_MAX : wanted;
	if (terminal->timeout != wanted)
		buffer_printf(&terminal->notes,
		    "%sThe timeout of %lld s is outside 1 to %d s; %lld s was used.",
		    terminal->notes.length > 0 ? " " : "", (long long)wanted, TIMEOUT_MAX,
		    (long long)terminal->timeout);
}

static bool
is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && access(path, X_OK) == 0;
}

/* The folder that `workdir` names; false after ending the run. */
static bool
take_workdir(struct tool_run *run, struct terminal *terminal)
{
	const char *workdir = tool_string(run, "workdir", false);

	if (workdir == NULL)
		return false;
	terminal->has_workdir = true;
	if (workdir[0] == '/')
		terminal->cwd = xstrdup(workdir);
	else if (workdir[0] == '~' && (workdir[1] == '/' || workdir[1] == '\0'))
		terminal->cwd = xasprintf("%s%s", run->context->user_home, workdir + 1);
	else
		terminal->cwd = xasprintf("%s/%s", run->context->cwd, workdir);
	if (is_folder(terminal->cwd))
		return true;
	tool_finish_error(
	    run, "terminal: the workdir \"%s\" is not a folder that can be entered.", workdir);
	return false;
}

/* The folder that the last command ended in or, when it is gone, the nearest above it. */
static bool
take_carried_folder(struct tool_run *run, struct terminal *terminal)
{
	const char *carried = shell_state_cwd(run->context->shell);
	char *slash;

	if (!is_folder(run->context->cwd)) {
		tool_finish_error(run,
		    "terminal: the session's folder %s does not exist any more or cannot be "
		    "entered.",
		    run->context->cwd);
		return false;
	}
	terminal->cwd = xstrdup(carried == NULL ? run->context->cwd : carried);
	if (is_folder(terminal->cwd))
		return true;
	buffer_printf(&terminal->notes, "%sThe folder %s is gone; ",
	    terminal->notes.length > 0 ? " " : "", terminal->cwd);
	while (!is_folder(terminal->cwd) && (slash = strrchr(terminal->cwd, '/')) != NULL)
		slash[slash == terminal->cwd] = '\0';
	buffer_printf(&terminal->notes, "the command ran in %s.", terminal->cwd);
	return true;
}

static void
show_command(struct tool_run *run, const char *command)
{
	struct buffer text = BUFFER_EMPTY, prompt = BUFFER_EMPTY;
	const char *first = command + strspn(command, " \t\r\n");

	tool_card_title(run, "%.*s", (int)strcspn(first, "\r\n"), first);
	buffer_printf(&prompt, "$ %s", command);
	fenced_text_append(&text, "", prompt.data, prompt.length, COMMAND_SHOWN);
	tool_contents_text(&run->card.contents, buffer_text(&text), text.length);
	buffer_free(&prompt);
	buffer_free(&text);
}

static void
prepare(struct tool_run *run)
{
	const char *command = tool_string(run, "command", false);
	struct terminal *terminal;

	if (command == NULL)
		return;
	if (command[strspn(command, " \t\r\n")] == '\0') {
		tool_finish_error(run, "terminal: the argument \"command\" is empty.");
		return;
	}
	if (json_member_boolean(run->arguments, "background", false)) {
		tool_finish_error(run,
		    "terminal: background=true is not available here. Run the command in the "
		    "foreground, or end it with \" &\" and send its output to a file: it then "
		    "runs "
		    "until the session ends.");
		return;
	}
	terminal = xcalloc(1, sizeof *terminal);
	run->state = terminal;
	terminal->command = command;
	show_command(run, command);
	take_timeout(run, terminal);
	if (json_has(run->arguments, "workdir") ? !take_workdir(run, terminal)
						: !take_carried_folder(run, terminal))
		return;
	command_rules_permit(run->context, terminal->cwd, command, &run->permission);
}

static void
show_progress(struct tool_run *run, struct terminal *terminal)
{
	struct buffer recent = BUFFER_EMPTY, text = BUFFER_EMPTY;

	terminal->progress_waits = false;
	terminal->shown_at = monotonic_ms();
	terminal_output_recent(terminal->output, PROGRESS_BYTES, &recent);
	fenced_text_append(&text, "", buffer_text(&recent), recent.length, PROGRESS_BYTES);
	buffer_free(&recent);
	tool_show_progress(run, buffer_text(&text), text.length);
	buffer_free(&text);
}

static void
on_progress_timer(evutil_socket_t fd, short what, void *arg)
{
	struct tool_run *run = arg;

	(void)fd;
	(void)what;
	show_progress(run, run->state);
}

static void
on_output(const char *bytes, size_t length, void *arg)
{
	struct tool_run *run = arg;
	struct terminal *terminal = run->state;
	int64_t wait;
	struct timeval interval;

	terminal_output_feed(terminal->output, bytes, length);
	if (terminal->progress_waits)
		return;
	wait = terminal->shown_at + PROGRESS_MS - monotonic_ms();
	if (wait <= 0) {
		show_progress(run, terminal);
		return;
	}
	interval = monotonic_interval(wait);
	terminal->progress_waits = true;
	event_add(terminal->progress_timer, &interval);
}

/* Ends the run; the last thing that is done with it. */
static void
finish(struct tool_run *run, enum terminal_end end)
{
	struct terminal *terminal = run->state;
	struct terminal_facts facts = {.end = end, .command = terminal->command};
	struct json_object *result;
	bool failed;

	facts.status = terminal->status;
	facts.timeout = terminal->timeout;
	facts.output = terminal->output;
	facts.notes = buffer_text(&terminal->notes);
	if (end == TERMINAL_ENDED &&
	    shell_state_carry(run->context->shell, terminal->cwd, terminal->has_workdir))
		facts.cwd = shell_state_cwd(run->context->shell);
	tool_contents_clear(&run->shown);
	result = terminal_result_build(&facts, &run->shown, &failed);
	if (terminal->running != NULL)
		shell_command_detach(terminal->running);
	terminal->running = NULL;
	event_del(terminal->timer);
	event_del(terminal->progress_timer);
	tool_finish(run, result, failed);
}

static void
on_exited(int status, bool leftover, void *arg)
{
	struct tool_run *run = arg;
	struct terminal *terminal = run->state;

	terminal->status = status;
	if (terminal->timed_out)
		return; /* on_gone() is next */
	if (leftover)
		note(terminal,
		    "Something that this command started is still running; it ends with the "
		    "session at the latest.");
	finish(run, TERMINAL_ENDED);
}

static void
on_gone(void *arg)
{
	struct tool_run *run = arg;
	struct terminal *terminal = run->state;

	terminal->running = NULL; /* the shell has freed it */
	finish(run, TERMINAL_TIMED_OUT);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct tool_run *run = arg;
	struct terminal *terminal = run->state;

	(void)fd;
	(void)what;
	terminal->timed_out = true;
	shell_command_stop(terminal->running);
}

/* Puts a command that is too long for an argument into a file. */
static int
write_command(struct tool_run *run, struct terminal *terminal)
{
	int fd, result;

	terminal->command_file = xasprintf("%s/command-XXXXXX", run->context->scratch);
	fd = mkostemp(terminal->command_file, O_CLOEXEC);
	if (fd == -1)
		return -1;
	result = fd_write_all(fd, terminal->command, strlen(terminal->command));
	fd_close(&fd);
	return result;
}

static struct shell_command *
run_bash(struct tool_run *run, struct terminal *terminal)
{
	static const struct subprocess_callbacks callbacks = {on_output, on_exited, on_gone};
	char **environment = command_environment_build(run->context, terminal->cwd);
	bool in_file = strlen(terminal->command) > ARGUMENT_MAX;
	struct subprocess_options options = {.guard = run->context->guard};
	struct shell_command *running = NULL;
	struct shell_files files;

	shell_state_files(run->context->shell, run->context->scratch, &files);
	if (!in_file || write_command(run, terminal) == 0) {
		const char *argv[] = {"bash", "--noprofile", "--norc", "-c", wrapper, "bash",
		    in_file ? "" : terminal->command, in_file ? terminal->command_file : "",
		    files.before == NULL ? "" : files.before, files.after, files.cwd, NULL};

		options.argv = argv;
		options.cwd = terminal->cwd;
		options.environment = (const char *const *)environment;
		running = shell_state_run(
		    run->context->shell, run->context->base, &options, &callbacks, run);
	}
	command_environment_free(environment);
	return running;
}

/* Called when no earlier command is still being ended. */
static void
launch(void *arg)
{
	struct tool_run *run = arg;
	struct terminal *terminal = run->state;
	struct timeval limit = monotonic_interval(terminal->timeout * 1000);

	terminal->waiting = false;
	terminal->output = terminal_output_new();
	terminal->timer = event_new(run->context->base, -1, 0, on_timer, run);
	terminal->progress_timer = event_new(run->context->base, -1, 0, on_progress_timer, run);
	terminal->running = run_bash(run, terminal);
	if (terminal->running == NULL) {
		tool_finish_error(run, "terminal: bash could not be started in %s: %s.",
		    terminal->cwd, strerror(errno));
		return;
	}
	event_add(terminal->timer, &limit);
}

static void
start(struct tool_run *run)
{
	struct terminal *terminal = run->state;

	if (run->context->mode == SESSION_MODE_PLAN) {
		tool_finish_error(run, "terminal: the session is in plan mode: nothing is run "
				       "and nothing is changed.");
		return;
	}
	terminal->waiting = true;
	shell_state_when_stopped(run->context->shell, launch, run);
}

static void
cancel(struct tool_run *run)
{
	struct terminal *terminal = run->state;

	if (terminal->waiting)
		shell_state_forget(run->context->shell, run);
	if (terminal->running == NULL) {
		tool_finish_error(run, "Cancelled by the user before it started.");
		return;
	}
	shell_command_stop(terminal->running);
	finish(run, TERMINAL_CANCELLED);
}

static void
release(struct tool_run *run)
{
	struct terminal *terminal = run->state;

	if (terminal == NULL)
		return;
	if (terminal->waiting)
		shell_state_forget(run->context->shell, run);
	if (terminal->running != NULL) {
		shell_command_stop(terminal->running);
		shell_command_detach(terminal->running);
	}
	if (terminal->timer != NULL)
		event_free(terminal->timer);
	if (terminal->progress_timer != NULL)
		event_free(terminal->progress_timer);
	if (terminal->command_file != NULL)
		unlink(terminal->command_file);
	terminal_output_free(terminal->output);
	buffer_free(&terminal->notes);
	free(terminal->command_file);
	free(terminal->cwd);
	free(terminal);
	run->state = NULL;
}

const struct tool tool_terminal = {
    .name = "terminal",
    .description =
	"Run a shell command (bash) in the session's folder and get its output. The working "
	"folder and exported variables carry over from one call to the next. There is no "
	"terminal and no input: programs that ask questions see the end of their input, so use "
	"their non-interactive options. Use read_file, write_file, patch and search_files for "
	"files rather than cat, echo, sed and grep. Output over 50,000 characters loses its "
	"middle.",
    .parameters =
	"{\"type\":\"object\",\"properties\":{"
	"\"command\":{\"type\":\"string\",\"description\":\"The command, as bash reads it. It "
	"may have several lines.\"},"
	"\"timeout\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":600,\"description\":"
	"\"Seconds after which the command and all that it started are ended. Default 180.\"},"
	"\"workdir\":{\"type\":\"string\",\"description\":\"Folder for this call only: "
	"absolute, or relative to the session's folder.\"}},"
	"\"required\":[\"command\"]}",
    .kind = TOOL_KIND_EXECUTE,
    .class = TOOL_CLASS_EXCLUSIVE,
    .prepare = prepare,
    .start = start,
    .cancel = cancel,
    .release = release,
};
