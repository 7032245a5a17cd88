/*
 * Events of the Messages API. An answer that broke off must never look like one that ended,
 * and an event that cannot be understood is left out, never guessed.
 */
#include <config.h>

#include "worker/providers/anthropic_assembler.h"
#include "worker/providers/answer_failure.h"
#include "worker/providers/anthropic_blocks.h"
#include "worker/providers/chat_reasoning.h"
#include "worker/providers/chat_usage.h"
#include "worker/providers/delta_pattern.h"
#include "common/alloc.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

struct anthropic_assembler {
	struct answer_failure failure;
	struct anthropic_blocks blocks;
	struct model_usage usage;
	char *model; /* as the server names it; NULL = not told */
	bool started, has_finish, done;
	enum finish_reason finish;
	const char *remark; /* what is said about the end, or NULL */
	/* A short cut for events like the one before. */
	struct delta_pattern pattern;
	size_t pattern_block;
};

void *
anthropic_assembler_new(const char *label, const struct chat_sink *sink)
{
	struct anthropic_assembler *assembler = xcalloc(1, sizeof *assembler);

	answer_failure_start(&assembler->failure, label);
	anthropic_blocks_start(&assembler->blocks, sink);
	chat_usage_clear(&assembler->usage);
	return assembler;
}

void
anthropic_assembler_free(void *state)
{
	struct anthropic_assembler *assembler = state;

	if (assembler == NULL)
		return;
	answer_failure_free(&assembler->failure);
	anthropic_blocks_free(&assembler->blocks);
	delta_pattern_free(&assembler->pattern);
	free(assembler->model);
	free(assembler);
}

void
anthropic_assembler_flush(void *state)
{
	struct anthropic_assembler *assembler = state;

	chat_output_flush(&assembler->blocks.output);
}

bool
anthropic_assembler_finishing(const void *state)
{
	const struct anthropic_assembler *assembler = state;

	return assembler->has_finish;
}

/* --- parts of a message ------------------------------------------------------------------ */

static const struct {
	const char *name;
	enum finish_reason finish;
	const char *remark;
} finishes[] = {
    {"end_turn", FINISH_STOP, NULL},
    {"stop_sequence", FINISH_STOP, NULL},
    {"pause_turn", FINISH_STOP, NULL}, /* only of tools that the server runs: we have none */
    {"tool_use", FINISH_TOOL_CALLS, NULL},
    {"max_tokens", FINISH_LENGTH, NULL},
    {"model_context_window_exceeded", FINISH_LENGTH,
	"The answer was cut off: the conversation fills the model's context window."},
    {"refusal", FINISH_REFUSAL, NULL},
};

static void
take_finish(struct anthropic_assembler *assembler, struct json_object *object)
{
	const char *reason = json_member_string(object, "stop_reason");
	size_t i;

	if (reason == NULL || reason[0] == '\0')
		return;
	assembler->has_finish = true;
	assembler->finish = FINISH_STOP; /* an unknown reason ends the answer all the same */
	for (i = 0; i < sizeof finishes / sizeof finishes[0]; i++) {
		if (strcmp(finishes[i].name, reason) == 0) {
			assembler->finish = finishes[i].finish;
			assembler->remark = finishes[i].remark;
		}
	}
}

static void
take_usage(struct anthropic_assembler *assembler, struct json_object *object)
{
	struct json_object *usage = json_member_object(object, "usage");

	if (usage != NULL)
		chat_usage_take(&assembler->usage, usage);
}

static int64_t
index_of(struct json_object *object)
{
	int64_t index = -1;

	return json_member_integer(object, "index", &index) && index >= 0 ? index : -1;
}

/* Also a whole message that is no stream. */
static void
take_message(struct anthropic_assembler *assembler, struct json_object *message)
{
	struct json_object *content = json_member_array(message, "content");
	const char *model = json_member_string(message, "model");
	size_t i;

	if (model != NULL && assembler->model == NULL)
		assembler->model = xstrndup(model, 256);
	for (i = 0; content != NULL && i < json_object_array_length(content); i++)
		anthropic_blocks_open(
		    &assembler->blocks, (int64_t)i, json_object_array_get_idx(content, i));
	take_usage(assembler, message);
	take_finish(assembler, message);
}

/* --- events ------------------------------------------------------------------------------ */

static void
on_message_start(struct anthropic_assembler *assembler, struct json_object *event)
{
	if (assembler->blocks.payload) {
		answer_failure_set(&assembler->failure, MODEL_ERROR_ANSWER,
		    "began a second answer before the first one had ended");
		return;
	}
	assembler->started = true;
	take_message(assembler, json_member_object(event, "message"));
}

static void
on_block_start(struct anthropic_assembler *assembler, struct json_object *event)
{
	assembler->started = true;
	anthropic_blocks_open(
	    &assembler->blocks, index_of(event), json_member_object(event, "content_block"));
}

static const struct delta_kind {
	const char *type, *key;
	enum anthropic_kind kind;
	bool signature;
} deltas[] = {
    {"text_delta", "text", ANTHROPIC_TEXT, false},
    {"thinking_delta", "thinking", ANTHROPIC_THOUGHT, false},
    {"input_json_delta", "partial_json", ANTHROPIC_CALL, false},
    {"signature_delta", "signature", ANTHROPIC_THOUGHT, true},
};

static struct anthropic_block *
block_for(struct anthropic_assembler *assembler, struct json_object *event,
    const struct delta_kind *kind)
{
	struct anthropic_block *block;

	if (kind->kind != ANTHROPIC_CALL)
		return anthropic_blocks_need(&assembler->blocks, index_of(event), kind->kind);
	block = anthropic_blocks_find(&assembler->blocks, index_of(event), ANTHROPIC_CALL);
	/* A server's own tool has input, too; whose it is without a start nobody can know. */
	if (block == NULL &&
	    anthropic_blocks_find(&assembler->blocks, index_of(event), ANTHROPIC_OTHER) == NULL)
		answer_failure_set(&assembler->failure, MODEL_ERROR_ANSWER,
		    "sent arguments that belong to no tool call");
	return block;
}

static void
on_block_delta(struct anthropic_assembler *assembler, struct json_object *event)
{
	struct json_object *delta = json_member_object(event, "delta"), *string;
	const char *type = json_member_text(delta, "type", "");
	struct anthropic_block *block;
	size_t i = 0, length;

	assembler->started = true;
	while (i < sizeof deltas / sizeof deltas[0] && strcmp(deltas[i].type, type) != 0)
		i++;
	if (i == sizeof deltas / sizeof deltas[0])
		return;
	string = json_member(delta, deltas[i].key);
	if (!json_object_is_type(string, json_type_string) ||
	    json_object_get_string_len(string) == 0 ||
	    (block = block_for(assembler, event, &deltas[i])) == NULL)
		return;
	length = (size_t)json_object_get_string_len(string);
	if (deltas[i].signature)
		anthropic_blocks_sign(
		    &assembler->blocks, block, json_object_get_string(string), length);
	else
		anthropic_blocks_add(
		    &assembler->blocks, block, json_object_get_string(string), length);
}

static void
on_message_delta(struct anthropic_assembler *assembler, struct json_object *event)
{
	assembler->started = true;
	take_usage(assembler, event);
	take_finish(assembler, json_member_object(event, "delta"));
}

static void
on_message_stop(struct anthropic_assembler *assembler, struct json_object *event)
{
	(void)event;
	assembler->done = true;
}

static void
on_error(struct anthropic_assembler *assembler, struct json_object *event)
{
	answer_failure_object(&assembler->failure, event);
}

static void
on_message(struct anthropic_assembler *assembler, struct json_object *event)
{
	assembler->started = true;
	take_message(assembler, event);
	assembler->done = true;
}

static const struct {
	const char *type;
	void (*take)(struct anthropic_assembler *assembler, struct json_object *event);
} events[] = {
    {"content_block_delta", on_block_delta},
    {"content_block_start", on_block_start},
    {"message_start", on_message_start},
    {"message_delta", on_message_delta},
    {"message_stop", on_message_stop},
    {"error", on_error},
    {"message", on_message},
};

static void
take_object(struct anthropic_assembler *assembler, const char *name, struct json_object *object)
{
	const char *type = json_member_text(object, "type", name);
	size_t i;

	for (i = 0; i < sizeof events / sizeof events[0]; i++) {
		if (strcmp(events[i].type, type) == 0) {
			events[i].take(assembler, object);
			return;
		}
	}
	/* Gateways report errors in forms of their own; pings and what is new mean nothing. */
	if (json_has(object, "error"))
		on_error(assembler, object);
}

/* --- one event --------------------------------------------------------------------------- */

/* Makes a pattern of an event that only added one text. */
static void
learn(struct anthropic_assembler *assembler, struct json_object *event, const char *data,
    size_t length)
{
	struct json_object *delta = json_member_object(event, "delta"), *string;
	const char *type = json_member_text(delta, "type", "");
	struct anthropic_block *block;
	size_t i;

	delta_pattern_forget(&assembler->pattern);
	if (assembler->blocks.armoured ||
	    strcmp(json_member_text(event, "type", ""), "content_block_delta") != 0)
		return;
	for (i = 0; i < sizeof deltas / sizeof deltas[0]; i++) {
		string = json_member(delta, deltas[i].key);
		if (deltas[i].signature || strcmp(deltas[i].type, type) != 0 ||
		    !json_object_is_type(string, json_type_string))
			continue;
		block =
		    anthropic_blocks_find(&assembler->blocks, index_of(event), deltas[i].kind);
		if (block == NULL)
			return;
		assembler->pattern_block = (size_t)(block - assembler->blocks.list);
		delta_pattern_learn(&assembler->pattern, data, length, deltas[i].key,
		    json_object_get_string(string), (size_t)json_object_get_string_len(string));
	}
}

/* An event like the one before it, with other text. */
static bool
take_pattern(struct anthropic_assembler *assembler, const char *data, size_t length)
{
	if (!delta_pattern_match(&assembler->pattern, data, length))
		return false;
	assembler->blocks.armoured = false;
	anthropic_blocks_add(&assembler->blocks,
	    &assembler->blocks.list[assembler->pattern_block],
	    buffer_text(&assembler->pattern.text), assembler->pattern.text.length);
	return true;
}

static void
take_json(
    struct anthropic_assembler *assembler, const char *name, const char *data, size_t length)
{
	const char *reason = NULL;
	struct json_object *object =
	    delta_text_parse(data, length, &assembler->blocks.armoured, &reason);

	if (reason != NULL) {
		answer_failure_not_json(&assembler->failure, reason, data, length);
		return;
	}
	take_object(assembler, name, object);
	learn(assembler, object, data, length);
	json_object_put(object);
}

/* An answer that never ends must not fill the memory. */
static bool
goes_on(struct anthropic_assembler *assembler)
{
	if (assembler->blocks.error != NULL)
		answer_failure_set(
		    &assembler->failure, MODEL_ERROR_ANSWER, assembler->blocks.error);
	return !assembler->failure.failed && !assembler->done;
}

bool
anthropic_assembler_event(void *state, const char *name, const char *data, size_t length)
{
	struct anthropic_assembler *assembler = state;

	if (assembler->done || assembler->failure.failed)
		return false;
	if (take_pattern(assembler, data, length))
		return goes_on(assembler);
	delta_text_trim(&data, &length);
	if (length > 0 && *data == '{')
		take_json(assembler, name, data, length);
	else if (strcmp(name, "error") == 0)
		answer_failure_text(&assembler->failure, data, length);
	else if (strcmp(name, "message_stop") == 0 || delta_text_is_done(data, length))
		assembler->done = true;
	return goes_on(assembler);
}

const char *
anthropic_assembler_body(void *state, const char *data, size_t length)
{
	struct anthropic_assembler *assembler = state;
	const char *reason = NULL;
	struct json_object *object =
	    delta_text_parse(data, length, &assembler->blocks.armoured, &reason);

	if (reason == NULL)
		take_object(assembler, "", object);
	json_object_put(object);
	goes_on(assembler);
	return reason;
}

/* --- the end ----------------------------------------------------------------------------- */

static enum answer_state
state_of(const struct anthropic_assembler *assembler)
{
	if (assembler->failure.failed)
		return ANSWER_FAILED;
	if (assembler->has_finish || (assembler->done && assembler->blocks.payload))
		return ANSWER_COMPLETE;
	return assembler->started && !assembler->done ? ANSWER_PART : ANSWER_NOTHING;
}

/* The reason for the end; calls count for more than the word "end_turn". */
static enum finish_reason
finish_of(const struct anthropic_assembler *assembler)
{
	if (!assembler->has_finish || assembler->finish == FINISH_STOP ||
	    assembler->finish == FINISH_TOOL_CALLS)
		return assembler->blocks.calls.count > 0 ? FINISH_TOOL_CALLS : FINISH_STOP;
	return assembler->finish;
}

/* The API counts what it reads from its cache and writes to it apart from the input. */
static struct model_usage
usage_of(const struct anthropic_assembler *assembler)
{
	struct model_usage usage = assembler->usage;

	if (usage.input_tokens >= 0) {
		if (usage.cache_read_tokens > 0)
			usage.input_tokens += usage.cache_read_tokens;
		if (usage.cache_write_tokens > 0)
			usage.input_tokens += usage.cache_write_tokens;
	}
	return usage;
}

enum answer_state
anthropic_assembler_end(void *state, struct model_answer *answer)
{
	struct anthropic_assembler *assembler = state;
	enum answer_state ended = state_of(assembler);
	struct chat_reasoning reasoning = {0};

	anthropic_blocks_end(&assembler->blocks);
	memset(answer, 0, sizeof *answer);
	answer->retry_after_ms = -1;
	answer->finish = ended == ANSWER_COMPLETE ? finish_of(assembler) : FINISH_ERROR;
	if (ended == ANSWER_FAILED)
		answer_failure_move(&assembler->failure, answer);
	else if (ended == ANSWER_COMPLETE && assembler->remark != NULL)
		answer->message = xstrdup(assembler->remark);
	answer->usage = usage_of(assembler);
	reasoning.details = anthropic_blocks_details(
	    &assembler->blocks, assembler->model != NULL ? assembler->model : "");
	chat_calls_finish(&assembler->blocks.calls, answer);
	answer->extra = chat_reasoning_extra(&reasoning, &assembler->blocks.output.thoughts);
	chat_reasoning_free(&reasoning);
	return ended;
}
