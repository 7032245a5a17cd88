/*
 * hermes-acp sessions show: a session in text for a terminal. Texts are set in, so that none of
 * them can look like a heading of ours.
 */
#include <config.h>

#include "worker/sessions/sessions_verbs.h"
#include "worker/sessions/sessions_conversation.h"
#include "worker/sessions/sessions_find.h"
#include "worker/sessions/sessions_message.h"
#include "worker/sessions/sessions_output.h"
#include "common/exit_cause.h"
#include "common/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a tool's result. */
#define RESULT_LINES 6
#define RESULT_WIDTH 160
/* Of a tool's card. */
#define CALL_WIDTH 160

static void
append_field(struct buffer *out, const char *name, const char *value)
{
	buffer_printf(out, "%-9s ", name);
	sessions_output_line(out, value);
	buffer_append_byte(out, '\n');
}

static void
append_time(struct buffer *out, const char *name, struct json_object *session, const char *key)
{
	char text[SESSIONS_TIME_SIZE];
	double time = 0;

	json_member_double(session, key, &time);
	sessions_output_time(text, time, true);
	append_field(out, name, text);
}

static int64_t
number(struct json_object *object, const char *key)
{
	int64_t value = 0;

	json_member_integer(object, key, &value);
	return value;
}

static void
append_model(struct buffer *out, struct json_object *session)
{
	const char *provider = json_member_string(session, "provider");
	struct buffer text = BUFFER_EMPTY;

	buffer_append_text(&text, json_member_text(session, "model", "-"));
	if (provider != NULL)
		buffer_printf(&text, " (%s)", provider);
	append_field(out, "Model", buffer_text(&text));
	buffer_free(&text);
}

static void
append_counts(struct buffer *out, struct json_object *session)
{
	struct json_object *tokens = json_member_object(session, "tokens");

	buffer_printf(out,
	    "Messages  %" PRId64 " (prompts: %" PRId64 ", tool calls: %" PRId64 ")\n"
	    "Tokens    %" PRId64 " in, %" PRId64 " out; cache: %" PRId64 " read, %" PRId64
	    " written; requests: %" PRId64 "\n",
	    number(session, "messages"), number(session, "prompts"),
	    number(session, "toolCalls"), number(tokens, "input"), number(tokens, "output"),
	    number(tokens, "cacheRead"), number(tokens, "cacheWrite"),
	    number(session, "requests"));
}

static void
append_optional(
    struct buffer *out, const char *name, struct json_object *session, const char *key)
{
	const char *value = json_member_string(session, key);

	if (value != NULL && value[0] != '\0')
		append_field(out, name, value);
}

static void
append_session(struct buffer *out, struct json_object *session)
{
	append_field(out, "Session", json_member_text(session, "sessionId", ""));
	append_field(out, "Title", json_member_text(session, "title", ""));
	append_field(out, "Folder", json_member_text(session, "cwd", ""));
	append_field(out, "Source", json_member_text(session, "source", ""));
	append_model(out, session);
	append_optional(out, "Mode", session, "mode");
	append_optional(out, "Parent", session, "parentSessionId");
	append_time(out, "Created", session, "_started");
	append_time(out, "Updated", session, "_updated");
	append_counts(out, session);
	append_optional(out, "Ended", session, "endReason");
	append_optional(out, "Turn of", session, "holder");
}

static void
append_heading(struct buffer *out, const char *who, struct json_object *message)
{
	char text[SESSIONS_TIME_SIZE];
	double time = 0;

	json_member_double(message, "_timestamp", &time);
	sessions_output_time(text, time, true);
	buffer_printf(out, "\n%s, %s%s\n", who, text,
	    json_member_boolean(message, "_partial", false) ? " (not finished)" : "");
}

static void
append_text(struct buffer *out, const char *who, struct json_object *message, bool prompt)
{
	struct buffer text = BUFFER_EMPTY;

	if (prompt)
		sessions_message_prompt(&text, message);
	else
		sessions_message_content(&text, message);
	if (text.length > 0) {
		append_heading(out, who, message);
		sessions_output_text(out, "  ", text.data, text.length, 0, 0);
	}
	buffer_free(&text);
}

static void
append_call(struct buffer *out, struct json_object *call, struct json_object *result)
{
	const char *failure = sessions_message_failure(result);
	struct buffer text = BUFFER_EMPTY, title = BUFFER_EMPTY;
	size_t shown;

	sessions_message_call(&text, call, result);
	sessions_output_line(&title, buffer_text(&text));
	shown = utf8_offset(title.data, title.length, CALL_WIDTH);
	buffer_append_text(out, "\nTool ");
	buffer_append(out, title.data, shown);
	buffer_append_text(out, shown < title.length ? " ..." : "");
	if (failure != NULL)
		buffer_printf(out, " (%s)", failure);
	buffer_append_byte(out, '\n');
	buffer_clear(&text);
	sessions_message_answer(&text, result);
	if (text.length > 0)
		sessions_output_text(
		    out, "  | ", text.data, text.length, RESULT_LINES, RESULT_WIDTH);
	buffer_free(&text);
	buffer_free(&title);
}

static void
append_answer(struct buffer *out, struct json_object *messages, size_t at)
{
	struct json_object *message = json_object_array_get_idx(messages, at), *call;
	struct json_object *calls = json_member_array(message, "tool_calls");
	size_t i, count = calls != NULL ? json_object_array_length(calls) : 0;

	append_text(out, "Assistant", message, false);
	for (i = 0; i < count; i++) {
		call = json_object_array_get_idx(calls, i);
		append_call(out, call,
		    sessions_message_result(
			messages, at + 1, json_member_text(call, "id", "")));
	}
}

static void
append_message(struct buffer *out, struct json_object *messages, size_t at)
{
	struct json_object *message = json_object_array_get_idx(messages, at);

	switch (sessions_message_kind(message)) {
	case SESSIONS_MESSAGE_PROMPT:
		append_text(out, "User", message, true);
		break;
	case SESSIONS_MESSAGE_ANSWER:
		append_answer(out, messages, at);
		break;
	case SESSIONS_MESSAGE_SUMMARY:
		append_text(out, "Summary for the model", message, false);
		break;
	case SESSIONS_MESSAGE_OTHER:
		break;
	}
}

static void
write_text(struct sessions_output *output, struct sessions_conversation *conversation)
{
	size_t i, count = json_object_array_length(conversation->messages);

	append_session(sessions_output_buffer(output), conversation->session);
	for (i = 0; i < count && sessions_output_flush(output); i++)
		append_message(sessions_output_buffer(output), conversation->messages, i);
}

static void
write_json(struct sessions_output *output, struct sessions_conversation *conversation)
{
	struct json_object *records = json_object_new_array();
	size_t i, count = json_object_array_length(conversation->messages);

	for (i = 0; i < count; i++)
		json_object_array_add(
		    records, sessions_message_record(
				 json_object_array_get_idx(conversation->messages, i)));
	json_set(conversation->session, "conversation", records);
	sessions_output_json(output, conversation->session);
}

int
sessions_show(struct sessions_database *database, const struct sessions_options *options)
{
	struct sessions_conversation conversation = {0};
	char *id = sessions_find(database, options->ids[0], options->all_sources);
	struct sessions_output *output;
	int result = -1;

	if (id != NULL && sessions_conversation_read(database, id, &conversation) == 0) {
		output = sessions_output_new(STDOUT_FILENO, "standard output");
		if (options->json)
			write_json(output, &conversation);
		else
			write_text(output, &conversation);
		result = sessions_output_end(output);
	}
	sessions_conversation_clear(&conversation);
	free(id);
	return result == 0 ? EXIT_DONE : EXIT_PROBLEM;
}
