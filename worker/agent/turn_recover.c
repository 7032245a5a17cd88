/*
 * Going on with a dead process's turn. A call that was started is never started again: its
 * outcome is unknown, and the model is told so.
 */
#include <config.h>

#include "worker/agent/turn_recover.h"
#include "worker/agent/call_text.h"
#include "worker/agent/display.h"
#include "common/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool
has_role(struct json_object *message, const char *role)
{
	return strcmp(json_member_text(message, "role", ""), role) == 0;
}

static struct json_object *
message_at(struct turn *turn, size_t index)
{
	return json_object_array_get_idx(
	    conversation_messages(turn->agent->conversation), index);
}

/* The partial answer that the client saw becomes an answer, and the model is told to go on. */
static void
keep_partial(struct turn *turn, struct json_object *partial, const char *text, size_t length)
{
	struct agent *agent = turn->agent;
	struct buffer whole = BUFFER_EMPTY;
	struct json_object *answer;

	buffer_append_text(&whole, json_member_text(partial, "content", ""));
	buffer_append(&whole, text, length);
	answer = conversation_assistant(buffer_text(&whole), whole.length, NULL, NULL, 0);
	json_set(answer, DISPLAY_MEMBER,
	    json_object_get(json_member_object(partial, DISPLAY_MEMBER)));
	if (partial != NULL)
		conversation_truncate(
		    agent->conversation, conversation_length(agent->conversation) - 1);
	conversation_append(agent->conversation, answer);
	turn_save_answer(turn, answer, false, turn_on_saved, agent);
	json_object_put(answer);
	buffer_free(&whole);
	turn_ask_to_go_on(turn);
}

static bool
is_started(struct json_object *calls, const char *id)
{
	size_t count = calls != NULL ? json_object_array_length(calls) : 0, i;
	struct json_object *call;

	for (i = 0; i < count; i++) {
		call = json_object_array_get_idx(calls, i);
		if (strcmp(json_member_text(call, "id", ""), id) == 0)
			return json_member_boolean(call, "started", true);
	}
	return false;
}

/* The message that answers a call, NULL when there is none. */
static struct json_object *
find_answer(struct turn *turn, size_t from, const char *id)
{
	size_t count = conversation_length(turn->agent->conversation), i;

	for (i = from; i < count; i++)
		if (strcmp(json_member_text(message_at(turn, i), "tool_call_id", ""), id) == 0)
			return message_at(turn, i);
	return NULL;
}

/* A call that has its result, or the mark of one that is not known: its card is closed. */
static void
close_card(struct turn *turn, struct json_object *answer, const char *id)
{
	const struct output *output = &turn->agent->output;
	struct json_object *display = json_member_object(answer, DISPLAY_MEMBER);
	bool unknown = strcmp(json_member_text(answer, "_effect", ""), "unknown") == 0;

	output->lost_card(id, unknown || json_member_boolean(display, "failed", false),
	    unknown ? call_text_unknown : "Done. (The process that ran it has died since.)",
	    output->arg);
}

static void
answer_unknown(struct turn *turn, const char *id, const char *name)
{
	struct agent *agent = turn->agent;
	struct json_object *message = call_text_unknown_result(id, name);

	json_set_text(message, "_effect", "unknown");
	display_failed_call(message, name, call_text_unknown);
	conversation_append(agent->conversation, message);
	agent->output.saving(agent->output.arg);
	store_call_result(agent->store, message, turn_on_saved, agent);
	agent->output.lost_card(id, true, call_text_unknown, agent->output.arg);
	json_object_put(message);
}

/* Calls without a result: those that were started are answered, the others make a batch. */
static enum recover_next
take_calls(struct turn *turn, size_t index, struct json_object *open)
{
	struct json_object *list = json_member_array(message_at(turn, index), "tool_calls");
	size_t count = list != NULL ? json_object_array_length(list) : 0, left = 0, i;
	struct model_tool_call *calls = xcalloc(count, sizeof *calls);
	char **ids = xcalloc(count, sizeof *ids);
	struct json_object *call, *function, *answer;
	enum recover_next next = RECOVER_REQUEST;

	for (i = 0; i < count; i++) {
		call = json_object_array_get_idx(list, i);
		function = json_member_object(call, "function");
		ids[left] = (char *)(uintptr_t)json_member_text(call, "id", "");
		calls[left].id = ids[left];
		calls[left].name = (char *)(uintptr_t)json_member_text(function, "name", "");
		calls[left].arguments =
		    (char *)(uintptr_t)json_member_text(function, "arguments", "");
		answer = find_answer(turn, index + 1, ids[left]);
		if (answer != NULL)
			close_card(turn, answer, ids[left]);
		else if (is_started(open, ids[left]))
			answer_unknown(turn, ids[left], calls[left].name);
		else
			left++;
	}
	if (left > 0) {
		turn->batch = call_batch_new(turn, calls, left, ids);
		next = RECOVER_CALLS;
	}
	free(calls);
	free(ids);
	return next;
}

uint64_t
turn_recover_texts(struct agent *agent)
{
	struct json_object *messages = conversation_messages(agent->conversation), *message;
	size_t i = conversation_length(agent->conversation);

	while (i-- > 0) {
		message = json_object_array_get_idx(messages, i);
		if (has_role(message, "assistant"))
			return display_texts(message);
		if (has_role(message, "user") &&
		    !json_member_boolean(
			json_member_object(message, DISPLAY_MEMBER), "hidden", false))
			break;
	}
	return 0;
}

bool
turn_recover_has_prompt(struct agent *agent, struct json_object *prompt)
{
	struct json_object *messages = conversation_messages(agent->conversation), *last;
	size_t count = conversation_length(agent->conversation);

	last = count > 0 ? json_object_array_get_idx(messages, count - 1) : NULL;
	return has_role(last, "user") &&
	       json_object_equal(
		   json_member(last, "content"), json_member(prompt, "content")) &&
	       json_object_equal(
		   json_member(last, DISPLAY_MEMBER), json_member(prompt, DISPLAY_MEMBER));
}

enum recover_next
turn_recover_prepare(
    struct turn *turn, const char *text, size_t length, struct json_object *calls)
{
	size_t count = conversation_length(turn->agent->conversation), index = count;
	struct json_object *last = message_at(turn, count - 1), *partial = NULL;

	if (has_role(last, "assistant") && json_member_boolean(last, "_partial", false))
		partial = last;
	if (partial != NULL || length > 0) {
		keep_partial(turn, partial, text, length);
		return RECOVER_REQUEST;
	}
	while (index > 0 && has_role(message_at(turn, index - 1), "tool"))
		index--;
	if (index > 0 && has_role(message_at(turn, index - 1), "assistant")) {
		if (json_has(message_at(turn, index - 1), "tool_calls"))
			return take_calls(turn, index - 1, calls);
		return RECOVER_DONE;
	}
	return RECOVER_REQUEST;
}
