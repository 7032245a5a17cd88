/*
 * The tool "read_file": numbered lines of a text file. It changes nothing, never waits for
 * anything but a disk, and never shows a file of credentials.
 */
#include <config.h>

#include "worker/tools/file_stream.h"
#include "worker/tools/tool_rows.h"

#include "common/alloc.h"
#include "worker/tools/editor_page.h"
#include "worker/tools/fenced_text.h"
#include "worker/tools/file_stamps.h"
#include "worker/tools/grants.h"
#include "worker/tools/path_rules.h"
#include "worker/tools/similar_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MAX 2000 /* lines of one call (as in Hermes) */

struct read_state {
	struct path_target target;
	struct file_stream stream;
	struct editor_page page;
	enum text_failure failure; /* why the disk has no text, with a sentence */
	struct buffer error;
	int64_t offset, limit; /* as asked for */
	bool from_end; /* a negative offset: only the lines are counted, for the error */
};

/* An optional integer; false when the run was ended because it is something else. */
static bool
read_integer(struct tool_run *run, const char *name, int64_t otherwise, int64_t *value)
{
	*value = otherwise;
	if (!json_has(run->arguments, name) || json_member_integer(run->arguments, name, value))
		return true;
	tool_finish_error(run, "read_file: the argument \"%s\" must be an integer.", name);
	return false;
}

/* Reading a key asks once per file and session. */
static void
ask_for_secret(struct tool_run *run, const struct path_target *target)
{
	struct tool_permission *permission = &run->permission;
	char *grant = xasprintf("read:%s", target->real);

	if (run->context->grants != NULL && grants_has(run->context->grants, grant)) {
		free(grant);
		return;
	}
	permission->verdict = TOOL_ASK;
	permission->reason = xasprintf("%s is %s.", target->shown, target->label);
	permission->question = xstrdup(grant);
	permission->grant = grant;
	permission->grant_label =
	    xasprintf("Always allow reading %s in this session", target->shown);
}

static void
read_prepare(struct tool_run *run)
{
	const char *path = tool_string(run, "path", false);
	struct buffer error = BUFFER_EMPTY;
	struct read_state *state;

	if (path == NULL)
		return;
	run->state = state = xcalloc(1, sizeof *state);
	state->stream.fd = -1;
	if (path_rules_resolve(run->context, path, &state->target, &error) != 0) {
		tool_finish_error(run, "%s.", buffer_text(&error));
		buffer_free(&error);
		return;
	}
	tool_card_title(run, "Read %s", state->target.shown);
	if (!read_integer(run, "offset", 1, &state->offset) ||
	    !read_integer(run, "limit", LIMIT_MAX, &state->limit))
		return;
	tool_card_location(
	    run, state->target.real, state->offset > 1 ? (long)state->offset : 1);
	if (state->limit < 1)
		tool_finish_error(run, "read_file: \"limit\" must be 1 or more.");
	else if ((state->target.flags & PATH_UNREADABLE) != 0)
		tool_finish_error(run, "%s is %s and is never read.", state->target.shown,
		    state->target.label);
	else if ((state->target.flags & PATH_SECRET) != 0)
		ask_for_secret(run, &state->target);
}

static void
finish_absent(struct tool_run *run, const struct read_state *state)
{
	struct json_object *result = json_object_new_object();
	struct buffer text = BUFFER_EMPTY;

	buffer_printf(&text, "File not found: %s", state->target.shown);
	json_set(result, "error", json_new_bytes(buffer_text(&text), text.length));
	json_set(result, "similar_files", similar_names_find(run->context, state->target.real));
	tool_contents_text(&run->shown, buffer_text(&text), text.length);
	buffer_free(&text);
	tool_finish(run, result, true);
}

static void
finish_failure(struct tool_run *run, const struct read_state *state, enum text_failure failure,
    const char *error)
{
	struct stat status;

	if (failure == TEXT_ABSENT)
		finish_absent(run, state);
	else if (failure == TEXT_NOT_REGULAR && stat(state->target.real, &status) == 0 &&
		 S_ISDIR(status.st_mode))
		tool_finish_error(run,
		    "%s is a folder. List it with search_files (target \"files\") or ls.",
		    state->target.shown);
	else
		tool_finish_error(run, "%s.", error);
}

static void
add_hint(struct buffer *hint, const char *text)
{
	if (hint->length > 0)
		buffer_append_byte(hint, ' ');
	buffer_append_text(hint, text);
}

static void
hint_position(const struct read_state *state, struct buffer *hint, bool truncated)
{
	const struct line_window *window = &state->stream.window;

	if (window->shown == 0 && window->first > 1 && state->stream.reached_end)
		buffer_printf(hint,
		    "offset %" PRId64 " is past the end: the file has %" PRId64 " line%s.",
		    window->first, window->lines, window->lines == 1 ? "" : "s");
	else if (truncated)
		buffer_printf(
		    hint, "Use offset=%" PRId64 " to read on.", window->first + window->shown);
	if (window->cut_size)
		add_hint(hint, "The limit of 100,000 characters for one call was reached.");
	if (state->limit > LIMIT_MAX && truncated)
		add_hint(hint, "At most 2000 lines are given in one call.");
}

/* What the model should know beside the lines. */
static void
hint_encoding(const struct text_sample *sample, struct buffer *hint)
{
	if (sample->encoding != TEXT_UTF8)
		add_hint(hint, sample->encoding == TEXT_UTF16_LE ? "Decoded from UTF-16 LE."
								 : "Decoded from UTF-16 BE.");
	if (sample->foreign)
		add_hint(hint,
		    "The file is not UTF-8: bytes that cannot be decoded are shown as U+FFFD.");
}

static struct json_object *
build_result(const struct read_state *state)
{
	const struct file_stream *stream = &state->stream;
	const struct line_window *window = &stream->window;
	bool truncated = !stream->reached_end || window->first + window->shown <= window->lines;
	struct json_object *result = json_object_new_object();
	struct buffer hint = BUFFER_EMPTY;

	hint_position(state, &hint, truncated);
	if (window->cut_line)
		add_hint(&hint, "Lines longer than 2000 characters were cut.");
	if (!stream->reached_end)
		add_hint(&hint, "The file is so long that its lines were not all counted.");
	hint_encoding(&stream->sample, &hint);
	if (state->page.note != NULL)
		add_hint(&hint, state->page.note);
	json_set(result, "content",
	    json_new_bytes(buffer_text(&window->content), window->content.length));
	json_set_integer(result, stream->reached_end ? "total_lines" : "total_lines_at_least",
	    window->lines);
	json_set_integer(result, "file_size", stream->size);
	json_set_boolean(result, "truncated", truncated);
	if (hint.length > 0)
		json_set_text(result, "hint", buffer_text(&hint));
	buffer_free(&hint);
	return result;
}

static void
show_lines(struct tool_run *run, const struct read_state *state)
{
	const struct line_window *window = &state->stream.window;
	struct buffer text = BUFFER_EMPTY;

	if (window->shown == 0) {
		buffer_printf(&text, "%s: no lines", state->target.shown);
	} else {
		buffer_printf(&text,
		    "%s, lines %" PRId64 " to %" PRId64 " of %s%" PRId64 "\n\n",
		    state->target.shown, window->first, window->first + window->shown - 1,
		    state->stream.reached_end ? "" : "more than ", window->lines);
		fenced_text_append(&text, "", buffer_text(&window->plain), window->plain.length,
		    FENCED_TEXT_MAX);
	}
	tool_contents_text(&run->shown, buffer_text(&text), text.length);
	buffer_free(&text);
}

static void
remember(struct tool_run *run, const struct read_state *state)
{
	const struct file_stream *stream = &state->stream;
	const struct line_window *window = &stream->window;
	bool whole = window->first == 1 && stream->reached_end && !window->cut_line &&
		     window->shown == window->lines;

	if (run->context->stamps == NULL)
		return;
	if (state->page.text.hash != 0)
		file_stamps_record_text(run->context->stamps, state->target.real,
		    &stream->status, whole, &state->page.text);
	else
		file_stamps_record(
		    run->context->stamps, state->target.real, &stream->status, whole);
}

static void
read_done(void *arg)
{
	struct tool_run *run = arg;
	struct read_state *state = run->state;
	const struct file_stream *stream = &state->stream;

	if (stream->error != 0) {
		tool_finish_error(
		    run, "Cannot read %s: %s.", state->target.shown, strerror(stream->error));
	} else if (stream->sample.binary) {
		tool_finish_error(run, "%s is a binary file (%s, %" PRId64 " bytes), not text.",
		    state->target.shown,
		    stream->sample.type != NULL ? stream->sample.type : "unknown type",
		    stream->size);
	} else if (state->from_end) {
		tool_finish_error(run,
		    "read_file: \"offset\" must be 1 or more; the file has %s%" PRId64
		    " lines.",
		    stream->reached_end ? "" : "more than ", stream->window.lines);
	} else {
		remember(run, state);
		show_lines(run, state);
		tool_finish(run, build_result(state), false);
	}
}

/* The editor has no other text. */
static void
read_disk(struct tool_run *run)
{
	struct read_state *state = run->state;

	if (state->stream.fd == -1)
		finish_failure(run, state, state->failure, buffer_text(&state->error));
	else
		file_stream_start(&state->stream, run->context->base, read_done, run);
}

static void
on_page(enum editor_page_result result, void *arg)
{
	struct tool_run *run = arg;
	const struct read_state *state = run->state;

	if (result == EDITOR_PAGE_FILLED)
		read_done(run);
	else if (result == EDITOR_PAGE_REFUSED)
		tool_finish_error(run, "The editor refused to show %s: %s.",
		    state->target.shown, state->page.note);
	else
		read_disk(run);
}

static void
read_start(struct tool_run *run)
{
	struct read_state *state = run->state;
	struct file_stream *stream = &state->stream;

	if (!path_rules_still_real(state->target.real)) {
		tool_finish_error(
		    run, "%s was replaced by a link in the meantime.", state->target.shown);
		return;
	}
	stream->fd =
	    text_file_open(state->target.real, &stream->status, &state->failure, &state->error);
	state->from_end = state->offset < 0;
	stream->window.first = state->offset > 1 ? state->offset : 1;
	stream->window.count = state->limit < LIMIT_MAX ? state->limit : LIMIT_MAX;
	state->page = (struct editor_page){
	    .context = run->context, .path = state->target.real, .done = on_page, .arg = run};
	if ((stream->fd == -1 && state->failure != TEXT_ABSENT) ||
	    !editor_page_start(&state->page, stream))
		read_disk(run);
}

static void
read_cancel(struct tool_run *run)
{
	struct read_state *state = run->state;

	editor_page_clear(&state->page);
	file_stream_clear(&state->stream);
	tool_finish_error(run, "Cancelled by the user.");
}

static void
read_release(struct tool_run *run)
{
	struct read_state *state = run->state;

	if (state == NULL)
		return;
	editor_page_clear(&state->page);
	file_stream_clear(&state->stream);
	buffer_free(&state->error);
	path_target_clear(&state->target);
	free(state);
	run->state = NULL;
}

const struct tool tool_read_file = {
    .name = "read_file",
    .description = "Reads a text file and returns its lines as \"<number>|<text>\". Long files "
		   "come in pages: use offset and limit. It does not read folders or binary "
		   "files.",
    .parameters =
	"{\"type\":\"object\",\"properties\":{"
	"\"path\":{\"type\":\"string\",\"description\":\"The file: absolute, relative to the "
	"session's folder, or ~/...\"},"
	"\"offset\":{\"type\":\"integer\",\"description\":\"First line, counted from 1 "
	"(default 1)\",\"minimum\":1,\"default\":1},"
	"\"limit\":{\"type\":\"integer\",\"description\":\"Number of lines (default and most "
	"2000)\",\"minimum\":1,\"maximum\":2000,\"default\":2000}},"
	"\"required\":[\"path\"]}",
    .kind = TOOL_KIND_READ,
    .class = TOOL_CLASS_READ,
    .prepare = read_prepare,
    .start = read_start,
    .cancel = read_cancel,
    .release = read_release,
};
