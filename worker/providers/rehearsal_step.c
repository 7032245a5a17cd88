/*
 * The steps of a rehearsal script, one function each. A step only changes the state of its
 * rehearsal; it must never call finished() and never wait by itself.
 */
#include <config.h>

#include "worker/providers/rehearsal_step.h"

#include "common/alloc.h"
#include "common/monotonic.h"
#include "common/platform.h"
#include "worker/providers/rehearsal_words.h"

#include <event2/event.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE_DEFAULT 64 /* pieces between two turns of the loop */

void
rehearsal_wake_after(struct rehearsal *state, int64_t milliseconds)
{
	struct timeval interval = monotonic_interval(milliseconds);

	event_add(state->timer, &interval);
}

enum rehearsal_outcome
rehearsal_fail(struct rehearsal *state, enum model_error error, const char *format, ...)
{
	struct buffer text = BUFFER_EMPTY;
	va_list arguments;

	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	free(state->answer.message);
	state->answer.message = buffer_take(&text);
	state->answer.finish = FINISH_ERROR;
	state->answer.error = error;
	state->finish_chosen = true;
	return REHEARSAL_END;
}

void
rehearsal_burst_begin(
    struct rehearsal *state, struct json_object *from, const char *text, bool thought)
{
	struct burst *burst = &state->burst;
	int64_t piece = 0, slice = SLICE_DEFAULT;

	memset(burst, 0, sizeof *burst);
	burst->text = rehearsal_scene_text(&state->scene, text);
	burst->length = strlen(burst->text);
	burst->repeats = 1;
	burst->thought = thought;
	json_member_integer(from, "chunk", &piece);
	json_member_integer(from, "every_ms", &burst->every_ms);
	json_member_integer(from, "count", &burst->repeats);
	json_member_integer(from, "slice", &slice);
	burst->piece = (size_t)piece;
	burst->slice = (size_t)slice;
}

static enum rehearsal_outcome
step_text(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	rehearsal_burst_begin(state, step, json_object_get_string(value), false);
	return REHEARSAL_GO_ON;
}

static enum rehearsal_outcome
step_thought(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	rehearsal_burst_begin(state, step, json_object_get_string(value), true);
	return REHEARSAL_GO_ON;
}

static enum rehearsal_outcome
step_repeat(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	(void)step;
	rehearsal_burst_begin(state, value, json_member_text(value, "text", ""),
	    json_member_boolean(value, "thought", false));
	return REHEARSAL_GO_ON;
}

static enum rehearsal_outcome
step_notice(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	char *text = rehearsal_scene_text(&state->scene, json_object_get_string(value));

	(void)step;
	if (state->callbacks.notice != NULL)
		state->callbacks.notice(text, state->arg);
	free(text);
	return REHEARSAL_GO_ON;
}

static char *
new_call_id(void)
{
	uint64_t number = 0;

	/* Random, because an id must not come again in a session that lives over restarts. */
	if (platform_random(&number, sizeof number) == -1)
		number = (uint64_t)monotonic_ms() << 20 | (uint64_t)getpid();
	return xasprintf("call_%016" PRIx64, number);
}

static char *
call_arguments(struct rehearsal *state, struct json_object *value)
{
	struct json_object *filled;
	char *text;

	if (value == NULL)
		return xstrdup("{}");
	if (json_object_is_type(value, json_type_string))
		return rehearsal_scene_text(&state->scene, json_object_get_string(value));
	filled = rehearsal_scene_value(&state->scene, value);
	text = xstrdup(json_text(filled, NULL));
	json_object_put(filled);
	return text;
}

static enum rehearsal_outcome
step_tool(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	struct model_answer *answer = &state->answer;
	struct model_tool_call *call;
	const char *id = json_member_string(value, "id");

	(void)step;
	/* A model calls no tools where none are offered, as in a request for a title. */
	if (!state->tools_offered)
		return REHEARSAL_GO_ON;
	answer->calls =
	    xreallocarray(answer->calls, answer->call_count + 1, sizeof *answer->calls);
	call = &answer->calls[answer->call_count++];
	call->id = id != NULL ? rehearsal_scene_text(&state->scene, id) : new_call_id();
	call->name = xstrdup(json_member_text(value, "name", ""));
	call->arguments = call_arguments(state, json_member(value, "arguments"));
	return REHEARSAL_GO_ON;
}

static enum rehearsal_outcome
step_delay(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	(void)step;
	rehearsal_wake_after(state, json_object_get_int64(value));
	return REHEARSAL_WAIT;
}

static enum rehearsal_outcome
step_usage(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	struct model_usage *usage = &state->answer.usage;

	(void)step;
	json_member_integer(value, "input", &usage->input_tokens);
	json_member_integer(value, "output", &usage->output_tokens);
	if (usage->input_tokens >= 0 && usage->output_tokens >= 0)
		usage->total_tokens = usage->input_tokens + usage->output_tokens;
	json_member_integer(value, "total", &usage->total_tokens);
	json_member_integer(value, "reasoning", &usage->reasoning_tokens);
	json_member_integer(value, "cache_read", &usage->cache_read_tokens);
	json_member_integer(value, "cache_write", &usage->cache_write_tokens);
	return REHEARSAL_GO_ON;
}

static enum rehearsal_outcome
step_finish(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	(void)step;
	rehearsal_words_parse_finish(json_object_get_string(value), &state->answer.finish);
	state->finish_chosen = true;
	return REHEARSAL_GO_ON;
}

static enum rehearsal_outcome
step_error(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	const char *kind = json_member_text(value, "kind", ""), *text;
	enum model_error error = MODEL_ERROR_SERVER;
	int64_t status = 0;
	char *message;

	(void)step;
	rehearsal_words_parse_error(kind, &error);
	json_member_integer(value, "status", &status);
	json_member_integer(value, "retry_after_ms", &state->answer.retry_after_ms);
	text = json_member_string(value, "message");
	message = text != NULL
		      ? rehearsal_scene_text(&state->scene, text)
		      : xasprintf("the rehearsal script plays an error of kind %s", kind);
	rehearsal_fail(state, error, "%s", message);
	free(message);
	state->answer.status = (int)status;
	return REHEARSAL_END;
}

static enum rehearsal_outcome
step_hang(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	(void)step;
	(void)value;
	state->hanging = true;
	return REHEARSAL_WAIT;
}

static enum rehearsal_outcome
step_fault(struct rehearsal *state, struct json_object *step, struct json_object *value)
{
	struct rehearsal_fault fault;

	(void)step;
	if (!state->faults_allowed)
		return rehearsal_fail(state, MODEL_ERROR_REQUEST,
		    "the rehearsal script has a fault as step %zu, and faults are not allowed; "
		    "--allow-faults allows them",
		    state->step);
	rehearsal_fault_read(value, &fault);
	if (fault.point == FAULT_NOW)
		rehearsal_fault_play(state->base, &fault);
	else if (fault.kind != FAULT_NONE)
		state->fault = fault;
	return REHEARSAL_GO_ON;
}

static const struct {
	const char *name;
	enum rehearsal_outcome (*play)(
	    struct rehearsal *state, struct json_object *step, struct json_object *value);
} players[] = {
    {"text", step_text},
    {"thought", step_thought},
    {"repeat", step_repeat},
    {"notice", step_notice},
    {"tool", step_tool},
    {"delay_ms", step_delay},
    {"usage", step_usage},
    {"finish", step_finish},
    {"error", step_error},
    {"hang", step_hang},
    {"fault", step_fault},
};

enum rehearsal_outcome
rehearsal_step_play(struct rehearsal *state)
{
	struct json_object *steps = state->scene.steps, *step, *value;
	size_t i;

	if (steps == NULL || state->step >= json_object_array_length(steps))
		return REHEARSAL_END;
	step = json_object_array_get_idx(steps, state->step++);
	for (i = 0; i < sizeof players / sizeof players[0]; i++) {
		value = json_member(step, players[i].name);
		if (value != NULL)
			return players[i].play(state, step, value);
	}
	return REHEARSAL_GO_ON;
}
