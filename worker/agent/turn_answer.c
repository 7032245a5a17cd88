/*
 * A finished answer of the model: what becomes of it. A failure must never look like a
 * normal end, and no call of an answer that is not whole may run.
 */
#include <config.h>

#include "worker/agent/turn_internal.h"
#include "common/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EMPTY_ANSWERS_MAX 2
#define UNUSABLE_CALLS_MAX 3
#define INTERNAL_ERROR (-32603)
#define AUTH_REQUIRED (-32000)

/* The answer as a message of the conversation, if there is anything in it. */
static void
keep_answer(struct turn *turn, const struct model_answer *answer)
{
	struct json_object *message;

	if (turn->text.answer.length == 0)
		return;
	message = conversation_assistant(turn->text.answer.data, turn->text.answer.length,
	    answer->extra, NULL, 0);
	conversation_append(turn->agent->conversation, message);
	store_append_assistant(turn->agent->store, message, turn_on_saved, turn->agent);
	json_object_put(message);
}

static bool
is_blank(const struct buffer *text)
{
	const char *at = buffer_text(text);

	return at[strspn(at, " \t\r\n")] == '\0';
}

/* The model takes no pictures: once again without them, and never with them again. */
static bool
retry_without_images(struct turn *turn, const struct model_answer *answer)
{
	if (answer->error != MODEL_ERROR_IMAGE || !turn->agent->images)
		return false;
	turn->agent->images = false;
	turn_text_say(turn, "The model does not take images; it was asked again without them.\n\n");
	turn->up->request(turn);
	return true;
}

static void
failed(struct turn *turn, const struct model_answer *answer)
{
	const char *message = answer->message != NULL ? answer->message : "The request failed";

	if (retry_without_images(turn, answer))
		return;
	keep_answer(turn, answer);
	turn_fail(turn, answer->error == MODEL_ERROR_AUTH ? AUTH_REQUIRED : INTERNAL_ERROR,
	    message, message);
}

/* Nothing came: asked again, then said so. */
static void
empty(struct turn *turn, const struct model_answer *answer)
{
	if (turn->text.thought.length > 0) {
		turn_text_say(turn, "(The model gave its reasoning but no answer.)");
		turn_finish(turn, STOP_REASON_END_TURN);
		return;
	}
	(void)answer;
	if (turn->empty_answers++ < EMPTY_ANSWERS_MAX) {
		turn->up->request(turn);
		return;
	}
	turn_fail(turn, INTERNAL_ERROR, "The model gave an empty answer",
	    "Three requests in a row brought neither text nor a tool call.");
}

static void
refused(struct turn *turn)
{
	if (!turn->text.shown)
		turn_text_say(turn, "The model refused to answer.");
	/* The client drops the exchange from its view, and so do we (ACP, stop reasons). */
	conversation_truncate(turn->agent->conversation, turn->first_message);
	turn_finish(turn, STOP_REASON_REFUSAL);
}

static void
cut_off(struct turn *turn, const struct model_answer *answer)
{
	keep_answer(turn, answer);
	if (!turn->text.shown)
		turn_text_say(turn, "The answer was cut off at the model's output limit.");
	turn_finish(turn, STOP_REASON_MAX_TOKENS);
}

/* Two calls of one answer that are the same to the letter run once (field experience with
 * providers that repeat themselves). */
static size_t
drop_repeated(struct model_tool_call *calls, size_t count)
{
	size_t kept = 0, i, j;

	for (i = 0; i < count; i++) {
		for (j = 0; j < kept; j++)
			if (calls[i].id[0] != '\0' && strcmp(calls[i].id, calls[j].id) == 0 &&
			    strcmp(calls[i].name, calls[j].name) == 0 &&
			    strcmp(calls[i].arguments, calls[j].arguments) == 0)
				break;
		if (j == kept)
			calls[kept++] = calls[i];
	}
	return kept;
}

static bool
is_object_text(const char *text)
{
	const char *reason;
	struct json_object *value = json_parse(text, strlen(text), &reason);
	bool object = json_object_is_type(value, json_type_object);

	json_object_put(value);
	return object;
}

/* Arguments that strict providers take back: an object's text. What the model wrote is kept
 * where it is one, else it goes into the object as text. */
static char *
storable_arguments(const char *arguments)
{
	struct json_object *value;
	char *text;

	if (arguments[strspn(arguments, " \t\r\n")] == '\0' || strcmp(arguments, "null") == 0)
		return xstrdup("{}");
	if (is_object_text(arguments))
		return xstrdup(arguments);
	value = json_object_new_object();
	json_set(value, "_unparsed", json_new_bytes(arguments, strlen(arguments)));
	text = xstrdup(json_text(value, NULL));
	json_object_put(value);
	return text;
}

/* The calls run once the message that holds them is saved. */
static void
on_calls_saved(const char *error, void *arg)
{
	struct turn *turn = arg;

	turn_on_saved(error, turn->agent);
	if (error != NULL)
		turn_fail(turn, INTERNAL_ERROR, "The answer could not be saved", error);
	else
		call_batch_start(turn->batch);
}

/* The assistant's message with its calls, under ids that are unique in the session. */
static void
keep_calls(struct turn *turn, struct json_object *extra, const struct model_tool_call *calls,
    size_t count, char **ids)
{
	struct model_tool_call *stored = xcalloc(count, sizeof *stored);
	struct json_object *message;
	size_t i;

	for (i = 0; i < count; i++) {
		stored[i] = calls[i];
		stored[i].id = ids[i];
		stored[i].arguments = storable_arguments(calls[i].arguments);
	}
	message = conversation_assistant(buffer_text(&turn->text.answer),
	    turn->text.answer.length, extra, stored, count);
	conversation_append(turn->agent->conversation, message);
	for (i = 0; i < count; i++)
		free(stored[i].arguments);
	free(stored);
	store_append_assistant(turn->agent->store, message, on_calls_saved, turn);
	json_object_put(message);
}

static void
run_calls(struct turn *turn, const struct model_answer *answer)
{
	struct model_tool_call *calls = xcalloc(answer->call_count, sizeof *calls);
	size_t count, i;
	char **ids;

	memcpy(calls, answer->calls, answer->call_count * sizeof *calls);
	count = drop_repeated(calls, answer->call_count);
	ids = xcalloc(count, sizeof *ids);
	for (i = 0; i < count; i++) {
		ids[i] = xstrdup(calls[i].id);
		conversation_claim_id(turn->agent->conversation, &ids[i]);
	}
	turn->state = TURN_RUNNING;
	turn->batch = call_batch_new(turn, calls, count, ids);
	keep_calls(turn, answer->extra, calls, count, ids);
	for (i = 0; i < count; i++)
		free(ids[i]);
	free(ids);
	free(calls);
}

/* True when at least one call of the answer can be used as it is. */
static bool
any_usable(const struct model_answer *answer)
{
	size_t i;

	for (i = 0; i < answer->call_count; i++)
		if (answer->calls[i].arguments[0] == '\0' ||
		    is_object_text(answer->calls[i].arguments))
			return true;
	return false;
}

static void
with_calls(struct turn *turn, const struct model_answer *answer)
{
	turn->empty_answers = 0;
	turn->unusable_calls = any_usable(answer) ? 0 : turn->unusable_calls + 1;
	if (turn->unusable_calls > UNUSABLE_CALLS_MAX) {
		turn_fail(turn, INTERNAL_ERROR, "The model's tool calls could not be used",
		    "Several answers in a row had tool calls whose arguments were not complete "
		    "JSON.");
		return;
	}
	run_calls(turn, answer);
}

void
turn_answer(struct turn *turn, const struct model_answer *answer)
{
	switch (answer->finish) {
	case FINISH_ERROR:
		failed(turn, answer);
		return;
	case FINISH_REFUSAL:
		refused(turn);
		return;
	case FINISH_LENGTH:
		cut_off(turn, answer);
		return;
	case FINISH_TOOL_CALLS:
	case FINISH_STOP:
		break;
	}
	if (answer->call_count > 0) {
		with_calls(turn, answer);
	} else if (is_blank(&turn->text.answer) && !turn->text.shown) {
		empty(turn, answer);
	} else if (is_blank(&turn->text.answer) && turn->text.thought.length > 0) {
		empty(turn, answer);
	} else {
		keep_answer(turn, answer);
		turn_finish(turn, STOP_REASON_END_TURN);
	}
}
