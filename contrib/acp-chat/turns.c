/*
 * Turns: prompts out, answers in. Lines that come while a turn runs wait for its end; only a
 * slash command typed on a terminal goes out at once.
 */
#include <config.h>

#include "contrib/acp-chat/chat_state.h"

#include "common/alloc.h"
#include "common/monotonic.h"
#include "contrib/acp-chat/failure.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *reason;
	int status;
} stop_reasons[] = {
    {"end_turn", CHAT_END_TURN},
    {"max_tokens", CHAT_MAX_TOKENS},
    {"max_turn_requests", CHAT_MAX_TURN_REQUESTS},
    {"refusal", CHAT_REFUSAL},
    {"cancelled", CHAT_CANCELLED},
};

void
turns_fail(struct chat *chat, const char *method, struct json_object *error)
{
	failure_show(
	    &chat->render, method, error, chat->sign_in_methods, chat->options->command);
	chat->status = CHAT_ERROR;
}

static void
on_prompt_answer(struct json_object *result, struct json_object *error, void *arg)
{
	struct chat *chat = arg;
	const char *reason = json_member_text(result, "stopReason", "?");

	if (chat->phase == PHASE_ENDING)
		return;
	if (--chat->turns == 0) {
		update_end_turn(&chat->updates);
		chat->cancelled_at = 0;
	}
	if (error != NULL) {
		turns_fail(chat, "session/prompt", error);
	} else {
		chat->status = CHAT_ERROR;
		for (size_t i = 0; i < sizeof stop_reasons / sizeof stop_reasons[0]; i++)
			if (strcmp(stop_reasons[i].reason, reason) == 0)
				chat->status = stop_reasons[i].status;
		if (chat->status != CHAT_END_TURN)
			render_line(&chat->render, STYLE_YELLOW, "[stopped: %s]", reason);
	}
	turns_next(chat);
	ending_flush(chat);
}

void
turns_prompt(struct chat *chat, const char *text)
{
	struct json_object *params = json_object_new_object(),
			   *prompt = json_object_new_array();
	struct json_object *block = json_object_new_object();

	json_set_text(block, "type", "text");
	json_set_text(block, "text", text);
	json_object_array_add(prompt, block);
	json_set_text(params, "sessionId", chat->session_id);
	json_set(params, "prompt", prompt);
	chat->turns++;
	chat->active_at = monotonic_ms();
	connection_request(chat->connection, "session/prompt", params, on_prompt_answer, chat);
}

static void
queue_line(struct chat *chat, const char *text)
{
	struct waiting_line **at = &chat->lines;

	while (*at != NULL)
		at = &(*at)->next;
	*at = xcalloc(1, sizeof **at);
	(*at)->text = xstrdup(text);
}

static void
send_waiting_line(struct chat *chat)
{
	struct waiting_line *line = chat->lines;

	chat->lines = line->next;
	if (!chat->typing)
		render_line(&chat->render, STYLE_BOLD, "> %s", line->text);
	turns_prompt(chat, line->text);
	free(line->text);
	free(line);
}

/* Goes on when no turn runs. */
void
turns_next(struct chat *chat)
{
	if (chat->phase != PHASE_READY || chat->turns > 0)
		return;
	if (chat->options->prompt != NULL) {
		ending_quit(chat, chat->status);
	} else if (chat->lines != NULL) {
		send_waiting_line(chat);
	} else if (chat->input_ended) {
		ending_quit(chat, chat->status);
	} else {
		input_read(chat->input, true);
		if (chat->typing)
			render_prompt(&chat->render, STYLE_BOLD, "> ");
	}
}

void
turns_on_line(const char *line, void *arg)
{
	struct chat *chat = arg;

	chat->warned = false;
	if (line == NULL)
		chat->input_ended = true;
	if (ask_waits(&chat->ask)) {
		ask_line(&chat->ask, line);
		if (chat->options->prompt != NULL && !ask_waits(&chat->ask))
			input_read(chat->input, false);
	} else if (line != NULL && strcmp(line, "/quit") == 0) {
		ending_quit(chat, chat->status);
	} else if (line != NULL && chat->options->prompt == NULL) {
		if (chat->typing && chat->turns == 0)
			render_prompt_answered(&chat->render);
		if (chat->typing && chat->turns > 0 && *line == '/')
			turns_prompt(chat, line); /* a command may be meant for this turn */
		else if (line[strspn(line, " \t")] != '\0')
			queue_line(chat, line);
		if (!chat->typing && chat->lines != NULL)
			input_read(chat->input, false);
		turns_next(chat);
	} else {
		turns_next(chat);
	}
	ending_flush(chat);
}

void
turns_cancel(struct chat *chat)
{
	struct json_object *params = json_object_new_object();

	chat->cancelled_at = monotonic_ms();
	json_set_text(params, "sessionId", chat->session_id);
	connection_notify(chat->connection, "session/cancel", params);
	ask_cancel(&chat->ask);
	render_line(&chat->render, STYLE_YELLOW, "[cancelling; Ctrl-C again quits]");
}
