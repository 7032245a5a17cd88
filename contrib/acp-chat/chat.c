/*
 * A conversation: its state, what the agent sends by itself, and signals. Everything happens
 * in callbacks of one event loop; it must never wait for the agent in any other way.
 */
#include <config.h>

#include "contrib/acp-chat/chat_state.h"

#include "common/exit_cause.h"
#include "common/monotonic.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HINT_AFTER_MS 5000    /* of silence before the session is open */
#define CANCEL_LIMIT_MS 10000 /* with one prompt only, nobody may be there to press Ctrl-C */
#define NONSENSE_SHOWN 5

static void
on_request(struct json_object *id, const char *method, struct json_object *params, void *arg)
{
	struct chat *chat = arg;
	struct json_object *data, *call = json_member_object(params, "toolCall");

	if (strcmp(method, "session/request_permission") == 0 && chat->phase != PHASE_ENDING) {
		if (call != NULL)
			cards_update(&chat->updates.cards, &chat->render, call);
		ask_add(&chat->ask, id, params);
		if (ask_waits(&chat->ask))
			input_read(chat->input, true);
		ending_flush(chat);
		return;
	}
	data = json_object_new_object();
	json_set_text(data, "method", method);
	connection_refuse(
	    chat->connection, id, CONNECTION_METHOD_NOT_FOUND, "Method not found", data);
}

static void
on_notification(const char *method, struct json_object *params, void *arg)
{
	struct chat *chat = arg;
	const char *session = json_member_text(params, "sessionId", "");
	struct json_object *id;

	if (chat->phase == PHASE_ENDING)
		return;
	chat->active_at = monotonic_ms();
	if (strcmp(method, "session/update") == 0) {
		if (chat->session_id == NULL || strcmp(session, chat->session_id) == 0)
			update_show(&chat->updates, json_member(params, "update"));
	} else if (strcmp(method, "$/cancel_request") == 0) {
		id = json_member(params, "requestId");
		if (ask_withdraw(&chat->ask, id))
			connection_refuse(chat->connection, id, CONNECTION_CANCELLED,
			    "Request cancelled", NULL);
	}
	ending_flush(chat);
}

static void
on_nonsense(const char *reason, const char *line, void *arg)
{
	struct chat *chat = arg;

	if (++chat->nonsense <= NONSENSE_SHOWN)
		render_message(&chat->render,
		    "the agent sent a line that is no message (%s): %.200s", reason, line);
}

static void
send_answer(struct json_object *id, struct json_object *outcome, void *arg)
{
	struct chat *chat = arg;
	struct json_object *result = json_object_new_object();

	json_set(result, "outcome", outcome);
	connection_reply(chat->connection, id, result);
}

static void
on_interrupt(struct chat *chat)
{
	if (chat->phase == PHASE_ENDING) {
		agent_signal(&chat->agent, SIGKILL);
		event_base_loopbreak(chat->base);
	} else if (chat->turns > 0 && chat->cancelled_at == 0) {
		turns_cancel(chat);
	} else if (chat->turns > 0 || chat->phase == PHASE_OPENING) {
		ending_quit(chat, CHAT_CANCELLED);
	} else if (!chat->warned) {
		chat->warned = true;
		render_line(&chat->render, STYLE_DIM, "(Ctrl-C again or /quit ends)");
		turns_next(chat);
	} else {
		ending_quit(chat, chat->status);
	}
}

static void
on_signal(evutil_socket_t number, short what, void *arg)
{
	struct chat *chat = arg;

	(void)what;
	if (number == SIGCHLD)
		ending_check(chat);
	else if (number == SIGINT)
		on_interrupt(chat);
	else
		ending_quit(chat, chat->turns > 0 ? CHAT_CANCELLED : chat->status);
	ending_flush(chat);
}

static void
show_waiting(struct chat *chat, int64_t now)
{
	int64_t quiet = now - chat->active_at;
	const char *title;
	size_t count;

	if (chat->turns == 0 || quiet < 1000 || ask_waits(&chat->ask))
		return;
	title = cards_running(&chat->updates.cards, &count);
	render_status(&chat->render, "[%" PRId64 " s] %s%s", quiet / 1000,
	    title != NULL ? "running: " : "waiting for the agent", title != NULL ? title : "");
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct chat *chat = arg;
	int64_t now = monotonic_ms();

	(void)fd;
	(void)what;
	if (chat->phase == PHASE_OPENING && !chat->hinted &&
	    now - chat->active_at >= HINT_AFTER_MS) {
		chat->hinted = true;
		render_message(
		    &chat->render, "still waiting for the agent to answer %s", chat->step);
	}
	if (chat->phase == PHASE_READY)
		show_waiting(chat, now);
	if (chat->phase == PHASE_READY && chat->options->prompt != NULL &&
	    chat->cancelled_at > 0 && now - chat->cancelled_at > CANCEL_LIMIT_MS) {
		render_message(&chat->render, "the agent does not react to the cancel");
		ending_quit(chat, CHAT_CANCELLED);
	}
	ending_flush(chat);
}

static struct event_base *
new_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	/* epoll refuses regular files, and stdin may be one. */
	event_config_require_features(config, EV_FEATURE_FDS);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static void
set_up(struct chat *chat, const struct chat_options *options)
{
	static const int numbers[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
	static const struct timeval second = {1, 0};

	chat->options = options;
	chat->typing = isatty(STDIN_FILENO);
	chat->active_at = monotonic_ms();
	render_open(&chat->render, options->verbose);
	chat->updates.render = &chat->render;
	chat->updates.show_commands = options->prompt == NULL && chat->typing;
	chat->ask = (struct ask){&chat->render, options->policy, send_answer, chat, NULL};
	if (options->policy == ASK_USER && !(chat->typing && chat->render.terminal))
		chat->ask.policy = ASK_NOBODY;
	chat->input = input_new(chat->base, turns_on_line, chat);
	chat->ender = evtimer_new(chat->base, ending_on_timer, chat);
	chat->ticker = event_new(chat->base, -1, EV_PERSIST, on_tick, chat);
	event_add(chat->ticker, &second);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		chat->signals[i] = evsignal_new(chat->base, numbers[i], on_signal, chat);
		event_add(chat->signals[i], NULL);
	}
	signal(SIGPIPE, SIG_IGN);
}

static void
tear_down(struct chat *chat)
{
	struct waiting_line *line;

	while ((line = chat->lines) != NULL) {
		chat->lines = line->next;
		free(line->text);
		free(line);
	}
	update_end_turn(&chat->updates);
	render_flush(&chat->render);
	connection_free(chat->connection);
	input_free(chat->input);
	for (size_t i = 0; i < sizeof chat->signals / sizeof chat->signals[0]; i++)
		event_free(chat->signals[i]);
	event_free(chat->ticker);
	event_free(chat->ender);
	json_object_put(chat->sign_in_methods);
	free(chat->session_id);
	event_base_free(chat->base);
}

int
chat_run(const struct chat_options *options)
{
	static const struct connection_callbacks callbacks = {
	    on_request, on_notification, on_nonsense, ending_on_closed};
	struct chat chat = {.base = new_base()};
	struct buffer error = BUFFER_EMPTY;

	if (chat.base == NULL)
		return EXIT_SYSTEM;
	set_up(&chat, options);
	if (agent_start(&chat.agent, options->command, &error) == -1) {
		render_message(&chat.render, "cannot start the agent: %s", buffer_text(&error));
		chat.status = EXIT_UNAVAILABLE;
	} else {
		chat.connection = connection_new(
		    chat.base, chat.agent.from, chat.agent.to, &callbacks, &chat);
		opening_start(&chat);
		event_base_dispatch(chat.base);
	}
	buffer_free(&error);
	tear_down(&chat);
	return chat.status;
}
