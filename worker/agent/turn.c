/*
 * One prompt turn: save the prompt, ask the model, decide, run tools, ask again. There is
 * one way out, turn_end(), and every path leads to it.
 */
#include <config.h>

#include "worker/agent/request.h"
#include "worker/agent/turn_internal.h"
#include "worker/tools/grants.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A save is due after this time of streaming (DESIGN 4). */
#define SAVE_MS 2000
#define INTERNAL_ERROR (-32603)

static void on_model_text(const char *bytes, size_t length, void *arg);
static void on_model_thought(const char *bytes, size_t length, void *arg);
static void on_model_notice(const char *text, void *arg);
static void on_model_finished(const struct model_answer *answer, void *arg);

int64_t
agent_context_tokens(const struct agent *agent)
{
	if (agent->context_tokens > 0)
		return agent->context_tokens;
	return (int64_t)(conversation_characters(agent->conversation) / 4 +
	    (agent->system_prompt != NULL ? strlen(agent->system_prompt) / 4 : 0));
}

static void
free_turn(struct turn *turn)
{
	if (turn->call != NULL)
		model_call_cancel(turn->call);
	call_batch_free(turn->batch);
	json_object_put(turn->request_messages);
	turn_text_free(turn);
	if (turn->save_timer != NULL)
		event_free(turn->save_timer);
	free(turn->message);
	free(turn->details);
	free(turn);
}

/* The only way out. */
static void
turn_end(struct turn *turn, const struct turn_end *end)
{
	struct agent *agent = turn->agent;
	struct output *output = &agent->output;

	turn_text_flush(turn, true);
	agent->turn = NULL;
	grants_forget_denied(agent->tools.grants);
	output->usage(agent_context_tokens(agent), agent->runtime.context_length,
	    agent->input_tokens, agent->output_tokens, -1, output->arg);
	output->finished(end, output->arg);
	free_turn(turn);
}

/* The end is told once it is saved; a save that fails must not keep the user waiting. */
static void
on_end_saved(const char *error, void *arg)
{
	struct turn *turn = arg;
	struct turn_end end = { .reason = turn->reason,
		.code = turn->code,
		.message = turn->message,
		.details = turn->details };

	if (error != NULL)
		log_warning("store", "the end of a turn could not be saved: %s", error);
	turn_end(turn, &end);
}

void
turn_finish(struct turn *turn, enum stop_reason reason)
{
	turn->state = TURN_FINISHING;
	turn->reason = reason;
	turn_text_flush(turn, true);
	store_turn_end(turn->agent->store, stop_reason_name(reason), on_end_saved, turn);
}

void
turn_fail(struct turn *turn, int code, const char *message, const char *details)
{
	turn->state = TURN_FINISHING;
	turn->code = code;
	turn->message = xstrdup(message);
	turn->details = xstrdup(details);
	turn_text_flush(turn, true);
	store_turn_end(turn->agent->store, "failed", on_end_saved, turn);
}

void
turn_on_saved(const char *error, void *arg)
{
	struct agent *agent = arg;

	if (error != NULL)
		log_warning("store", "an answer could not be saved: %s", error);
	else
		agent->output.saved(agent->output.arg);
}

void
turn_save_partial(struct turn *turn)
{
	struct json_object *message;

	turn->unsaved = 0;
	if (turn->text.answer.length == 0)
		return;
	message = conversation_assistant(turn->text.answer.data, turn->text.answer.length, NULL,
	    NULL, 0);
	store_save_partial(turn->agent->store, message, turn_on_saved, turn->agent);
	json_object_put(message);
}

static void
on_save_timer(int fd, short events, void *arg)
{
	struct turn *turn = arg;

	(void)fd;
	(void)events;
	if (turn->state == TURN_STREAMING && turn->unsaved > 0)
		turn_save_partial(turn);
}

void
turn_request(struct turn *turn)
{
	static const struct model_callbacks callbacks = {
		.text = on_model_text,
		.thought = on_model_thought,
		.finished = on_model_finished,
		.notice = on_model_notice,
	};
	struct agent *agent = turn->agent;
	struct model_request request = { .runtime = &agent->runtime,
		.tools = agent->tool_list,
		.session_id = agent->tools.session_id };

	if (turn->requests >= agent->limits.requests) {
		char text[128];

		snprintf(text, sizeof text,
		    "\n\nStopped after %lld model requests, the limit for one turn.",
		    (long long)turn->requests);
		turn_text_say(turn, text);
		turn_finish(turn, STOP_REASON_MAX_TURN_REQUESTS);
		return;
	}
	turn->requests++;
	turn_text_reset(turn);
	json_object_put(turn->request_messages);
	turn->request_messages = request_messages(agent->conversation, agent->system_prompt,
	    agent->images, agent->reasoning_echo);
	request.messages = turn->request_messages;
	turn->state = TURN_REQUESTING;
	turn->call = model_call_start(agent->base, &request, &callbacks, turn);
}

static void
start_streaming(struct turn *turn)
{
	struct timeval interval = monotonic_interval(SAVE_MS);

	if (turn->state != TURN_REQUESTING)
		return;
	turn->state = TURN_STREAMING;
	event_add(turn->save_timer, &interval);
}

static void
on_model_text(const char *bytes, size_t length, void *arg)
{
	start_streaming(arg);
	turn_text_add(arg, OUTPUT_TEXT, bytes, length);
}

static void
on_model_thought(const char *bytes, size_t length, void *arg)
{
	start_streaming(arg);
	turn_text_add(arg, OUTPUT_THOUGHT, bytes, length);
}

static void
on_model_notice(const char *text, void *arg)
{
	struct turn *turn = arg;
	char *line = xasprintf("%s\n", text);

	turn_text_flush(turn, true);
	turn_text_add(turn, OUTPUT_THOUGHT, line, strlen(line));
	turn_text_flush(turn, true);
	buffer_clear(&turn->text.thought);
	turn->text.shown = false;
	free(line);
}

static void
count_usage(struct agent *agent, const struct model_usage *usage)
{
	if (usage->input_tokens >= 0)
		agent->input_tokens += usage->input_tokens;
	if (usage->output_tokens >= 0)
		agent->output_tokens += usage->output_tokens;
	if (usage->input_tokens >= 0 && usage->output_tokens >= 0)
		agent->context_tokens = usage->input_tokens + usage->output_tokens;
	else if (usage->total_tokens >= 0)
		agent->context_tokens = usage->total_tokens;
	else
		agent->context_tokens = 0;
}

static void
on_model_finished(const struct model_answer *answer, void *arg)
{
	struct turn *turn = arg;
	struct model_call *call = turn->call;

	turn->call = NULL;
	turn->state = TURN_DECIDING;
	event_del(turn->save_timer);
	turn_text_flush(turn, true);
	count_usage(turn->agent, &answer->usage);
	turn_answer(turn, answer);
	model_call_free(call);
}

void
turn_calls_done(struct turn *turn)
{
	call_batch_free(turn->batch);
	turn->batch = NULL;
	if (turn->cancelled)
		turn_finish(turn, STOP_REASON_CANCELLED);
	else
		turn_request(turn);
}

static void
on_prompt_saved(const char *error, void *arg)
{
	struct turn *turn = arg;

	if (error != NULL)
		turn_fail(turn, INTERNAL_ERROR, "The prompt could not be saved", error);
	else if (turn->cancelled)
		turn_finish(turn, STOP_REASON_CANCELLED);
	else
		turn_request(turn);
}

void
turn_start(struct agent *agent, struct json_object *message)
{
	struct turn *turn = xcalloc(1, sizeof *turn);

	turn->agent = agent;
	turn->state = TURN_PREPARING;
	turn->first_message = conversation_length(agent->conversation);
	agent->turn = turn;
	turn_text_start(turn);
	turn->save_timer =
	    event_new(agent->base, -1, EV_PERSIST, on_save_timer, turn);
	conversation_append(agent->conversation, message);
	store_append_user(agent->store, message, on_prompt_saved, turn);
	json_object_put(message);
}

/* The text that the user saw stays in the conversation. */
static void
keep_partial(struct turn *turn)
{
	struct json_object *message;

	if (turn->text.answer.length == 0)
		return;
	message = conversation_assistant(turn->text.answer.data, turn->text.answer.length, NULL,
	    NULL, 0);
	conversation_append(turn->agent->conversation, message);
	store_append_assistant(turn->agent->store, message, turn_on_saved, turn->agent);
	json_object_put(message);
	turn_text_reset(turn);
}

void
turn_cancel(struct agent *agent)
{
	struct turn *turn = agent->turn;

	if (turn == NULL || turn->cancelled)
		return;
	turn->cancelled = true;
	if (turn->call != NULL) {
		model_call_cancel(turn->call);
		turn->call = NULL;
		turn_text_flush(turn, true);
		keep_partial(turn);
		turn_finish(turn, STOP_REASON_CANCELLED);
	} else if (turn->batch != NULL) {
		call_batch_cancel(turn->batch);
	}
}

void
turn_resume(struct agent *agent)
{
	if (agent->turn != NULL && agent->turn->call != NULL)
		model_call_pause(agent->turn->call, false);
}

void
turn_say(struct agent *agent, const char *text)
{
	if (agent->turn != NULL)
		turn_text_say(agent->turn, text);
}

void
turn_abandon(struct agent *agent)
{
	if (agent->turn != NULL)
		free_turn(agent->turn);
	agent->turn = NULL;
}
