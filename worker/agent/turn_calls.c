/*
 * The tool calls of one answer: prepared, permitted, started, finished, their results put
 * into the conversation in the order of the calls. Nothing with an effect starts before its
 * start is on record, and without an explicit yes nothing that needs one starts at all.
 */
#include <config.h>

#include "worker/agent/call_text.h"
#include "worker/agent/display.h"
#include "worker/agent/turn_internal.h"
#include "worker/tools/grants.h"
#include "worker/tools/todo.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads that run beside each other (as in Hermes). */
#define PARALLEL_MAX 8
/* Bytes of a name that no tool has, as the model is told. */
#define UNKNOWN_NAME_MAX 100

enum call_state {
	CALL_WAITING,
	CALL_GATHERING, /* the editor is being asked for its texts */
	CALL_ASKING,
	CALL_STARTING, /* its start is being put on record */
	CALL_RUNNING,
	CALL_SAVING, /* finished, its result is being saved */
	CALL_DONE
};

struct batch_call {
	struct call_batch *batch;
	enum call_state state;
	char *id, *name, *arguments;
	struct tool_run *run;
	bool card; /* it is on the screen */
	bool failed;
	struct json_object *message; /* the result for the model */
	char *error;		     /* of a call that never became a run */
};

struct call_batch {
	struct turn *turn;
	struct batch_call *calls;
	size_t count;
	size_t begin, end; /* the calls that run beside each other now */
	struct event *advance;
	bool cancelled;
};

static struct output *
output_of(struct batch_call *call)
{
	return &call->batch->turn->agent->output;
}

static void
show_card(struct batch_call *call, enum card_status status)
{
	struct output *output = output_of(call);

	if (!call->card) {
		call->card = true;
		output->card(call->run, CARD_PENDING, output->arg);
		if (status == CARD_PENDING)
			return;
	}
	output->card(call->run, status, output->arg);
}

/* The result on the screen. It comes once it is saved: what was shown as done is never unknown
 * to a successor. */
static void
show_result(struct batch_call *call)
{
	struct output *output = output_of(call);
	char *name;

	if (call->run != NULL) {
		show_card(call, call->failed ? CARD_FAILED : CARD_COMPLETED);
		if (!call->failed && strcmp(call->run->tool->name, "todo") == 0)
			output->plan(call->run->context->todo, output->arg);
	} else if (call->error != NULL) {
		name = call_text_name(call->name);
		output->failed_call(call->id, name, call->error, output->arg);
		free(name);
	}
}

static void
on_result_saved(const char *error, void *arg)
{
	struct batch_call *call = arg;

	if (error != NULL)
		log_warning("store", "a tool result could not be saved: %s", error);
	turn_tell_saving(call->batch->turn->agent, error);
	call->state = CALL_DONE;
	show_result(call);
	event_active(call->batch->advance, EV_TIMEOUT, 0);
}

/* Keeps a result for the model, cut to the limit. `text_shown`: of a call without a run. */
static void
save_result(struct batch_call *call, const char *text, size_t length, const char *text_shown)
{
	struct agent *agent = call->batch->turn->agent;
	size_t limit = (size_t)agent->limits.result_characters;
	struct buffer cut = BUFFER_EMPTY;
	char *name = call_text_name(call->name);

	if (length > limit && utf8_count(text, length) > limit) {
		buffer_append(&cut, text, utf8_offset(text, length, limit));
		buffer_printf(&cut, "\n[Cut here: the result has %zu bytes.]", length);
		text = buffer_text(&cut);
		length = cut.length;
	}
	call->state = CALL_SAVING;
	call->message = conversation_tool(call->id, name, text, length);
	buffer_free(&cut);
	free(name);
	if (call->run != NULL)
		display_run(call->message, call->run, call->failed);
	else
		display_failed_call(
		    call->message, call->name, text_shown != NULL ? text_shown : "");
	store_call_result(agent->store, call->message, on_result_saved, call);
	if (call->batch->cancelled)
		event_active(call->batch->advance, EV_TIMEOUT, 0);
}

static void
save_error(struct batch_call *call, const char *text)
{
	struct json_object *result = json_object_new_object();
	const char *json;
	size_t length;

	json_set_text(result, "error", text);
	json = json_text(result, &length);
	save_result(call, json, length, text);
	json_object_put(result);
}

static void
on_run_finished(struct tool_run *run, struct json_object *result, bool failed, void *arg)
{
	struct batch_call *call = arg;
	const char *text;
	size_t length;

	call->run = run;
	call->failed = failed;
	text = json_text(result, &length);
	save_result(call, text, length, NULL);
}

static void
on_run_progress(struct tool_run *run, void *arg)
{
	struct batch_call *call = arg;
	struct output *output = output_of(call);

	if (call->state == CALL_RUNNING && !output->busy(output->arg))
		output->card(run, CARD_IN_PROGRESS, output->arg);
}

static void
start_run(void *arg)
{
	struct batch_call *call = arg;

	if (call->state != CALL_STARTING)
		return;
	call->state = CALL_RUNNING;
	tool_run_start(call->run);
}

static void
on_start_saved(const char *error, void *arg)
{
	struct batch_call *call = arg;
	struct output *output = output_of(call);

	if (call->state != CALL_STARTING)
		return;
	if (error != NULL && !store_keeps(call->batch->turn->agent->store)) {
		tool_finish_error(call->run, "The call could not be put on record: %s", error);
		return;
	}
	show_card(call, CARD_IN_PROGRESS);
	if (output->started(call->id, start_run, call, output->arg))
		start_run(call);
}

static void
permit(struct batch_call *call)
{
	struct json_object *unknown;
	char *name = call_text_name(call->name);

	call->state = CALL_STARTING;
	unknown = call_text_unknown_result(call->id, name);
	display_lost_run(unknown, call->run, call_text_unknown);
	store_call_started(call->batch->turn->agent->store, unknown, on_start_saved, call);
	json_object_put(unknown);
	free(name);
}

/* "Always" is remembered here; a command's label also goes into the configuration. */
static void
remember_grant(struct batch_call *call)
{
	struct agent *agent = call->batch->turn->agent;
	const struct tool_permission *permission = &call->run->permission;

	if (permission->grant == NULL)
		return;
	grants_add(agent->tools.grants, permission->grant);
	if (permission->grant_is_label && agent->allow_always != NULL)
		agent->allow_always(permission->grant, agent->allow_arg);
}

static void
deny(struct batch_call *call, enum user_answer answer)
{
	struct turn *turn = call->batch->turn;
	struct tool_permission *permission = &call->run->permission;
	size_t i;

	for (i = 0; i < permission->path_count; i++)
		grants_deny_path(turn->agent->tools.grants, permission->paths[i]);
	if (answer == USER_REJECTS_ALWAYS && permission->question != NULL)
		grants_refuse(turn->agent->tools.grants, permission->question);
	if (answer == USER_SAYS_NOTHING) {
		turn->silent_user = true;
		tool_finish_error(call->run, "Not done: the user was asked and gave no answer. "
					     "Do not try again by other "
					     "means; say what you would have done.");
		return;
	}
	tool_finish_error(call->run,
	    "Not done: the user refused it. Do not retry it, do not rephrase it and do not try "
	    "to reach the same result by other means.");
}

static void
on_answer(enum user_answer answer, void *arg)
{
	struct batch_call *call = arg;

	if (call->state != CALL_ASKING)
		return;
	if (answer == USER_ALLOWS_ALWAYS)
		remember_grant(call);
	if (answer == USER_ALLOWS_ONCE || answer == USER_ALLOWS_ALWAYS)
		permit(call);
	else
		deny(call, answer);
}

static void
judge(struct batch_call *call)
{
	struct output *output = output_of(call);
	const struct tool_permission *permission = &call->run->permission;

	switch (permission->verdict) {
	case TOOL_ALLOWED:
		permit(call);
		return;
	case TOOL_REFUSED:
		tool_finish_error(call->run, "%s",
		    permission->reason != NULL ? permission->reason : "This is not allowed.");
		return;
	case TOOL_ASK:
		break;
	}
	if (call->batch->turn->silent_user) {
		deny(call, USER_SAYS_NOTHING);
		return;
	}
	call->state = CALL_ASKING;
	output->ask(call->run, on_answer, call, output->arg);
}

static void
unknown_tool(struct batch_call *call)
{
	struct buffer text = BUFFER_EMPTY;
	const struct tool *row;
	size_t shown = utf8_floor(call->name, strlen(call->name), UNKNOWN_NAME_MAX);

	buffer_printf(
	    &text, "There is no tool named \"%.*s\". The tools are:", (int)shown, call->name);
	for (row = tool_table(); row->name != NULL; row++)
		buffer_printf(&text, " %s", row->name);
	call->error = xstrdup(buffer_text(&text));
	buffer_free(&text);
	save_error(call, call->error);
}

static void
prepare(struct batch_call *call)
{
	call->state = CALL_WAITING;
	tool_run_prepare(call->run);
	if (call->state != CALL_WAITING)
		return; /* it has ended: the arguments were wrong */
	show_card(call, CARD_PENDING);
	judge(call);
}

static void
on_gathered(struct tool_run *run, void *arg)
{
	struct batch_call *call = arg;

	(void)run;
	if (call->state == CALL_GATHERING)
		prepare(call);
}

static void
begin_call(struct batch_call *call)
{
	struct turn *turn = call->batch->turn;
	const struct tool *tool = tool_find(call->name);
	struct json_object *arguments;
	char error[256];

	if (tool == NULL) {
		unknown_tool(call);
		return;
	}
	arguments = call_text_arguments(call->arguments, error, sizeof error);
	if (arguments == NULL) {
		call->error = xstrdup(error);
		save_error(call, error);
		return;
	}
	call->run = tool_run_new(tool, &turn->agent->tools, call->id, arguments,
	    on_run_finished, on_run_progress, call);
	json_object_put(arguments);
	call->state = CALL_GATHERING;
	if (!tool_run_gather(call->run, on_gathered))
		prepare(call);
}

/* How many calls from `begin` on may run beside each other. */
static size_t
segment_end(const struct call_batch *batch, size_t begin)
{
	size_t end = begin;
	const struct tool *tool;

	while (end < batch->count && end - begin < PARALLEL_MAX) {
		tool = tool_find(batch->calls[end].name);
		if (tool == NULL || tool->class != TOOL_CLASS_READ)
			break;
		end++;
	}
	return end > begin ? end : begin + 1;
}

static void
finish_segment(struct call_batch *batch)
{
	struct conversation *conversation = batch->turn->agent->conversation;
	size_t i;

	for (i = batch->begin; i < batch->end; i++)
		conversation_append(conversation, batch->calls[i].message);
	batch->begin = batch->end;
}

/* What was never begun gets a result that says so. */
static void
skip_rest(struct call_batch *batch)
{
	size_t i;

	for (i = batch->begin; i < batch->count; i++)
		save_error(&batch->calls[i], "Not run: the user cancelled the turn.");
	batch->end = batch->count;
}

/* A result that is still being saved holds up the next request, but not the end: that is
 * saved behind it, in the same transaction. */
static bool
has_result(const struct batch_call *call)
{
	return call->state == CALL_DONE ||
	       (call->state == CALL_SAVING && call->batch->cancelled);
}

static void
on_advance(int fd, short events, void *arg)
{
	struct call_batch *batch = arg;
	size_t i;

	(void)fd;
	(void)events;
	for (i = batch->begin; i < batch->end; i++)
		if (!has_result(&batch->calls[i]))
			return;
	finish_segment(batch);
	if (batch->begin == batch->count) {
		batch->turn->up->calls_done(batch->turn);
		return;
	}
	if (batch->cancelled) {
		skip_rest(batch);
		return;
	}
	batch->end = segment_end(batch, batch->begin);
	for (i = batch->begin; i < batch->end && !batch->cancelled; i++)
		begin_call(&batch->calls[i]);
}

struct call_batch *
call_batch_new(
    struct turn *turn, const struct model_tool_call *calls, size_t count, char *const *ids)
{
	struct call_batch *batch = xcalloc(1, sizeof *batch);
	size_t i;

	batch->turn = turn;
	batch->count = count;
	batch->calls = xcalloc(count, sizeof *batch->calls);
	for (i = 0; i < count; i++) {
		batch->calls[i].batch = batch;
		batch->calls[i].id = xstrdup(ids[i]);
		batch->calls[i].name = xstrdup(calls[i].name);
		batch->calls[i].arguments = xstrdup(calls[i].arguments);
	}
	batch->advance = event_new(turn->agent->base, -1, 0, on_advance, batch);
	return batch;
}

void
call_batch_start(struct call_batch *batch)
{
	event_active(batch->advance, EV_TIMEOUT, 0);
}

void
call_batch_cancel(struct call_batch *batch)
{
	struct output *output = &batch->turn->agent->output;
	struct batch_call *call;
	size_t i;

	batch->cancelled = true;
	for (i = batch->begin; i < batch->end; i++) {
		call = &batch->calls[i];
		if (call->state == CALL_ASKING)
			output->unask(call->run, output->arg);
		if (call->state == CALL_RUNNING || call->state == CALL_GATHERING)
			tool_run_cancel(call->run);
		else if (call->state == CALL_ASKING || call->state == CALL_STARTING)
			tool_finish_error(call->run, "Not run: the user cancelled the turn.");
		else if (call->state == CALL_WAITING)
			save_error(call, "Not run: the user cancelled the turn.");
	}
	event_active(batch->advance, EV_TIMEOUT, 0);
}

void
call_batch_free(struct call_batch *batch)
{
	size_t i;

	if (batch == NULL)
		return;
	for (i = 0; i < batch->count; i++) {
		if (batch->calls[i].run != NULL)
			tool_run_free(batch->calls[i].run);
		json_object_put(batch->calls[i].message);
		free(batch->calls[i].id);
		free(batch->calls[i].error);
		free(batch->calls[i].name);
		free(batch->calls[i].arguments);
	}
	if (batch->advance != NULL)
		event_free(batch->advance);
	free(batch->calls);
	free(batch);
}
