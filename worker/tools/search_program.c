/*
 * One search as one or two child processes: ripgrep, or find and then grep over the files
 * that the ignore files leave. It must always end: after its time with what there is.
 */
#include <config.h>

#include "worker/tools/search_program.h"

#include "common/monotonic.h"
#include "worker/tools/ignore_rules.h"
#include "worker/tools/subprocess.h"
#include "worker/tools/tool.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define FILES_MAX 200000 /* that grep is given; a list of them takes some 20 MB */

static void start_stage(struct search_program *program);

static void
finish(struct search_program *program)
{
	if (program->timer != NULL)
		evtimer_del(program->timer);
	subprocess_free(program->process);
	program->process = NULL;
	search_collect_end(&program->collect);
	program->done(program->arg);
}

/* A file that find has named. */
static void
take_listed(struct search_program *program, const struct search_record *record)
{
	if (program->ignore != NULL && ignore_rules_match(program->ignore, record->path))
		return;
	if (program->query.names) {
		search_collect_record(record, &program->collect);
		return;
	}
	if (!search_collect_accepts(&program->collect, record->path))
		return;
	if (program->file_count == FILES_MAX) {
		program->limit_reason = "too many files";
		return;
	}
	program->file_count++;
	buffer_append(&program->files, record->path, strlen(record->path) + 1);
}

/* A name below the root begins with a dot. */
static bool
hidden(const struct search_program *program, const char *path)
{
	const char *root = program->query.root;
	size_t length = strlen(root);

	return strncmp(path, root, length) == 0 && strstr(path + length, "/.") != NULL;
}

static void
take_record(const struct search_record *record, void *arg)
{
	struct search_program *program = arg;

	if (program->listing)
		take_listed(program, record);
	else if (program->ripgrep != NULL && program->query.file_glob != NULL &&
		 hidden(program, record->path))
		return; /* ripgrep takes hidden files in when a type names them */
	else if (program->output.form != SEARCH_COUNTS || record->number > 0)
		search_collect_record(record, &program->collect); /* grep counts 0 as well */
}

static bool
wants_text(const char *path, void *arg)
{
	struct search_program *program = arg;

	return search_collect_wants(&program->collect, path);
}

static void
on_output(const char *bytes, size_t length, void *arg)
{
	struct search_program *program = arg;

	search_output_feed(&program->output, bytes, length);
}

/* True when the program itself failed, not the search; says so. */
static bool
has_crashed(struct search_program *program)
{
	if (WIFSIGNALED(program->status))
		buffer_printf(&program->error, "the search program was ended by signal %d",
		    WTERMSIG(program->status));
	else if (WEXITSTATUS(program->status) == 126 || WEXITSTATUS(program->status) == 127)
		buffer_append_text(&program->error, "the search program could not be started");
	else
		return false;
	return true;
}

/* Goes on from the loop: a process is never freed from within its own callback. */
static void
on_exited(int status, bool leftover, void *arg)
{
	const struct timeval at_once = {0, 0};
	struct search_program *program = arg;

	(void)leftover;
	program->status = status;
	event_add(program->next, &at_once);
}

/* True when this grep was built without Perl's expressions. */
static bool
lacks_perl(const struct search_program *program)
{
	const char *text = buffer_text(&program->output.messages);

	return strstr(text, "perl-regexp") != NULL || strstr(text, "invalid option") != NULL ||
	       strstr(text, "unrecognized option") != NULL ||
	       strstr(text, "illegal option") != NULL;
}

/* What the program said, as one reason. */
static void
judge_failure(struct search_program *program)
{
	struct buffer *said = &program->output.messages;

	while (said->length > 0 &&
	       (said->data[said->length - 1] == '\n' || said->data[said->length - 1] == ' '))
		said->data[--said->length] = '\0';
	if (said->length > 0 && program->collect.total == 0)
		buffer_append(&program->error, said->data, said->length);
	else if (!has_crashed(program) && program->ripgrep != NULL &&
		 WEXITSTATUS(program->status) == 2)
		program->unread = true;
}

static void
on_next(evutil_socket_t fd, short what, void *arg)
{
	struct search_program *program = arg;

	(void)fd;
	(void)what;
	subprocess_free(program->process);
	program->process = NULL;
	if (program->error.length > 0) {
		finish(program);
		return;
	}
	if (program->listing && !has_crashed(program)) {
		program->unread = WEXITSTATUS(program->status) != 0;
		if (!program->query.names && program->file_count > 0) {
			program->listing = false;
			start_stage(program);
			return;
		}
	} else if (!program->listing && program->ripgrep == NULL && !program->extended &&
		   lacks_perl(program)) {
		program->extended = true;
		start_stage(program);
		return;
	} else if (!program->listing) {
		judge_failure(program);
	}
	finish(program);
}

static void
on_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct search_program *program = arg;

	(void)fd;
	(void)what;
	program->limit_reason = "time limit";
	evtimer_del(program->next);
	finish(program);
}

static void
choose_command(struct search_program *program, struct search_command *command)
{
	if (program->ripgrep != NULL)
		search_command_for_ripgrep(command, program->ripgrep, &program->query);
	else if (program->listing)
		search_command_for_find(command, program->query.root);
	else
		search_command_for_grep(command, &program->query, !program->extended);
}

static void
start_stage(struct search_program *program)
{
	static const struct subprocess_callbacks callbacks = {
	    .output = on_output, .exited = on_exited};
	const struct timeval at_once = {0, 0};
	struct search_command command, environment;
	struct subprocess_options options = {0};

	choose_command(program, &command);
	search_command_environment(&environment, program->context);
	search_output_clear(&program->output);
	memset(&program->output, 0, sizeof program->output);
	program->output.form = command.form;
	program->output.record = take_record;
	if (command.form == SEARCH_LINES || command.form == SEARCH_MARKED)
		program->output.wants = wants_text;
	program->output.arg = program;
	options.guard = program->context->guard;
	options.argv = (const char *const *)command.words;
	options.cwd = program->context->cwd;
	options.environment = (const char *const *)environment.words;
	if (program->ripgrep == NULL && !program->listing) {
		options.input = program->files.data;
		options.input_length = program->files.length;
	}
	options.separate_error = program->listing;
	program->process =
	    subprocess_start(program->context->base, &options, &callbacks, program);
	if (program->process == NULL) {
		buffer_printf(
		    &program->error, "cannot start %s: %s", command.words[0], strerror(errno));
		event_add(program->next, &at_once);
	}
	search_command_clear(&command);
	search_command_clear(&environment);
}

/* Without ripgrep: a file needs no list. */
static void
plan_fallback(struct search_program *program)
{
	const struct search_record only = {program->query.root, 0, false, ""};

	program->listing = true;
	if (!program->is_file) {
		program->ignore = ignore_rules_new(program->query.root);
		return;
	}
	take_listed(program, &only);
	program->listing = program->query.names;
}

void
search_program_start(struct search_program *program, void (*done)(void *arg), void *arg)
{
	struct timeval limit =
	    monotonic_interval(program->time_ms > 0 ? program->time_ms : SEARCH_TIME_MS);
	const struct timeval at_once = {0, 0};

	program->done = done;
	program->arg = arg;
	program->timer = evtimer_new(program->context->base, on_timeout, program);
	program->next = evtimer_new(program->context->base, on_next, program);
	program->ripgrep = search_command_ripgrep();
	event_add(program->timer, &limit);
	if (program->ripgrep == NULL)
		plan_fallback(program);
	if (program->ripgrep == NULL && program->is_file &&
	    (program->query.names || program->file_count == 0)) {
		program->listing = true;
		program->file_count = 0;
		event_add(program->next, &at_once);
		return;
	}
	start_stage(program);
}

void
search_program_clear(struct search_program *program)
{
	subprocess_free(program->process);
	if (program->timer != NULL)
		event_free(program->timer);
	if (program->next != NULL)
		event_free(program->next);
	search_output_clear(&program->output);
	search_collect_clear(&program->collect);
	ignore_rules_free(program->ignore);
	buffer_free(&program->files);
	buffer_free(&program->error);
	free(program->ripgrep);
	memset(program, 0, sizeof *program);
}
