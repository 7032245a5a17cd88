/*
 * Messages to a session's worker: one function each.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/acp/client_calls.h"
#include "worker/acp/encode_v1.h"
#include "worker/acp/turn_output.h"
#include "worker/agent/display.h"
#include "worker/agent/prompt_content.h"
#include "worker/agent/slash_commands.h"
#include "worker/agent/system_prompt.h"
#include "worker/agent/undo_turn.h"
#include "worker/store/checkpoints.h"
#include "worker/tools/memory.h"
#include "worker/supervisor_link.h"
#include "common/alloc.h"
#include "common/identifier.h"
#include "common/log.h"
#include "common/wire.h"

#include <stdlib.h>
#include <string.h>

#define INVALID_PARAMS (-32602)
#define METHOD_NOT_FOUND (-32601)

struct message {
	uint32_t request, turn;
	const char *payload;
	size_t length;
};

static struct json_object *
parse(const char *payload, size_t length)
{
	const char *reason;
	struct json_object *value = json_parse(payload, length, &reason);

	if (value == NULL && reason != NULL)
		log_error("worker", "a payload could not be read: %s", reason);
	return value;
}

static void
say(struct worker *worker, const char *text, size_t length)
{
	char id[IDENTIFIER_SIZE];
	const struct output *output = &worker->agent.output;

	identifier_uuid(id);
	output->say(OUTPUT_TEXT, id, text, length, output->arg);
}

static void
fail_turn(struct worker *worker, const char *text)
{
	const struct turn_end end = {.code = INVALID_PARAMS, .message = text, .details = text};

	worker->agent.output.finished(&end, worker->agent.output.arg);
}

/* Edits of this turn are undone together, also those of a process that goes on with it. */
static void
begin_checkpoints(struct worker *worker, uint32_t turn, bool again)
{
	char *key = xasprintf("%s:%lu", worker->opening_id, (unsigned long)turn);

	checkpoints_turn(worker->agent.tools.checkpoints, key, again);
	free(key);
}

/* A slash command as a turn of its own. */
static bool
run_command(struct worker *worker, struct json_object *blocks)
{
	static const struct turn_end end = {.reason = STOP_REASON_END_TURN};
	struct agent *agent = &worker->agent;
	struct buffer reply = BUFFER_EMPTY;
	bool found = slash_command_run(agent, prompt_content_first_text(blocks), &reply);

	if (found) {
		say(worker, buffer_text(&reply), reply.length);
		agent->output.usage(agent_context_tokens(agent), agent->runtime.context_length,
		    &agent->usage, agent->output.arg);
		agent->output.finished(&end, agent->output.arg);
	}
	buffer_free(&reply);
	return found;
}

static void
on_turn_start(struct worker *worker, const struct message *message)
{
	struct agent *agent = &worker->agent;
	struct json_object *params = parse(message->payload, message->length), *content, *user;
	struct json_object *blocks = json_member(params, "prompt");
	struct buffer error = BUFFER_EMPTY;

	session_stop_title(worker);
	turn_output_begin(worker->output, message->turn, 0);
	begin_checkpoints(worker, message->turn, message->request != 0);
	session_tell_notes(worker);
	if (params == NULL) {
		fail_turn(worker, "The prompt could not be read: it is nested too deeply");
		goto done;
	}
	if (run_command(worker, blocks) ||
	    slash_command_turn(agent, prompt_content_first_text(blocks), blocks))
		goto done;
	content = prompt_content_build(blocks, worker->cwd, &error);
	if (content == NULL) {
		fail_turn(worker, buffer_text(&error));
		goto done;
	}
	if (agent->system_prompt == NULL) {
		agent->system_prompt = system_prompt_build(agent);
		session_save_description(worker);
	}
	user = conversation_user(content);
	display_prompt(user, blocks);
	memory_turn_began(agent->tools.memory);
	if (message->request != 0 && turn_recover_has_prompt(agent, user)) {
		json_object_put(user);
		turn_recover(agent, "", 0, NULL);
	} else {
		turn_start(agent, user);
		session_look_for_title(worker);
	}
done:
	buffer_free(&error);
	json_object_put(params);
}

/* The text that the client has seen and nobody has saved; how many pieces the turn had. A
 * process may have died between a save and telling it: what the answer holds is left out. */
static uint64_t
tail_text(struct worker *worker, struct json_object *value, struct buffer *text)
{
	struct json_object *texts = encode_v1_texts(json_member_array(value, "tail"));
	uint64_t count = json_object_array_length(texts), i;
	uint64_t saved = turn_recover_texts(&worker->agent);
	struct json_object *piece;
	int64_t first = 0;

	json_member_integer(value, "first", &first);
	for (i = 0; i < count; i++) {
		piece = json_object_array_get_idx(texts, i);
		if ((uint64_t)first + i >= saved)
			buffer_append(text, json_object_get_string(piece),
			    (size_t)json_object_get_string_len(piece));
	}
	json_object_put(texts);
	return (uint64_t)first + count;
}

static void
on_turn_recover(struct worker *worker, const struct message *message)
{
	struct agent *agent = &worker->agent;
	struct json_object *value = parse(message->payload, message->length);
	struct json_object *calls = json_member_array(value, "calls");
	size_t count = calls != NULL ? json_object_array_length(calls) : 0, i;
	struct buffer text = BUFFER_EMPTY;

	turn_output_begin(worker->output, message->turn, tail_text(worker, value, &text));
	for (i = 0; i < count; i++)
		turn_output_open_card(worker->output,
		    json_member_text(json_object_array_get_idx(calls, i), "id", ""));
	begin_checkpoints(worker, message->turn, true);
	if (undo_turn_recover(agent, calls))
		goto done;
	if (conversation_length(agent->conversation) == 0) {
		const struct turn_end end = {.code = -32603,
		    .message = "The session's process died and nothing of the turn was saved"};

		agent->output.finished(&end, agent->output.arg);
	} else {
		if (agent->system_prompt == NULL)
			agent->system_prompt = system_prompt_build(agent);
		turn_recover(agent, buffer_text(&text), text.length, calls);
	}
done:
	buffer_free(&text);
	json_object_put(value);
}

static void
on_turn_cancel(struct worker *worker, const struct message *message)
{
	if (message->turn == turn_output_turn(worker->output))
		turn_cancel(&worker->agent);
}

static void
on_command(struct worker *worker, const struct message *message)
{
	static const char result[] = "{\"stopReason\":\"end_turn\"}";
	struct json_object *params = parse(message->payload, message->length);
	struct buffer reply = BUFFER_EMPTY;

	if (slash_command_run(&worker->agent,
		prompt_content_first_text(json_member(params, "prompt")), &reply)) {
		if (worker->agent.turn != NULL)
			turn_say(&worker->agent, buffer_text(&reply));
		else /* it has just ended */
			say(worker, buffer_text(&reply), reply.length);
		link_send(worker->link, TO_SUPERVISOR_RESPONSE, message->request, 0, result,
		    sizeof result - 1);
	} else {
		link_send_failure(worker->link, TO_SUPERVISOR_RESPONSE_ERROR, message->request,
		    0, INVALID_PARAMS, "No such command", NULL, NULL);
	}
	buffer_free(&reply);
	json_object_put(params);
}

/* The mode is set: everybody who shows it is told, and a successor will know it. */
static void
change_mode(struct worker *worker, enum session_mode mode)
{
	struct buffer line = BUFFER_EMPTY;

	worker->agent.tools.mode = mode;
	session_save_description(worker);
	encode_v1_mode(&line, mode);
	link_send(worker->link, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, line.data, line.length);
	buffer_free(&line);
	session_tell_options(worker);
	session_tell_state(worker);
}

static void
refuse(struct worker *worker, uint32_t request, int code, const char *message,
    const char *details, const char *field)
{
	link_send_failure(worker->link, TO_SUPERVISOR_RESPONSE_ERROR, request, 0, code, message,
	    details, field);
}

static void
set_mode(struct worker *worker, uint32_t request, struct json_object *params)
{
	const char *id = json_member_text(params, "modeId", "");
	enum session_mode mode;

	if (!session_mode_parse(id, &mode)) {
		refuse(worker, request, INVALID_PARAMS, "Unknown mode", id, "modeId");
		return;
	}
	change_mode(worker, mode);
	session_answer_saved(worker, request, "{}", 2);
}

static void
set_model(struct worker *worker, uint32_t request, struct json_object *params)
{
	const char *id = json_member_text(params, "modelId", "");
	struct buffer error = BUFFER_EMPTY;

	if (session_choose_model(worker, id, false, &error) == -1)
		refuse(worker, request, INVALID_PARAMS, "The model cannot be used",
		    buffer_text(&error), "modelId");
	else
		session_answer_saved(worker, request, "{}", 2);
	buffer_free(&error);
}

static int
choose_mode(struct worker *worker, const char *value, struct buffer *error)
{
	enum session_mode mode;

	if (!session_mode_parse(value, &mode)) {
		buffer_append_text(error, value);
		return -1;
	}
	change_mode(worker, mode);
	return 0;
}

static int
choose_model(struct worker *worker, const char *value, struct buffer *error)
{
	return session_choose_model(worker, value, false, error);
}

static const struct {
	const char *id;
	int (*choose)(struct worker *, const char *, struct buffer *);
} options[] = {
    {"mode", choose_mode},
    {"model", choose_model},
    {"thought_level", session_choose_level},
};

static void
answer_options(struct worker *worker, uint32_t request)
{
	struct option_values values;
	struct buffer line = BUFFER_EMPTY;

	session_options(worker, &values);
	encode_v1_options_result(&line, &values);
	session_options_clear(&values);
	session_answer_saved(worker, request, line.data, line.length);
	buffer_free(&line);
}

static void
set_config_option(struct worker *worker, uint32_t request, struct json_object *params)
{
	const char *id = json_member_text(params, "configId", "");
	const char *value = json_member_text(params, "value", "");
	struct buffer error = BUFFER_EMPTY;
	size_t i;

	for (i = 0; i < sizeof options / sizeof options[0]; i++)
		if (strcmp(options[i].id, id) == 0)
			break;
	if (i == sizeof options / sizeof options[0])
		refuse(worker, request, INVALID_PARAMS, "Unknown option", id, "configId");
	else if (options[i].choose(worker, value, &error) == -1)
		refuse(worker, request, INVALID_PARAMS, "The value cannot be used",
		    buffer_text(&error), "value");
	else
		answer_options(worker, request);
	buffer_free(&error);
}

static const struct {
	const char *method;
	void (*handle)(struct worker *, uint32_t, struct json_object *);
} requests[] = {
    {"session/set_mode", set_mode},
    {"session/set_config_option", set_config_option},
    {"session/set_model", set_model},
};

static void
on_request(struct worker *worker, const struct message *message)
{
	struct wire_cursor cursor;
	struct json_object *params;
	const char *method, *text;
	size_t method_length, length, i;

	wire_start(&cursor, message->payload, message->length);
	method = wire_get_text(&cursor, &method_length);
	text = wire_get_rest(&cursor, &length);
	for (i = 0; i < sizeof requests / sizeof requests[0]; i++) {
		if (method == NULL || strlen(requests[i].method) != method_length ||
		    memcmp(requests[i].method, method, method_length) != 0)
			continue;
		params = parse(text, length);
		requests[i].handle(worker, message->request, params);
		json_object_put(params);
		return;
	}
	refuse(worker, message->request, METHOD_NOT_FOUND, "Method not found", NULL, NULL);
}

static void
on_client_answer(struct worker *worker, const struct message *message)
{
	struct wire_cursor cursor;
	struct json_object *value;
	const char *text;
	size_t length;
	bool failed;

	wire_start(&cursor, message->payload, message->length);
	failed = wire_get_u8(&cursor) != 0;
	text = wire_get_rest(&cursor, &length);
	value = text != NULL && length <= CLIENT_ANSWER_MAX ? parse(text, length) : NULL;
	client_calls_answer(worker->client_calls, message->request, failed, value);
	json_object_put(value);
}

static const struct {
	enum message_type type;
	void (*handle)(struct worker *, const struct message *);
} handlers[] = {
    {TO_WORKER_TURN_START, on_turn_start},
    {TO_WORKER_TURN_RECOVER, on_turn_recover},
    {TO_WORKER_TURN_CANCEL, on_turn_cancel},
    {TO_WORKER_COMMAND, on_command},
    {TO_WORKER_REQUEST, on_request},
    {TO_WORKER_CLIENT_ANSWER, on_client_answer},
};

void
session_message(struct worker *worker, enum message_type type, uint32_t request, uint32_t turn,
    const char *payload, size_t length)
{
	struct message message = {request, turn, payload, length};
	size_t i;

	for (i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
		if (handlers[i].type == type) {
			handlers[i].handle(worker, &message);
			return;
		}
	log_error("worker", "%s has no handler", message_name(type));
}
