/*
 * The rehearsal provider: plays a script instead of calling a model. Every piece of text is
 * one callback, so that what it measures is the path behind it. It must never hold up the
 * event loop: long runs are cut into slices, and every wait is a timer.
 */
#include <config.h>

#include "worker/providers/rehearsal_step.h"

#include "common/alloc.h"
#include "common/utf8.h"
#include "worker/config/runtime.h"
#include "worker/providers/chat_usage.h"

#include <event2/event.h>

#include <stdlib.h>

#define STEPS_PER_TURN 64 /* of the event loop */
#define CLOSING_TEXT "That was the last round of the rehearsal script for this prompt."

static void
destroy(struct rehearsal *state)
{
	if (state->timer != NULL)
		event_free(state->timer);
	free(state->burst.text);
	rehearsal_scene_clear(&state->scene);
	rehearsal_script_free(state->script);
	model_answer_clear(&state->answer);
	buffer_free(&state->thoughts);
	free(state);
}

static void
emit(struct rehearsal *state, const char *bytes, size_t length, bool thought)
{
	if (thought) {
		buffer_append(&state->thoughts, bytes, length);
		state->callbacks.thought(bytes, length, state->arg);
	} else {
		state->callbacks.text(bytes, length, state->arg);
	}
}

/* Sends one piece; false when the burst is over. */
static bool
burst_piece(struct rehearsal *state)
{
	struct burst *burst = &state->burst;
	const char *at = burst->text + burst->offset;
	size_t left = burst->length - burst->offset, size = left;

	if (burst->repeats <= 0 || burst->length == 0)
		return false;
	if (burst->piece > 0)
		size = utf8_offset(at, left, burst->piece);
	burst->offset += size;
	if (burst->offset == burst->length) {
		burst->repeats--;
		burst->offset = 0;
	}
	emit(state, at, size, burst->thought);
	return burst->repeats > 0;
}

/* Sends pieces until the text is out, the slice is used up, or it is time to wait. */
static enum rehearsal_outcome
burst_go_on(struct rehearsal *state)
{
	size_t sent = 0;

	while (burst_piece(state)) {
		if (state->dropped || state->paused)
			return REHEARSAL_WAIT;
		if (state->burst.every_ms > 0) {
			rehearsal_wake_after(state, state->burst.every_ms);
			return REHEARSAL_WAIT;
		}
		if (++sent >= state->burst.slice) {
			rehearsal_wake_after(state, 0);
			return REHEARSAL_WAIT;
		}
	}
	free(state->burst.text);
	state->burst.text = NULL;
	return REHEARSAL_GO_ON;
}

static void
complete_answer(struct rehearsal *state)
{
	struct model_answer *answer = &state->answer;

	if (!state->finish_chosen)
		answer->finish = answer->call_count > 0 ? FINISH_TOOL_CALLS : FINISH_STOP;
	if (state->thoughts.length > 0 && !state->thoughts.failed) {
		answer->extra = json_object_new_object();
		json_set(answer->extra, "reasoning",
		    json_new_bytes(state->thoughts.data, state->thoughts.length));
	}
}

static void
finish(struct rehearsal *state)
{
	struct rehearsal_fault fault = state->fault;

	complete_answer(state);
	state->finished = true;
	if (fault.point == FAULT_FINISH)
		rehearsal_fault_play(state->base, &fault);
	if (fault.point == FAULT_AFTER_FINISH) {
		/* One millisecond is the next turn of the loop. */
		fault.after_ms = fault.after_ms > 0 ? fault.after_ms : 1;
		rehearsal_fault_play(state->base, &fault);
	}
	state->callbacks.finished(&state->answer, state->arg);
}

static void
play(struct rehearsal *state)
{
	enum rehearsal_outcome outcome = REHEARSAL_GO_ON;
	size_t steps = 0;

	if (state->answer.finish == FINISH_ERROR)
		outcome = REHEARSAL_END; /* the script could not be read */
	while (outcome == REHEARSAL_GO_ON) {
		if (state->dropped || state->paused)
			return;
		if (state->burst.text != NULL) {
			outcome = burst_go_on(state);
		} else if (++steps > STEPS_PER_TURN) {
			rehearsal_wake_after(state, 0);
			return;
		} else {
			outcome = rehearsal_step_play(state);
		}
	}
	if (outcome == REHEARSAL_END && !state->dropped)
		finish(state);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct rehearsal *state = arg;

	(void)fd;
	(void)what;
	state->playing = true;
	play(state);
	state->playing = false;
	if (state->dropped)
		destroy(state);
}

static void
begin(struct rehearsal *state, const struct model_request *request)
{
	struct buffer error = BUFFER_EMPTY;

	state->script = rehearsal_script_load(request->runtime->rehearsal_file, &error);
	if (state->script == NULL) {
		rehearsal_fail(state, MODEL_ERROR_REQUEST,
		    "the rehearsal script cannot be played: %s", buffer_text(&error));
	} else {
		rehearsal_scene_find(
		    state->script, request->task, request->messages, &state->scene);
		if (state->scene.steps == NULL && request->task == NULL)
			rehearsal_burst_begin(state, NULL, CLOSING_TEXT, false);
	}
	buffer_free(&error);
}

static void *
start(struct event_base *base, const struct model_request *request,
    const struct model_callbacks *callbacks, void *arg)
{
	struct rehearsal *state = xcalloc(1, sizeof *state);

	state->base = base;
	state->callbacks = *callbacks;
	state->arg = arg;
	state->tools_offered = json_object_is_type(request->tools, json_type_array) &&
			       json_object_array_length(request->tools) > 0;
	state->faults_allowed = request->runtime->rehearsal_faults;
	state->answer.retry_after_ms = -1;
	chat_usage_clear(&state->answer.usage);
	state->timer = evtimer_new(base, on_timer, state);
	begin(state, request);
	if (state->timer != NULL)
		rehearsal_wake_after(state, 0);
	return state;
}

static void
pause_stream(void *opaque, bool pause)
{
	struct rehearsal *state = opaque;

	if (state->paused == pause)
		return;
	state->paused = pause;
	if (!pause && !state->hanging && !state->finished &&
	    !event_pending(state->timer, EV_TIMEOUT, NULL))
		rehearsal_wake_after(state, 0);
}

/* Serves as cancel and as release: the end may come from within a callback. */
static void
drop(void *opaque)
{
	struct rehearsal *state = opaque;

	state->dropped = true;
	event_del(state->timer);
	if (!state->playing)
		destroy(state);
}

const struct api_mode api_mode_rehearsal = {
    .name = "rehearsal",
    .start = start,
    .pause = pause_stream,
    .cancel = drop,
    .release = drop,
};
