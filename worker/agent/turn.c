/*
 * One prompt turn: save the prompt, ask the model, decide, run tools, ask again. Every path
 * leads to turn_finish() or turn_fail().
 */
#include <config.h>

#include "worker/agent/agent_model.h"
#include "worker/agent/model_route.h"
#include "worker/agent/request.h"
#include "worker/agent/turn_internal.h"
#include "worker/agent/turn_recover.h"
#include "worker/agent/undo_turn.h"
#include "common/alloc.h"
#include "common/monotonic.h"

#include <stdlib.h>
#include <string.h>

/* A save is due after this time of streaming (ARCHITECTURE.md). It writes the whole answer so
 * far: a pause of so many times its length follows, up to a limit, so that a long answer, or a
 * database that many write to, costs a share of the time and no more. */
#define SAVE_MS 2000
#define SAVE_PAUSES 9
#define SAVE_PAUSE_MOST_MS 20000
#define INTERNAL_ERROR (-32603)

static void request(struct turn *turn);
static void on_model_text(const char *bytes, size_t length, void *arg);
static void on_model_thought(const char *bytes, size_t length, void *arg);
static void on_model_notice(const char *text, void *arg);
static void on_model_finished(const struct model_answer *answer, void *arg);

static void
on_partial_saved(const char *error, void *arg)
{
	struct turn *turn = arg;
	int64_t now = monotonic_ms(), pause = (now - turn->save_started) * SAVE_PAUSES;

	turn->save_started = 0;
	turn->save_again = now + (pause < SAVE_PAUSE_MOST_MS ? pause : SAVE_PAUSE_MOST_MS);
	turn_on_saved(error, turn->agent);
}

static void
save_partial(struct turn *turn)
{
	const struct output *output = &turn->agent->output;
	struct json_object *message;
	int64_t now = monotonic_ms();

	if (turn->state != TURN_STREAMING || turn->text.answer.length == 0 ||
	    turn->save_started != 0 || now < turn->save_again || output->busy(output->arg))
		return;
	turn->unsaved = 0;
	turn->save_started = now;
	message = turn_text_message(turn, NULL, NULL, 0);
	turn_save_answer(turn, message, true, on_partial_saved, turn);
	json_object_put(message);
}

static void
on_save_timer(int fd, short events, void *arg)
{
	struct turn *turn = arg;

	(void)fd;
	(void)events;
	turn_text_flush(turn, false); /* what is saved is what was shown, no more */
	if (turn->unsaved > 0)
		save_partial(turn);
}

static void
request(struct turn *turn)
{
	static const struct model_callbacks callbacks = {
	    .text = on_model_text,
	    .thought = on_model_thought,
	    .finished = on_model_finished,
	    .notice = on_model_notice,
	};
	struct agent *agent = turn->agent;
	struct model_request wanted = {.runtime = &agent->runtime,
	    .tools = agent->tool_list,
	    .session_id = agent->tools.session_id};

	if (turn->requests >= agent->limits.requests) {
		turn_answer_limit(turn);
		return;
	}
	turn->requests++;
	turn_text_reset(turn);
	json_object_put(turn->request_messages);
	turn->request_messages = request_messages(
	    agent->conversation, agent->system_prompt, agent->images, agent->reasoning);
	wanted.messages = turn->request_messages;
	turn->state = TURN_REQUESTING;
	turn->call = model_call_start(agent->base, &wanted, &callbacks, turn);
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
	turn_text_notice(arg, text);
}

static void
count_usage(
    struct agent *agent, const struct model_answer *answer, const struct runtime *runtime)
{
	const struct model_usage *usage = &answer->usage;

	/* A failure costs nothing unless the server says so. */
	if (agent->on_usage != NULL &&
	    (answer->finish != FINISH_ERROR || model_usage_told(usage)))
		agent->on_usage(usage, runtime, agent->on_arg);
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
	count_usage(turn->agent, answer, model_call_runtime(call));
	agent_keep_credential(turn->agent, model_call_runtime(call));
	turn_answer(turn, answer, model_call_runtime(call));
	model_call_free(call);
}

static void
calls_done(struct turn *turn)
{
	if (turn->cancelled) {
		/* A cancelled call may still stand in the queue of those whose start is being
		 * written out: the batch goes with the turn. */
		turn_finish(turn, STOP_REASON_CANCELLED);
		return;
	}
	call_batch_free(turn->batch);
	turn->batch = NULL;
	request(turn);
}

static void
on_prompt_saved(const char *error, void *arg)
{
	struct turn *turn = arg;

	turn->agent->output.saved(error == NULL, turn->agent->output.arg);
	if (error != NULL && !store_keeps(turn->agent->store)) {
		turn_fail(turn, INTERNAL_ERROR, "The prompt could not be saved", error);
		return;
	}
	turn_tell_saving(turn->agent, error);
	if (turn->cancelled)
		turn_finish(turn, STOP_REASON_CANCELLED);
	else
		request(turn);
}

/* The struct of a new turn, as the agent's running one. */
static struct turn *
new_turn(struct agent *agent)
{
	static const struct turn_upward upward = {
	    .request = request, .save_partial = save_partial, .calls_done = calls_done};
	struct turn *turn = xcalloc(1, sizeof *turn);

	turn->agent = agent;
	turn->up = &upward;
	turn->state = TURN_PREPARING;
	turn->first_message = conversation_length(agent->conversation);
	agent->turn = turn;
	/* What an earlier turn had to fall back to was for that turn. */
	agent_use_chosen_model(agent);
	model_route_restart(agent->route);
	turn_text_start(turn);
	turn->save_timer = event_new(agent->base, -1, EV_PERSIST, on_save_timer, turn);
	return turn;
}

void
turn_start(struct agent *agent, struct json_object *message)
{
	struct turn *turn = new_turn(agent);

	conversation_append(agent->conversation, message);
	/* From then on a successor finds the prompt in the session and must not get it again.
	 */
	agent->output.saving(agent->output.arg);
	store_append_user(agent->store, message, on_prompt_saved, turn);
	json_object_put(message);
}

void
turn_recover(struct agent *agent, const char *text, size_t length, struct json_object *calls)
{
	struct turn *turn = new_turn(agent);

	switch (turn_recover_prepare(turn, text, length, calls)) {
	case RECOVER_REQUEST:
		request(turn);
		return;
	case RECOVER_CALLS:
		turn->state = TURN_RUNNING;
		call_batch_start(turn->batch);
		return;
	case RECOVER_DONE:
		turn_finish(turn, STOP_REASON_END_TURN);
		return;
	}
}

/* The text that the user saw stays in the conversation. */
static void
keep_partial(struct turn *turn)
{
	struct json_object *message;

	if (turn->text.answer.length == 0)
		return;
	message = turn_text_message(turn, NULL, NULL, 0);
	conversation_append(turn->agent->conversation, message);
	turn_save_answer(turn, message, false, turn_on_saved, turn->agent);
	json_object_put(message);
	turn_text_reset(turn);
}

void
turn_cancel(struct agent *agent)
{
	struct turn *turn = agent->turn;

	undo_turn_cancel(agent);
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
		turn_text_say(agent->turn, OUTPUT_TEXT, text);
}

void
turn_abandon(struct agent *agent)
{
	undo_turn_abandon(agent);
	if (agent->turn != NULL)
		turn_free(agent->turn);
	agent->turn = NULL;
}
