/*
 * A finished answer of the model: what becomes of it. A failure must never look like a
 * normal end, and no call of an answer that is not whole may run.
 */
#include <config.h>

#include "worker/agent/agent_model.h"
#include "worker/agent/call_text.h"
#include "worker/agent/model_route.h"
#include "worker/agent/turn_internal.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY_ANSWERS_MAX 2
#define CUT_ANSWERS_MAX 3
#define UNUSABLE_CALLS_MAX 3
#define INTERNAL_ERROR (-32603)
#define AUTH_REQUIRED (-32000)

static void
keep(struct turn *turn, struct json_object *extra, bool partial)
{
	struct json_object *message;

	if (turn->text.answer.length == 0)
		return;
	message = turn_text_message(turn, extra, NULL, 0);
	conversation_append(turn->agent->conversation, message);
	turn_save_answer(turn, message, partial, turn_on_saved, turn->agent);
	json_object_put(message);
}

/* The answer as a message of the conversation, if there is anything in it. */
static void
keep_answer(struct turn *turn, struct json_object *extra)
{
	keep(turn, extra, false);
}

/* The turn fails with what there is of an answer. It stands as cut off until the turn's end is
 * saved: a successor that finds it so must not take it for the end. */
static void
keep_failed_answer(struct turn *turn, struct json_object *extra)
{
	keep(turn, extra, true);
}

/* Why there is no more of the answer, as its last words. */
static void
explain(struct turn *turn, const char *text)
{
	if (turn->text.answer.length > 0)
		turn_text_add(turn, OUTPUT_TEXT, "\n\n", 2);
	turn_text_add(turn, OUTPUT_TEXT, text, strlen(text));
	turn_text_flush(turn, true);
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
	turn_text_say(turn, OUTPUT_TEXT,
	    "The model does not take images; it was asked again without them.\n\n");
	turn->up->request(turn);
	return true;
}

/* The history holds thinking of another model, or some that was changed: once again without
 * it, and never with it again, so that the session does not end here. */
static bool
retry_without_thinking(struct turn *turn, const struct model_answer *answer)
{
	if (answer->error != MODEL_ERROR_THINKING ||
	    turn->agent->reasoning == REQUEST_REASONING_NONE || turn->text.shown)
		return false;
	turn->agent->reasoning = REQUEST_REASONING_NONE;
	turn->up->request(turn);
	return true;
}

/* The user chose another model while this one was asked, which says nothing of the other. */
static bool
retry_with_chosen_model(struct turn *turn, const struct runtime *asked)
{
	if (turn->text.answer.length > 0 || agent_uses_model(turn->agent, asked))
		return false;
	turn->up->request(turn);
	return true;
}

/* The next model of the chain, unless some of the answer was read already. */
static bool
retry_with_next_model(struct turn *turn, const struct model_answer *answer)
{
	struct agent *agent = turn->agent;
	struct buffer notice = BUFFER_EMPTY;
	struct runtime next;
	bool found = turn->text.answer.length == 0 &&
		     model_route_next(agent->route, &agent->runtime, answer, &next, &notice);

	if (found) {
		agent_use_model(agent, &next);
		runtime_clear(&next);
		turn_text_notice(turn, buffer_text(&notice));
		turn->up->request(turn);
	}
	buffer_free(&notice);
	return found;
}

/* Nothing helped. Where several models were asked, each is named with what it said. */
static void
give_up(struct turn *turn, const struct model_answer *answer)
{
	const char *details = answer->message != NULL ? answer->message : "The request failed";
	const char *message = details;
	struct buffer failures = BUFFER_EMPTY;

	model_route_failures(turn->agent->route, &failures);
	if (answer->error == MODEL_ERROR_TOO_LONG)
		message = "The conversation is too long for the model; go on in a new session";
	if (failures.length > 0) {
		message = "None of the models answered";
		details = buffer_text(&failures);
	}
	turn_fail(turn,
	    answer->error == MODEL_ERROR_AUTH && failures.length == 0 ? AUTH_REQUIRED
								      : INTERNAL_ERROR,
	    message, details);
	buffer_free(&failures);
}

/* The window was full: what there is of the answer is all that can be had. */
static bool
stay_cut(struct turn *turn, const struct model_answer *answer)
{
	if (answer->error != MODEL_ERROR_TOO_LONG || turn->cut_answers == 0 ||
	    turn->text.answer.length > 0)
		return false;
	turn_finish(turn, STOP_REASON_MAX_TOKENS);
	return true;
}

static void
failed(struct turn *turn, const struct model_answer *answer, const struct runtime *asked)
{
	if (stay_cut(turn, answer) || retry_with_chosen_model(turn, asked) ||
	    retry_without_images(turn, answer) || retry_without_thinking(turn, answer) ||
	    retry_with_next_model(turn, answer))
		return;
	keep_failed_answer(turn, answer->extra);
	give_up(turn, answer);
}

/* Nothing came: asked again, then said so. What was cut off at its very end needs no more. */
static void
empty(struct turn *turn, const struct model_answer *answer)
{
	if (turn->continued) {
		turn_finish(turn, STOP_REASON_END_TURN);
		return;
	}
	if (turn->empty_answers++ < EMPTY_ANSWERS_MAX) {
		turn->up->request(turn);
		return;
	}
	if (turn->text.thought.length > 0) {
		explain(turn, "(The model gave its reasoning but no answer.)");
		keep_answer(turn, answer->extra);
		turn_finish(turn, STOP_REASON_END_TURN);
		return;
	}
	turn_fail(turn, INTERNAL_ERROR, "The model gave an empty answer",
	    "Three requests in a row brought neither text nor a tool call.");
}

void
turn_answer_limit(struct turn *turn)
{
	char *text = xasprintf("Stopped after %lld model requests, the limit for one turn.",
	    (long long)turn->requests);

	turn_text_reset(turn);
	explain(turn, text);
	free(text);
	keep_answer(turn, NULL);
	turn_finish(turn, STOP_REASON_MAX_TURN_REQUESTS);
}

static void
refused(struct turn *turn)
{
	if (!turn->text.shown)
		turn_text_say(turn, OUTPUT_TEXT, "The model refused to answer.");
	/* The client drops the exchange from its view, and so do we (ACP, stop reasons). */
	conversation_truncate(turn->agent->conversation, turn->first_message);
	turn->agent->output.saving(turn->agent->output.arg);
	store_drop_exchange(turn->agent->store, turn_on_saved, turn->agent);
	turn_finish(turn, STOP_REASON_REFUSAL);
}

/* The model is asked to go on with what it said (as in Hermes). What was cut off within calls
 * is not: nobody knows what they would have been. */
static bool
go_on(struct turn *turn, const struct model_answer *answer)
{
	if (answer->message != NULL || answer->call_count > 0 || is_blank(&turn->text.answer) ||
	    turn->cut_answers >= CUT_ANSWERS_MAX)
		return false;
	turn->cut_answers++;
	keep_answer(turn, answer->extra);
	turn_ask_to_go_on(turn);
	turn_text_resume(turn);
	turn->up->request(turn);
	return true;
}

static void
cut_off(struct turn *turn, const struct model_answer *answer)
{
	if (go_on(turn, answer))
		return;
	if (answer->message != NULL)
		explain(turn, answer->message);
	else if (turn->text.thought.length > 0 && is_blank(&turn->text.answer))
		explain(turn,
		    "The model used up its output limit with thinking and gave no answer. Set "
		    "a lower agent.reasoning_effort or a higher model.max_tokens in "
		    "config.yaml.");
	else if (!turn->text.shown && !turn->continued)
		explain(turn, "The answer was cut off at the model's output limit.");
	keep_answer(turn, answer->extra);
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

/* The calls run once the message that holds them is saved. */
static void
on_calls_saved(const char *error, void *arg)
{
	struct turn *turn = arg;

	turn_on_saved(error, turn->agent);
	if (error != NULL && !store_keeps(turn->agent->store))
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
		stored[i].name = call_text_name(calls[i].name);
		stored[i].arguments = call_text_storable(calls[i].arguments);
	}
	message = turn_text_message(turn, extra, stored, count);
	conversation_append(turn->agent->conversation, message);
	for (i = 0; i < count; i++) {
		free(stored[i].name);
		free(stored[i].arguments);
	}
	free(stored);
	turn_save_answer(turn, message, false, on_calls_saved, turn);
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

static bool
is_usable(const struct model_tool_call *call)
{
	char error[256];
	struct json_object *arguments;

	if (tool_find(call->name) == NULL)
		return false;
	arguments = call_text_arguments(call->arguments, error, sizeof error);
	json_object_put(arguments);
	return arguments != NULL;
}

static bool
any_usable(const struct model_answer *answer)
{
	size_t i;

	for (i = 0; i < answer->call_count; i++)
		if (is_usable(&answer->calls[i]))
			return true;
	return false;
}

static void
with_calls(struct turn *turn, const struct model_answer *answer)
{
	turn->empty_answers = 0;
	turn->continued = false;
	turn->cut_answers = 0;
	turn->unusable_calls = any_usable(answer) ? 0 : turn->unusable_calls + 1;
	if (turn->unusable_calls > UNUSABLE_CALLS_MAX) {
		keep_failed_answer(turn, answer->extra);
		turn_fail(turn, INTERNAL_ERROR, "The model's tool calls could not be used",
		    "Several answers in a row had only calls of tools that do not exist, or "
		    "with "
		    "arguments that are not complete JSON.");
		return;
	}
	run_calls(turn, answer);
}

void
turn_answer(struct turn *turn, const struct model_answer *answer, const struct runtime *asked)
{
	switch (answer->finish) {
	case FINISH_ERROR:
		failed(turn, answer, asked);
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
		keep_answer(turn, answer->extra);
		turn_finish(turn, STOP_REASON_END_TURN);
	}
}
