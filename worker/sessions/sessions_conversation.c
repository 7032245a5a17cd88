/*
 * Reading one session. Nothing is written, and no lock is held when it is shown.
 */
#include <config.h>

#include "worker/sessions/sessions_conversation.h"
#include "worker/sessions/sessions_message.h"
#include "worker/sessions/sessions_output.h"
#include "worker/store/state_lease.h"
#include "worker/store/state_messages.h"
#include "worker/store/state_overview.h"
#include "worker/store/state_session.h"
#include "worker/store/state_time.h"

#include <stdlib.h>
#include <string.h>

struct reading {
	const char *id;
	struct sessions_conversation *conversation;
};

void
sessions_conversation_clear(struct sessions_conversation *conversation)
{
	json_object_put(conversation->session);
	json_object_put(conversation->messages);
	conversation->session = conversation->messages = NULL;
}

static void
copy_text(struct json_object *to, const char *key, struct json_object *from, const char *name)
{
	const char *text = json_member_string(from, name);

	if (text != NULL && text[0] != '\0')
		json_set_text(to, key, text);
}

static void
copy_number(struct json_object *to, const char *key, struct json_object *from, const char *name)
{
	int64_t value = 0;

	json_member_integer(from, name, &value);
	json_set_integer(to, key, value);
}

static void
add_usage(struct json_object *session, struct json_object *row)
{
	struct json_object *tokens = json_object_new_object();
	double cost = 0;

	copy_number(session, "requests", row, "api_call_count");
	copy_number(tokens, "input", row, "input_tokens");
	copy_number(tokens, "output", row, "output_tokens");
	copy_number(tokens, "cacheRead", row, "cache_read_tokens");
	copy_number(tokens, "cacheWrite", row, "cache_write_tokens");
	copy_number(tokens, "reasoning", row, "reasoning_tokens");
	json_set(session, "tokens", tokens);
	if (json_member_double(row, "estimated_cost_usd", &cost))
		json_set(session, "costUsd", json_object_new_double(cost));
}

static void
add_counts(struct json_object *session, struct json_object *messages)
{
	size_t i, count = json_object_array_length(messages);
	struct json_object *message, *calls;
	int64_t prompts = 0, made = 0;

	for (i = 0; i < count; i++) {
		message = json_object_array_get_idx(messages, i);
		calls = json_member_array(message, "tool_calls");
		made += calls != NULL ? (int64_t)json_object_array_length(calls) : 0;
		if (sessions_message_kind(message) == SESSIONS_MESSAGE_PROMPT)
			prompts++;
	}
	json_set_integer(session, "prompts", prompts);
	json_set_integer(session, "toolCalls", made);
}

static void
add_row(struct json_object *session, struct json_object *row)
{
	struct json_object *config = json_member_object(row, "config");
	double started = 0, ended = 0;

	copy_text(session, "provider", row, "billing_provider");
	if (!json_has(session, "provider"))
		copy_text(session, "provider", config, "provider");
	copy_text(session, "mode", config, "mode");
	copy_text(session, "parentSessionId", row, "parent_session_id");
	json_member_double(row, "started_at", &started);
	json_set(session, "_started", json_object_new_double(started));
	if (json_member_double(row, "ended_at", &ended))
		state_time_set(session, "endedAt", ended);
	copy_text(session, "endReason", row, "end_reason");
}

static int
run_read(struct state *state, void *arg, struct buffer *error)
{
	struct reading *reading = arg;
	struct sessions_conversation *conversation = reading->conversation;
	struct json_object *row = NULL;
	char *holder = NULL;
	int code;

	(void)error;
	sessions_conversation_clear(conversation);
	code = state_overview_one(state, reading->id, &conversation->session);
	if (code == SQLITE_OK)
		code = state_session_read_any(state, reading->id, &row);
	if (code == SQLITE_OK)
		code = state_messages_load_whole(state, reading->id, &conversation->messages);
	if (code == SQLITE_OK)
		code = state_lease_other(state, reading->id, NULL, &holder);
	if (code == SQLITE_OK) {
		add_row(conversation->session, row);
		if (holder != NULL)
			json_set_text(conversation->session, "holder", holder);
		add_counts(conversation->session, conversation->messages);
		add_usage(conversation->session, row);
	}
	free(holder);
	json_object_put(row);
	return code;
}

int
sessions_conversation_read(struct sessions_database *database, const char *id,
    struct sessions_conversation *conversation)
{
	struct reading reading = {id, conversation};
	int code = sessions_database_run(database, false, run_read, &reading);

	if (code == SQLITE_NOTFOUND)
		sessions_output_complain("there is no session %s", id);
	return code == SQLITE_OK ? 0 : -1;
}
