/*
 * The life of one tool call: prepared, perhaps permitted, started, ended. It guarantees that
 * the end is told exactly once, and must never let a run that has ended start.
 */
#include <config.h>

#include "worker/tools/tool.h"

#include "common/alloc.h"
#include "common/utf8.h"
#include "worker/tools/editor.h"
#include "worker/tools/editor_texts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_MAX 200 /* bytes; tool.h promises it */

static const char *const kind_names[] = {
    [TOOL_KIND_READ] = "read",
    [TOOL_KIND_EDIT] = "edit",
    [TOOL_KIND_DELETE] = "delete",
    [TOOL_KIND_MOVE] = "move",
    [TOOL_KIND_SEARCH] = "search",
    [TOOL_KIND_EXECUTE] = "execute",
    [TOOL_KIND_THINK] = "think",
    [TOOL_KIND_FETCH] = "fetch",
    [TOOL_KIND_OTHER] = "other",
};

static const char *const mode_names[] = {
    [SESSION_MODE_DEFAULT] = "default",
    [SESSION_MODE_ACCEPT_EDITS] = "accept_edits",
    [SESSION_MODE_DONT_ASK] = "dont_ask",
    [SESSION_MODE_PLAN] = "plan",
};

const char *
tool_kind_name(enum tool_kind kind)
{
	size_t index = (size_t)kind;

	return index < sizeof kind_names / sizeof *kind_names ? kind_names[index] : "other";
}

const char *
session_mode_name(enum session_mode mode)
{
	size_t index = (size_t)mode;

	return index < sizeof mode_names / sizeof *mode_names ? mode_names[index] : "default";
}

bool
session_mode_parse(const char *name, enum session_mode *mode)
{
	size_t i;

	for (i = 0; name != NULL && i < sizeof mode_names / sizeof *mode_names; i++)
		if (strcmp(name, mode_names[i]) == 0) {
			*mode = (enum session_mode)i;
			return true;
		}
	return false;
}

/* A copy that is valid UTF-8 without NUL. */
static char *
clean_copy(const char *text, size_t length)
{
	char *copy = utf8_clean(text, length, NULL);

	return copy != NULL ? copy : xstrdup("");
}

struct tool_run *
tool_run_new(const struct tool *tool, struct tool_context *context, const char *call_id,
    struct json_object *arguments, tool_finished on_finished, tool_progress on_progress,
    void *arg)
{
	struct tool_run *run = xcalloc(1, sizeof *run);

	run->tool = tool;
	run->context = context;
	run->call_id = xstrdup(call_id != NULL ? call_id : "");
	run->arguments = json_object_get(arguments);
	run->permission.verdict = TOOL_ALLOWED;
	run->on_finished = on_finished;
	run->on_progress = on_progress;
	run->arg = arg;
	tool_card_title(run, "%s", tool->name);
	return run;
}

static void
on_texts(void *arg)
{
	struct tool_run *run = arg;

	if (!run->ended)
		run->on_gathered(run, run->arg);
}

bool
tool_run_gather(struct tool_run *run, void (*gathered)(struct tool_run *run, void *arg))
{
	const struct tool_context *context = run->context;

	if (run->tool->sources == NULL || context->editor == NULL || !context->editor->reads ||
	    context->mode == SESSION_MODE_PLAN)
		return false;
	run->on_gathered = gathered;
	run->texts = editor_texts_new(context, on_texts, run);
	run->tool->sources(run);
	return editor_texts_start(run->texts);
}

void
tool_run_prepare(struct tool_run *run)
{
	if (run->prepared || run->ended)
		return;
	run->prepared = true;
	if (!json_object_is_type(run->arguments, json_type_object)) {
		tool_finish_error(
		    run, "The arguments of %s must be a JSON object.", run->tool->name);
		return;
	}
	run->tool->prepare(run);
}

void
tool_run_start(struct tool_run *run)
{
	if (run->ended || run->started)
		return;
	run->started = true;
	if (!run->prepared)
		tool_finish_error(run, "%s was not prepared.", run->tool->name);
	else if (run->permission.verdict == TOOL_REFUSED)
		tool_finish_error(run, "%s",
		    run->permission.reason != NULL ? run->permission.reason
						   : "This is never allowed.");
	else
		run->tool->start(run);
}

void
tool_run_cancel(struct tool_run *run)
{
	if (run->ended)
		return;
	if (run->texts != NULL)
		editor_texts_stop(run->texts);
	if (!run->started)
		tool_finish_error(run, "Cancelled by the user before it started.");
	else if (run->tool->cancel != NULL)
		run->tool->cancel(run);
}

static void
card_clear(struct tool_card *card)
{
	size_t i;

	for (i = 0; i < card->location_count; i++)
		free(card->locations[i].path);
	free(card->locations);
	free(card->title);
	tool_contents_clear(&card->contents);
	memset(card, 0, sizeof *card);
}

static void
permission_clear(struct tool_permission *permission)
{
	size_t i;

	for (i = 0; i < permission->path_count; i++)
		free(permission->paths[i]);
	free(permission->paths);
	free(permission->reason);
	free(permission->question);
	free(permission->grant);
	free(permission->grant_label);
	memset(permission, 0, sizeof *permission);
}

void
tool_run_free(struct tool_run *run)
{
	if (run == NULL)
		return;
	run->ended = true; /* nothing that release() stops may report any more */
	if (run->tool->release != NULL)
		run->tool->release(run);
	editor_texts_free(run->texts);
	card_clear(&run->card);
	tool_contents_clear(&run->shown);
	permission_clear(&run->permission);
	json_object_put(run->arguments);
	free(run->call_id);
	free(run);
}

void
tool_finish(struct tool_run *run, struct json_object *result, bool failed)
{
	if (run->ended) {
		json_object_put(result);
		return;
	}
	run->ended = true;
	if (run->on_finished != NULL)
		run->on_finished(run, result, failed, run->arg); /* may free the run */
	json_object_put(result);
}

void
tool_finish_error(struct tool_run *run, const char *format, ...)
{
	struct buffer text = BUFFER_EMPTY;
	struct json_object *result;
	va_list arguments;

	if (run->ended)
		return;
	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	result = json_object_new_object();
	json_set(result, "error", json_new_bytes(buffer_text(&text), text.length));
	if (run->shown.count == 0)
		tool_contents_text(&run->shown, buffer_text(&text), text.length);
	buffer_free(&text);
	tool_finish(run, result, true);
}

void
tool_show_progress(struct tool_run *run, const char *text, size_t length)
{
	if (run->ended)
		return;
	tool_contents_clear(&run->shown);
	tool_contents_text(&run->shown, text, length);
	if (run->on_progress != NULL)
		run->on_progress(run, run->arg);
}

/* Makes it one line: runs of white space and control characters become one blank. */
static size_t
fold_line(char *text)
{
	char *in, *out = text;

	for (in = text; *in != '\0'; in++) {
		if ((unsigned char)*in > ' ' && *in != 0x7f)
			*out++ = *in;
		else if (out > text && out[-1] != ' ')
			*out++ = ' ';
	}
	if (out > text && out[-1] == ' ')
		out--;
	*out = '\0';
	return (size_t)(out - text);
}

void
tool_card_title(struct tool_run *run, const char *format, ...)
{
	static const char ellipsis[] = "\xe2\x80\xa6";
	struct buffer text = BUFFER_EMPTY;
	va_list arguments;
	char *title;
	size_t length;

	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	title = clean_copy(buffer_text(&text), text.length);
	buffer_free(&text);
	length = fold_line(title);
	if (length > TITLE_MAX) {
		length = utf8_floor(title, length, TITLE_MAX - (sizeof ellipsis - 1));
		memcpy(title + length, ellipsis, sizeof ellipsis);
	}
	free(run->card.title);
	run->card.title = title;
}

void
tool_card_location(struct tool_run *run, const char *path, long line)
{
	struct tool_card *card = &run->card;

	card->locations =
	    xreallocarray(card->locations, card->location_count + 1, sizeof *card->locations);
	card->locations[card->location_count].path = xstrdup(path);
	card->locations[card->location_count].line = line;
	card->location_count++;
}

static struct tool_content *
contents_add(struct tool_contents *contents)
{
	struct tool_content *item;

	contents->items =
	    xreallocarray(contents->items, contents->count + 1, sizeof *contents->items);
	item = &contents->items[contents->count++];
	memset(item, 0, sizeof *item);
	return item;
}

void
tool_contents_text(struct tool_contents *contents, const char *text, size_t length)
{
	contents_add(contents)->text = clean_copy(text, length);
}

void
tool_contents_diff(struct tool_contents *contents, const char *path, const char *old_text,
    const char *new_text)
{
	struct tool_content *item = contents_add(contents);

	item->is_diff = true;
	item->path = xstrdup(path);
	if (old_text != NULL)
		item->old_text = clean_copy(old_text, strlen(old_text));
	item->new_text = clean_copy(new_text, strlen(new_text));
}

void
tool_contents_clear(struct tool_contents *contents)
{
	size_t i;

	for (i = 0; i < contents->count; i++) {
		free(contents->items[i].text);
		free(contents->items[i].path);
		free(contents->items[i].old_text);
		free(contents->items[i].new_text);
	}
	free(contents->items);
	contents->items = NULL;
	contents->count = 0;
}

void
tool_permission_path(struct tool_permission *permission, const char *path)
{
	permission->paths = xreallocarray(
	    permission->paths, permission->path_count + 1, sizeof *permission->paths);
	permission->paths[permission->path_count++] = xstrdup(path);
}

const char *
tool_string(struct tool_run *run, const char *name, bool may_be_empty)
{
	const char *text = json_member_string(run->arguments, name);
	const char *tool = run->tool->name;

	if (!json_has(run->arguments, name))
		tool_finish_error(run, "%s: the argument \"%s\" is missing.", tool, name);
	else if (!json_object_is_type(json_member(run->arguments, name), json_type_string))
		tool_finish_error(run, "%s: the argument \"%s\" must be a string.", tool, name);
	else if (text == NULL)
		tool_finish_error(
		    run, "%s: the argument \"%s\" has a NUL character in it.", tool, name);
	else if (*text == '\0' && !may_be_empty)
		tool_finish_error(run, "%s: the argument \"%s\" is empty.", tool, name);
	else
		return text;
	return NULL;
}
