/*
 * Merging a Chat Completions answer: events in, answer out. An answer that broke off must
 * never look like one that ended, and a broken event is never passed over in silence.
 */
#include <config.h>

#include "worker/providers/chat_assembler.h"
#include "worker/providers/chat_merge.h"
#include "worker/providers/chat_usage.h"
#include "common/alloc.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

void
chat_assembler_flush(void *state)
{
	struct chat_assembler *assembler = state;

	chat_output_flush(&assembler->output);
}

void *
chat_assembler_new(const char *label, const struct chat_sink *sink)
{
	struct chat_assembler *assembler = xcalloc(1, sizeof *assembler);

	answer_failure_start(&assembler->failure, label);
	chat_output_start(&assembler->output, sink);
	chat_usage_clear(&assembler->usage);
	return assembler;
}

void
chat_assembler_free(void *state)
{
	struct chat_assembler *assembler = state;

	if (assembler == NULL)
		return;
	answer_failure_free(&assembler->failure);
	chat_output_free(&assembler->output);
	chat_calls_free(&assembler->calls);
	chat_reasoning_free(&assembler->reasoning);
	delta_pattern_free(&assembler->pattern);
	free(assembler);
}

/* Makes a pattern of an event that only added one text. */
static void
learn(struct chat_assembler *assembler, const char *data, size_t length)
{
	struct json_object *string = assembler->string;
	unsigned effects = assembler->effects;

	delta_pattern_forget(&assembler->pattern);
	if (assembler->armoured || !assembler->single || assembler->failure.failed ||
	    (effects != EFFECT_TEXT && effects != EFFECT_THOUGHT &&
		effects != EFFECT_ARGUMENTS) ||
	    !json_object_is_type(string, json_type_string))
		return;
	assembler->pattern_effect = effects;
	assembler->pattern_content =
	    effects == EFFECT_THOUGHT && strcmp(assembler->key, "reasoning_content") == 0;
	delta_pattern_learn(&assembler->pattern, data, length, assembler->key,
	    json_object_get_string(string), (size_t)json_object_get_string_len(string));
}

/* An event like the one before it, with other text. */
static bool
take_pattern(struct chat_assembler *assembler, const char *data, size_t length)
{
	const char *text;

	if (!delta_pattern_match(&assembler->pattern, data, length))
		return false;
	text = buffer_text(&assembler->pattern.text);
	length = assembler->pattern.text.length;
	assembler->armoured = assembler->calls.armoured = false;
	if (assembler->pattern_effect == EFFECT_ARGUMENTS)
		chat_calls_append(&assembler->calls, assembler->calls.last, text, length);
	else if (length > 0)
		chat_merge_bytes(
		    assembler, assembler->pattern_effect == EFFECT_THOUGHT, text, length);
	if (assembler->pattern_content)
		chat_merge_reasoning_content(assembler, text, length);
	return true;
}

const char *
chat_assembler_body(void *state, const char *data, size_t length)
{
	struct chat_assembler *assembler = state;
	const char *reason = NULL;
	struct json_object *object =
	    delta_text_parse(data, length, &assembler->armoured, &reason);

	if (json_object_is_type(object, json_type_array) &&
	    json_object_array_length(object) > 0)
		chat_merge_object(assembler, json_object_array_get_idx(object, 0));
	else if (reason == NULL)
		chat_merge_object(assembler, object);
	json_object_put(object);
	return reason;
}

static void
take_json(struct chat_assembler *assembler, bool error, const char *data, size_t length)
{
	const char *reason = NULL;
	struct json_object *object =
	    delta_text_parse(data, length, &assembler->armoured, &reason);
	struct json_object *first = object;

	if (reason != NULL) {
		answer_failure_not_json(&assembler->failure, reason, data, length);
		return;
	}
	if (json_object_is_type(object, json_type_array))
		first = json_object_array_get_idx(object, 0);
	if (error) {
		chat_merge_error(assembler, first, true);
	} else {
		chat_merge_object(assembler, first);
		if (first == object)
			learn(assembler, data, length);
	}
	json_object_put(object);
}

/* A call that never ends must not fill the memory. */
static bool
is_bounded(struct chat_assembler *assembler)
{
	if (assembler->calls.too_long)
		answer_failure_set(&assembler->failure, MODEL_ERROR_ANSWER,
		    "sent tool calls whose arguments are longer than 16 MiB");
	return !assembler->calls.too_long;
}

bool
chat_assembler_event(void *state, const char *name, const char *data, size_t length)
{
	struct chat_assembler *assembler = state;
	bool error = name[0] != '\0' && strcmp(name, "error") == 0;

	if (assembler->done || assembler->failure.failed)
		return false;
	if (!error && take_pattern(assembler, data, length))
		return is_bounded(assembler);
	delta_text_trim(&data, &length);
	if (delta_text_is_done(data, length)) {
		assembler->done = true;
		return false;
	}
	if (length > 0 && (*data == '{' || *data == '['))
		take_json(assembler, error, data, length);
	else if (error)
		answer_failure_text(&assembler->failure, data, length);
	/* Anything else is a keep-alive of somebody's own making. */
	return is_bounded(assembler) && !assembler->failure.failed;
}

bool
chat_assembler_finishing(const void *state)
{
	const struct chat_assembler *assembler = state;

	return assembler->has_finish;
}

static enum answer_state
state_of(const struct chat_assembler *assembler)
{
	if (assembler->failure.failed)
		return ANSWER_FAILED;
	if (assembler->has_finish || (assembler->done && assembler->payload))
		return ANSWER_COMPLETE;
	return assembler->started && !assembler->done ? ANSWER_PART : ANSWER_NOTHING;
}

/* The reason for the end; calls count for more than the word "stop". */
static enum finish_reason
finish_of(const struct chat_assembler *assembler)
{
	if (assembler->refused)
		return FINISH_REFUSAL;
	if (!assembler->has_finish || assembler->finish == FINISH_STOP ||
	    assembler->finish == FINISH_TOOL_CALLS)
		return assembler->calls.count > 0 ? FINISH_TOOL_CALLS : FINISH_STOP;
	return assembler->finish;
}

enum answer_state
chat_assembler_end(void *state, struct model_answer *answer)
{
	struct chat_assembler *assembler = state;
	enum answer_state ended = state_of(assembler);

	chat_output_end(&assembler->output);
	memset(answer, 0, sizeof *answer);
	answer->retry_after_ms = -1;
	answer->finish = ended == ANSWER_COMPLETE ? finish_of(assembler) : FINISH_ERROR;
	if (ended == ANSWER_FAILED)
		answer_failure_move(&assembler->failure, answer);
	answer->usage = assembler->usage;
	chat_calls_finish(&assembler->calls, answer);
	delta_text_end(&assembler->content_pending, &assembler->reasoning.content);
	answer->extra =
	    chat_reasoning_extra(&assembler->reasoning, &assembler->output.thoughts);
	return ended;
}
