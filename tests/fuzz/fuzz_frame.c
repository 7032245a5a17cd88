/*
 * Any bytes as a worker's frames, through a real channel into a session in each of its
 * states. Whatever comes, the supervisor goes on; a byte that breaks a rule never reaches the
 * client; every request is answered once the worker is gone.
 *
 * The first byte chooses the state and the sizes of the writes. The rest are frames.
 */
#include <config.h>

#include "common/channel.h"
#include "common/json_scan.h"
#include "tests/lib/fake_supervisor.h"

#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct link {
	struct channel *channel;
	struct worker_process *worker;
	bool ended;
};

static void
must(bool condition)
{
	if (!condition)
		abort();
}

static int
on_message(const struct frame_header *header, const void *payload, size_t length, void *arg)
{
	struct link *link = arg;

	must(message_row(header->type) != NULL);
	must(message_row(header->type)->direction == MESSAGE_TO_SUPERVISOR);
	must(length == header->length);
	if (link->worker->violated)
		return -1;
	link->worker->callbacks.message(
	    link->worker, header, payload, length, link->worker->arg);
	return 0;
}

static void
on_ended(enum channel_end end, const char *reason, void *arg)
{
	struct link *link = arg;

	must(!link->ended);
	link->ended = true;
	if (end == CHANNEL_VIOLATION)
		worker_violation(link->worker, reason);
}

static void
client(struct fake *fake, const char *line)
{
	fake_client_bytes(fake, line, strlen(line));
}

static void
request(struct fake *fake, const struct session *session, const char *method, const char *more)
{
	struct buffer line = BUFFER_EMPTY;

	buffer_printf(&line,
	    "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"%s\",\"params\":{\"sessionId\":%s%"
	    "s}}\n",
	    method, method, session->quoted, more);
	client(fake, buffer_text(&line));
	buffer_free(&line);
}

/* Brings a session into the state that `how` names; returns its worker. */
static struct worker_process *
prepare(struct fake *fake, unsigned how)
{
	struct session *session;

	fake_settings(fake, "{\"provider\":\"p\",\"label\":\"P\"}");
	client(fake, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
		     "{\"protocolVersion\":1}}\n");
	client(fake, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/new\",\"params\":"
		     "{\"cwd\":\"/\",\"mcpServers\":[]}}\n");
	session = session_first(fake->supervisor.sessions);
	must(session != NULL && session->worker != NULL);
	if (how > 0)
		fake_hello(session->worker);
	if (how > 1)
		fake_ready(session->worker, "help", "{}");
	if (how > 2)
		request(fake, session, "session/prompt",
		    ",\"prompt\":[{\"type\":\"text\",\"text\":\"x\"}]");
	if (how > 3)
		request(fake, session, "session/set_mode", ",\"modeId\":\"plan\"");
	if (how == 5) {
		fake_say_text(session->worker, TO_SUPERVISOR_CALL_OPEN, 1, "a");
		fake_call_request(
		    session->worker, 1, 1, "session/request_permission", "a", "{}");
	}
	if (how == 6)
		request(fake, session, "session/close", "");
	if (how == 7) {
		fake_turn_done(session->worker, 1, 0);
		request(fake, session, "session/close", "");
	}
	return session->worker;
}

/* One JSON object a line, and no session is named but the one there is. */
static void
check_output(struct fake *fake, const char *quoted)
{
	static const char start[] = "{\"jsonrpc\":\"2.0\",";
	struct json_watch watch;
	struct json_scan scan;
	const char *line = buffer_text(&fake->got), *newline;

	must(strlen(line) == fake->got.length);
	for (; *line != '\0'; line = newline + 1) {
		newline = strchr(line, '\n');
		must(newline != NULL);
		must(strncmp(line, start, sizeof start - 1) == 0);
		memset(&watch, 0, sizeof watch);
		watch.parent = "params";
		watch.key = "sessionId";
		json_scan_start(&scan, JSON_SCAN_DEPTH, true, &watch, 1);
		must(json_scan_feed(&scan, line, (size_t)(newline - line)) == 0);
		must(json_scan_end(&scan) == 0);
		if (watch.seen == 0)
			continue;
		must(watch.seen == 1 && watch.length == strlen(quoted));
		must(memcmp(line + watch.offset, quoted, watch.length) == 0);
	}
}

static void
play(struct fake *fake, struct link *link, int peer, const char *bytes, size_t length,
    size_t piece)
{
	size_t size;
	ssize_t n;

	while (length > 0 && !link->ended && !link->worker->violated) {
		size = length < piece ? length : piece;
		n = write(peer, bytes, size);
		if (n > 0) {
			bytes += n;
			length -= (size_t)n;
		}
		fake_run(fake);
	}
}

/* What is left waits for a successor, the spare worker at last; without one it is answered. */
static void
end_session(struct fake *fake)
{
	struct session *session;
	int deaths;

	fake_start_fails = true;
	for (deaths = 0; deaths < 5; deaths++) {
		session = session_first(fake->supervisor.sessions);
		if (session != NULL && session->worker != NULL)
			fake_die(session->worker, "died");
		else if (session != NULL && session->state == SESSION_RECOVERING)
			session_timer(session); /* the pause before the next try is over */
		fake_run(fake);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct channel_callbacks callbacks = {
	    .message = on_message, .ended = on_ended};
	static const size_t pieces[] = {1000000, 4096, 21, 3};
	struct link link = {0};
	struct fake *fake;
	struct session *session;
	char quoted[SESSION_ID_MAX + 3];
	int pair[2];

	if (size < 1)
		return 0;
	fake = fake_new();
	link.worker = prepare(fake, data[0] & 7);
	session = session_first(fake->supervisor.sessions);
	memcpy(quoted, session->quoted, sizeof session->quoted);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
	link.channel = channel_new(
	    fake->supervisor.base, pair[0], MESSAGE_TO_SUPERVISOR, &callbacks, &link);
	must(link.channel != NULL);
	play(fake, &link, pair[1], (const char *)data + 1, size - 1, pieces[data[0] >> 6]);
	close(pair[1]);
	channel_drain(link.channel);
	fake_run(fake);
	channel_free(link.channel);
	fake_die(link.worker, "died");
	end_session(fake);
	check_output(fake, quoted);
	must(pending_table_empty(fake->supervisor.pending));
	fake_delete(fake);
	return 0;
}
