/*
 * The result of a command. A command that failed must never look like one that succeeded.
 */
#include <config.h>

#include "worker/tools/terminal_result.h"

#include "common/buffer.h"
#include "worker/tools/exit_meaning.h"
#include "worker/tools/fenced_text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SHOWN_MAX 7000	   /* characters of output on the card */
#define CODE_TIMED_OUT 124 /* as timeout(1) */
#define CODE_INTERRUPTED 130
#define CODE_SIGNAL 128 /* and the signal's number, as shells do */

/* The status as a shell would report it. */
static int
find_code(const struct terminal_facts *facts)
{
	if (facts->end == TERMINAL_TIMED_OUT)
		return CODE_TIMED_OUT;
	if (facts->end == TERMINAL_CANCELLED)
		return CODE_INTERRUPTED;
	if (WIFSIGNALED(facts->status))
		return CODE_SIGNAL + WTERMSIG(facts->status);
	return WEXITSTATUS(facts->status);
}

/* Appends what the status means; nothing when there is nothing to say. */
static void
append_meaning(
    const struct terminal_facts *facts, int code, bool *normal, struct buffer *meaning)
{
	const char *text;

	*normal = false;
	if (facts->end != TERMINAL_ENDED)
		return;
	if (WIFSIGNALED(facts->status)) {
		buffer_printf(meaning, "ended by signal %d (%s)", WTERMSIG(facts->status),
		    strsignal(WTERMSIG(facts->status)));
		return;
	}
	text = exit_meaning_find(facts->command, code, normal);
	if (text != NULL)
		buffer_append_text(meaning, text);
	else if (code > CODE_SIGNAL && code <= CODE_SIGNAL + SIGSYS)
		buffer_printf(meaning, "probably ended by signal %d (%s)", code - CODE_SIGNAL,
		    strsignal(code - CODE_SIGNAL));
}

static void
append_end(const struct terminal_facts *facts, struct buffer *output)
{
	if (facts->end == TERMINAL_ENDED)
		return;
	if (output->length > 0 && output->data[output->length - 1] != '\n')
		buffer_append_byte(output, '\n');
	if (facts->end == TERMINAL_TIMED_OUT)
		buffer_printf(
		    output, "[Command timed out after %llds]", (long long)facts->timeout);
	else
		buffer_append_text(output, "[Command interrupted]");
}

static void
show(const struct terminal_facts *facts, const struct buffer *output, int code,
    const char *meaning, struct tool_contents *shown)
{
	struct buffer text = BUFFER_EMPTY;

	if (output->length > 0)
		fenced_text_append(&text, "", output->data, output->length, SHOWN_MAX);
	if (code != 0 || *meaning != '\0') {
		if (text.length > 0)
			buffer_append_text(&text, "\n\n");
		buffer_printf(
		    &text, "Exit code %d%s%s", code, *meaning == '\0' ? "" : ": ", meaning);
	}
	if (*facts->notes != '\0')
		buffer_printf(&text, "%s%s", text.length > 0 ? "\n\n" : "", facts->notes);
	if (text.length == 0)
		buffer_append_text(&text, "(no output)");
	tool_contents_text(shown, text.data, text.length);
	buffer_free(&text);
}

struct json_object *
terminal_result_build(
    const struct terminal_facts *facts, struct tool_contents *shown, bool *failed)
{
	struct json_object *result = json_object_new_object();
	struct buffer output = BUFFER_EMPTY, meaning = BUFFER_EMPTY;
	int code = find_code(facts);
	size_t length = 0;
	bool normal;
	char *text = terminal_output_text(facts->output, &length);

	buffer_append(&output, text == NULL ? "" : text, length);
	free(text);
	append_end(facts, &output);
	append_meaning(facts, code, &normal, &meaning);
	json_set(result, "output", json_new_bytes(buffer_text(&output), output.length));
	json_set_integer(result, "exit_code", code);
	json_set(result, "error", NULL);
	if (meaning.length > 0)
		json_set_text(result, "exit_code_meaning", meaning.data);
	if (facts->cwd != NULL)
		json_set(result, "cwd", json_new_bytes(facts->cwd, strlen(facts->cwd)));
	if (*facts->notes != '\0')
		json_set(result, "note", json_new_bytes(facts->notes, strlen(facts->notes)));
	*failed = code != 0 && !normal;
	show(facts, &output, code, buffer_text(&meaning), shown);
	buffer_free(&output);
	buffer_free(&meaning);
	return result;
}
