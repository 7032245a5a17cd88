/*
 * The end of a conversation, by us or by the agent. It must never wait longer for the agent
 * than the times below.
 */
#include <config.h>

#include "contrib/acp-chat/chat_state.h"

#include "common/exit_cause.h"
#include "common/monotonic.h"

#include <signal.h>

#define LAST_OUTPUT_MS 300	/* after the agent's end, for what is still in the pipe */
#define TERMINATE_AFTER_MS 2000 /* after the end of its input */
#define KILL_AFTER_MS 1000	/* after that */

static void
start_timer(struct event *timer, int64_t milliseconds)
{
	struct timeval interval = monotonic_interval(milliseconds);

	event_add(timer, &interval);
}

void
ending_quit(struct chat *chat, int status)
{
	chat->status = status;
	if (chat->phase == PHASE_ENDING)
		return;
	ask_cancel(&chat->ask);
	chat->phase = PHASE_ENDING;
	render_break(&chat->render);
	input_read(chat->input, false);
	connection_end_output(chat->connection);
	if (agent_reap(&chat->agent))
		event_base_loopbreak(chat->base);
	else
		start_timer(chat->ender, TERMINATE_AFTER_MS);
}

void
ending_flush(struct chat *chat)
{
	render_flush(&chat->render);
	if (chat->render.broken)
		ending_quit(chat, CHAT_ERROR);
}

static void
report_end(struct chat *chat)
{
	struct buffer text = BUFFER_EMPTY;

	update_end_turn(&chat->updates);
	agent_describe_end(&chat->agent, &text);
	if (chat->phase == PHASE_OPENING)
		render_message(&chat->render, "the agent %s before it answered %s",
		    buffer_text(&text), chat->step);
	else
		render_message(&chat->render, "the agent %s%s", buffer_text(&text),
		    chat->turns > 0 ? " in the middle of a turn" : "");
	buffer_free(&text);
	ending_quit(chat, EXIT_UNAVAILABLE);
}

/* Its output and its exit status come in any order; the report waits for both for a while. */
void
ending_check(struct chat *chat)
{
	bool reaped = agent_reap(&chat->agent);

	if (chat->phase == PHASE_ENDING) {
		if (reaped)
			event_base_loopbreak(chat->base);
	} else if (reaped && chat->output_ended) {
		report_end(chat);
	} else if (reaped || chat->output_ended) {
		start_timer(chat->ender, LAST_OUTPUT_MS);
	}
}

void
ending_on_closed(const char *reason, void *arg)
{
	struct chat *chat = arg;

	if (reason != NULL && chat->phase != PHASE_ENDING)
		render_message(&chat->render, "the connection to the agent failed: %s", reason);
	chat->output_ended = true;
	ending_check(chat);
}

void
ending_on_timer(evutil_socket_t fd, short what, void *arg)
{
	static const int numbers[] = {SIGTERM, SIGKILL};
	struct chat *chat = arg;

	(void)fd;
	(void)what;
	if (chat->phase != PHASE_ENDING) {
		report_end(chat);
	} else if (chat->end_stage < sizeof numbers / sizeof numbers[0]) {
		agent_signal(&chat->agent, numbers[chat->end_stage++]);
		start_timer(chat->ender, KILL_AFTER_MS);
	} else {
		event_base_loopbreak(chat->base);
	}
}
