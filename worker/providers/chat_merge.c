/*
 * One object of a Chat Completions answer: choices, deltas, errors, usage. Every member is
 * optional, may be null and may be of any type; what cannot be understood is left out, never
 * guessed.
 */
#include <config.h>

#include "worker/providers/chat_merge.h"
#include "worker/providers/chat_usage.h"

#include <string.h>
#include <strings.h>

void
chat_merge_bytes(
    struct chat_assembler *assembler, bool thought, const char *bytes, size_t length)
{
	assembler->payload = true;
	chat_output_add(&assembler->output, thought, assembler->armoured, bytes, length);
}

void
chat_merge_reasoning_content(struct chat_assembler *assembler, const char *bytes, size_t length)
{
	assembler->reasoning.has_content = true;
	chat_output_repair(&assembler->content_pending, assembler->armoured, bytes, length,
	    &assembler->reasoning.content);
}

static bool
take_string(struct chat_assembler *assembler, struct json_object *string, bool thought)
{
	if (!json_object_is_type(string, json_type_string))
		return false;
	if (json_object_get_string_len(string) > 0) {
		assembler->effects |= thought ? EFFECT_THOUGHT : EFFECT_TEXT;
		chat_merge_bytes(assembler, thought, json_object_get_string(string),
		    (size_t)json_object_get_string_len(string));
	}
	return true;
}

static void
take_refusal(struct chat_assembler *assembler, struct json_object *refusal)
{
	if (!json_object_is_type(refusal, json_type_string) ||
	    json_object_get_string_len(refusal) == 0)
		return;
	assembler->effects |= EFFECT_OTHER;
	assembler->refused = true;
	take_string(assembler, refusal, false);
}

/* Content is a string, a list of parts, or one part. A part is text, a thought (whose text
 * may again be a list) or a refusal. */
static void
take_content(
    struct chat_assembler *assembler, struct json_object *content, bool thought, unsigned depth)
{
	const char *type = json_member_text(content, "type", "");
	size_t i;

	if (take_string(assembler, content, thought) || depth > 4)
		return;
	assembler->single = false;
	if (json_object_is_type(content, json_type_array)) {
		for (i = 0; i < json_object_array_length(content); i++)
			take_content(assembler, json_object_array_get_idx(content, i), thought,
			    depth + 1);
		return;
	}
	if (!json_object_is_type(content, json_type_object))
		return;
	thought = thought || strcmp(type, "thinking") == 0 || strcmp(type, "reasoning") == 0;
	take_refusal(assembler, json_member(content, "refusal"));
	take_content(assembler, json_member(content, "text"), thought, depth + 1);
	take_content(assembler, json_member(content, "thinking"), true, depth + 1);
}

static void
take_reasoning(struct chat_assembler *assembler, struct json_object *delta)
{
	struct json_object *content = json_member(delta, "reasoning_content");
	const char *key = NULL;
	struct json_object *shown = chat_reasoning_shown(delta, &key);
	struct buffer details = BUFFER_EMPTY;

	if (shown != NULL) {
		take_string(assembler, shown, true);
		assembler->key = key;
		assembler->string = shown;
		if (content != NULL && strcmp(key, "reasoning_content") != 0)
			assembler->effects |= EFFECT_OTHER;
	}
	if (json_object_is_type(content, json_type_string))
		chat_merge_reasoning_content(assembler, json_object_get_string(content),
		    (size_t)json_object_get_string_len(content));
	if (json_has(delta, "reasoning_details")) {
		assembler->effects |= EFFECT_OTHER;
		chat_reasoning_details(
		    &assembler->reasoning, delta, shown == NULL ? &details : NULL);
		if (details.length > 0)
			chat_merge_bytes(assembler, true, details.data, details.length);
		buffer_free(&details);
	}
}

static void
take_calls(struct chat_assembler *assembler, struct json_object *delta)
{
	struct json_object *pieces = json_member(delta, "tool_calls");
	struct json_object *function = json_member_object(delta, "function_call");
	struct chat_calls *calls = &assembler->calls;

	calls->armoured = assembler->armoured;
	if (pieces != NULL) {
		chat_calls_merge(calls, pieces);
		assembler->effects |= calls->plain != NULL ? EFFECT_ARGUMENTS : EFFECT_OTHER;
		assembler->key = "arguments";
		assembler->string = calls->plain;
	}
	if (function != NULL) {
		chat_calls_merge_function(calls, function);
		assembler->effects |= EFFECT_OTHER;
	}
	if (calls->count > 0)
		assembler->payload = true;
}

static void
take_delta(struct chat_assembler *assembler, struct json_object *delta)
{
	struct json_object *content = json_member(delta, "content");

	if (!json_object_is_type(delta, json_type_object))
		return;
	take_reasoning(assembler, delta);
	take_refusal(assembler, json_member(delta, "refusal"));
	if (content != NULL) {
		take_content(assembler, content, false, 0);
		if (assembler->key == NULL) {
			assembler->key = "content";
			assembler->string = content;
		}
	}
	take_calls(assembler, delta);
}

static const struct {
	const char *name;
	enum finish_reason finish;
} finishes[] = {
    {"stop", FINISH_STOP},
    {"tool_calls", FINISH_TOOL_CALLS},
    {"function_call", FINISH_TOOL_CALLS},
    {"tool_use", FINISH_TOOL_CALLS},
    {"length", FINISH_LENGTH},
    {"max_tokens", FINISH_LENGTH},
    {"max_output_tokens", FINISH_LENGTH},
    {"model_length", FINISH_LENGTH},
    {"model_context_window_exceeded", FINISH_LENGTH},
    {"content_filter", FINISH_REFUSAL},
    {"refusal", FINISH_REFUSAL},
    {"safety", FINISH_REFUSAL},
    {"prohibited_content", FINISH_REFUSAL},
    {"recitation", FINISH_REFUSAL},
    {"error", FINISH_ERROR},
    {"network_error", FINISH_ERROR},
};

static void
take_finish(struct chat_assembler *assembler, const char *reason)
{
	size_t i;

	if (reason == NULL || reason[0] == '\0')
		return;
	assembler->effects |= EFFECT_OTHER;
	assembler->has_finish = true;
	assembler->finish = FINISH_STOP; /* an unknown reason ends the answer all the same */
	for (i = 0; i < sizeof finishes / sizeof finishes[0]; i++)
		if (strcasecmp(finishes[i].name, reason) == 0)
			assembler->finish = finishes[i].finish;
	if (assembler->finish == FINISH_ERROR)
		answer_failure_set(&assembler->failure, MODEL_ERROR_SERVER,
		    "ended the answer with an error that it did not explain");
}

/* Takes an error object within the answer, when there is one. */
bool
chat_merge_error(struct chat_assembler *assembler, struct json_object *object, bool certain)
{
	struct json_object *error = json_member(object, "error");

	if (!certain && strcmp(json_member_text(object, "type", ""), "error") != 0 &&
	    !(json_object_is_type(error, json_type_object) &&
		json_object_object_length(error) > 0) &&
	    !(json_object_is_type(error, json_type_string) &&
		json_object_get_string_len(error) > 0))
		return false;
	answer_failure_object(&assembler->failure, object);
	return true;
}

static void
take_usage(struct chat_assembler *assembler, struct json_object *object)
{
	struct json_object *usage = json_member_object(object, "usage");

	if (usage == NULL)
		usage = json_member_object(json_member_object(object, "x_groq"), "usage");
	if (usage == NULL)
		return;
	assembler->effects |= EFFECT_OTHER;
	chat_usage_take(&assembler->usage, usage);
}

static void
take_choice(struct chat_assembler *assembler, struct json_object *choice)
{
	struct json_object *delta = json_member(choice, "delta");
	struct json_object *message = json_member(choice, "message");

	assembler->started = true;
	if (delta == NULL && message != NULL && assembler->payload &&
	    json_has(choice, "finish_reason"))
		message = NULL; /* the whole again, after its pieces */
	if (delta == NULL)
		delta = message;
	take_delta(assembler, delta);
	if (delta == NULL)
		take_string(assembler, json_member(choice, "text"), false);
	if (chat_merge_error(assembler, choice, false))
		return;
	take_finish(assembler, json_member_string(choice, "finish_reason"));
}

void
chat_merge_object(struct chat_assembler *assembler, struct json_object *object)
{
	struct json_object *choices = json_member_array(object, "choices"), *choice;
	size_t count = choices != NULL ? json_object_array_length(choices) : 0, i;
	int64_t index;

	assembler->effects = 0;
	assembler->key = NULL;
	assembler->string = NULL;
	assembler->single = true;
	take_usage(assembler, object);
	for (i = 0; i < count; i++) {
		choice = json_object_array_get_idx(choices, i);
		if (!json_object_is_type(choice, json_type_object))
			continue;
		index = 0;
		json_member_integer(choice, "index", &index);
		if (index == 0)
			take_choice(assembler, choice);
		else
			assembler->effects |= EFFECT_OTHER;
	}
	if (count > 1)
		assembler->effects |= EFFECT_OTHER;
	chat_merge_error(assembler, object, false);
}
