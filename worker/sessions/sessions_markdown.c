/*
 * Markdown of a conversation. What was said is kept as it was written but for control
 * characters; what stands in headings and lists cannot become markup.
 */
#include <config.h>

#include "worker/sessions/sessions_markdown.h"
#include "worker/sessions/sessions_message.h"
#include "worker/tools/fenced_text.h"
#include "common/text_filter.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

/* Characters that mean something to Markdown within a line (CommonMark 0.31 chapter 6). */
#define SPECIAL "\\`*_[]<>&|~"

/* One line in which nothing is markup. */
static void
append_plain(struct buffer *out, const char *text)
{
	struct buffer line = BUFFER_EMPTY;
	size_t i;

	sessions_output_line(&line, text);
	for (i = 0; i < line.length; i++) {
		if (strchr(SPECIAL, line.data[i]) != NULL)
			buffer_append_byte(out, '\\');
		buffer_append_byte(out, line.data[i]);
	}
	buffer_free(&line);
}

static void
append_item(struct buffer *out, const char *name, const char *value)
{
	if (value == NULL || value[0] == '\0')
		return;
	buffer_printf(out, "- %s: ", name);
	append_plain(out, value);
	buffer_append_byte(out, '\n');
}

static void
append_time_item(
    struct buffer *out, const char *name, struct json_object *object, const char *key)
{
	char text[SESSIONS_TIME_SIZE];
	double time = 0;

	json_member_double(object, key, &time);
	sessions_output_time(text, time, true);
	append_item(out, name, text);
}

static void
append_session(struct buffer *out, struct json_object *session)
{
	int64_t input = 0, output = 0;
	struct json_object *tokens = json_member_object(session, "tokens");

	json_member_integer(tokens, "input", &input);
	json_member_integer(tokens, "output", &output);
	buffer_append_text(out, "# ");
	append_plain(out, json_member_text(session, "title", "Session"));
	buffer_append_text(out, "\n\n");
	append_item(out, "Session", json_member_string(session, "sessionId"));
	append_item(out, "Folder", json_member_string(session, "cwd"));
	append_item(out, "Model", json_member_string(session, "model"));
	append_item(out, "Provider", json_member_string(session, "provider"));
	append_time_item(out, "Created", session, "_started");
	append_time_item(out, "Updated", session, "_updated");
	buffer_printf(out, "- Tokens: %" PRId64 " in, %" PRId64 " out\n", input, output);
}

static void
append_heading(struct buffer *out, const char *who, struct json_object *message)
{
	char text[SESSIONS_TIME_SIZE];
	double time = 0;

	json_member_double(message, "_timestamp", &time);
	sessions_output_time(text, time, true);
	buffer_printf(out, "\n## %s, %s%s\n", who, text,
	    json_member_boolean(message, "_partial", false) ? " (not finished)" : "");
}

/* Harmless text that ends with the end of a line. */
static void
append_text(struct buffer *out, const struct buffer *text)
{
	struct text_filter filter = TEXT_FILTER_START;

	if (text->length == 0)
		return;
	buffer_append_byte(out, '\n');
	text_filter_append(&filter, text->data, text->length, out);
	if (out->data[out->length - 1] != '\n')
		buffer_append_byte(out, '\n');
}

static void
append_fenced(struct buffer *out, const char *language, const char *text, size_t length)
{
	struct text_filter filter = TEXT_FILTER_START;
	struct buffer clean = BUFFER_EMPTY;

	text_filter_append(&filter, text, length, &clean);
	buffer_append_byte(out, '\n');
	fenced_text_append(out, language, buffer_text(&clean), clean.length, SIZE_MAX);
	buffer_append_byte(out, '\n');
	buffer_free(&clean);
}

static void
append_call(struct buffer *out, struct json_object *call, struct json_object *result)
{
	const char *arguments =
	    json_member_text(json_member_object(call, "function"), "arguments", "");
	const char *failure = sessions_message_failure(result);
	struct buffer text = BUFFER_EMPTY;

	sessions_message_call(&text, call, result);
	buffer_append_text(out, "\n### Tool ");
	append_plain(out, buffer_text(&text));
	if (failure != NULL)
		buffer_printf(out, " (%s)", failure);
	buffer_append_byte(out, '\n');
	if (arguments[0] != '\0')
		append_fenced(out, "json", arguments, strlen(arguments));
	buffer_clear(&text);
	sessions_message_answer(&text, result);
	if (text.length > 0)
		append_fenced(out, "", text.data, text.length);
	buffer_free(&text);
}

static void
append_answer(struct buffer *out, struct json_object *messages, size_t at)
{
	struct json_object *message = json_object_array_get_idx(messages, at), *call;
	struct json_object *calls = json_member_array(message, "tool_calls");
	const char *thought = sessions_message_thought(message);
	struct buffer text = BUFFER_EMPTY;
	size_t i, count = calls != NULL ? json_object_array_length(calls) : 0;

	append_heading(out, "Assistant", message);
	if (thought[0] != '\0') {
		buffer_append_byte(out, '\n');
		sessions_output_text(out, "> ", thought, strlen(thought), 0, 0);
	}
	sessions_message_content(&text, message);
	append_text(out, &text);
	for (i = 0; i < count; i++) {
		call = json_object_array_get_idx(calls, i);
		append_call(out, call,
		    sessions_message_result(
			messages, at + 1, json_member_text(call, "id", "")));
	}
	buffer_free(&text);
}

static void
append_prompt(struct buffer *out, const char *who, struct json_object *message)
{
	struct buffer text = BUFFER_EMPTY;

	append_heading(out, who, message);
	sessions_message_prompt(&text, message);
	append_text(out, &text);
	buffer_free(&text);
}

static void
append_message(struct buffer *out, struct json_object *messages, size_t at)
{
	struct json_object *message = json_object_array_get_idx(messages, at);

	switch (sessions_message_kind(message)) {
	case SESSIONS_MESSAGE_PROMPT:
		append_prompt(out, "User", message);
		break;
	case SESSIONS_MESSAGE_ANSWER:
		append_answer(out, messages, at);
		break;
	case SESSIONS_MESSAGE_SUMMARY:
		append_prompt(out, "Summary for the model", message);
		break;
	case SESSIONS_MESSAGE_OTHER:
		break;
	}
}

void
sessions_markdown_write(
    struct sessions_output *output, const struct sessions_conversation *conversation)
{
	size_t i, count = json_object_array_length(conversation->messages);

	append_session(sessions_output_buffer(output), conversation->session);
	for (i = 0; i < count && sessions_output_flush(output); i++)
		append_message(sessions_output_buffer(output), conversation->messages, i);
}
