/*
 * Any bytes as a client's input: reader, dispatch, handlers and sessions, with workers that
 * are played or cannot be started. Whatever comes, the supervisor goes on, and everything
 * that it writes is one JSON object a line.
 *
 * The first byte chooses the circumstances. In the rest "$S" stands for the id of a session
 * and "$W" for a step of the workers, so that the fuzzer finds its way into sessions.
 */
#include <config.h>

#include "common/json_scan.h"
#include "tests/lib/fake_supervisor.h"

#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	SETTINGS_KNOWN = 1,
	INITIALIZED = 2,
	START_FAILS = 4,
	SMALL_PIECES = 8,
	SESSION_THERE = 16,
	TURN_THERE = 32,
	SMALL_LIMIT = 64,
	WORKERS_DIE = 128
};

static void
must(bool condition)
{
	if (!condition)
		abort();
}

static void
check_output(struct fake *fake)
{
	static const char start[] = "{\"jsonrpc\":\"2.0\",";
	const char *line = buffer_text(&fake->got), *newline;

	for (; *line != '\0'; line = newline + 1) {
		newline = strchr(line, '\n');
		must(newline != NULL);
		must(strncmp(line, start, sizeof start - 1) == 0);
		must(json_scan_check(line, (size_t)(newline - line), JSON_SCAN_DEPTH) == NULL);
	}
	must(strlen(buffer_text(&fake->got)) == fake->got.length);
	buffer_clear(&fake->got);
}

/* One worker of a session does what its session's state suggests. */
static void
step(struct fake *fake, bool die)
{
	struct session *session, *next;

	for (session = session_first(fake->supervisor.sessions); session != NULL;
	     session = next) {
		next = session_next(session);
		if (session->worker == NULL)
			continue;
		if (die || session->state == SESSION_STOPPING) {
			fake_die(session->worker, "died");
		} else if (session->state == SESSION_STARTING) {
			if (!session->hello)
				fake_hello(session->worker);
			fake_ready(session->worker, "help model", "{\"modes\":{}}");
		} else if (session->turn.id != 0) {
			fake_client_request(session->worker, 1, session->turn.id,
			    "session/request_permission", "{}");
			if (session->worker->last.type == TO_WORKER_CLIENT_ANSWER ||
			    session->state == SESSION_CANCELLING)
				fake_turn_done(
				    session->worker, session->turn.id, STOP_REASON_END_TURN);
		} else if (session->worker->last.type == TO_WORKER_REQUEST) {
			session->worker->last.type = 0;
			fake_say(session->worker, TO_SUPERVISOR_RESPONSE,
			    session->worker->last.request, 0, "{}", 2);
		}
	}
	fake_run(fake);
}

static void
begin(struct fake *fake, unsigned how)
{
	static const char initialize[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
	    "{\"protocolVersion\":1}}\n";
	static const char create[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/new\",\"params\":"
	    "{\"cwd\":\"/\",\"mcpServers\":[]}}\n";

	if (how & SETTINGS_KNOWN)
		fake_settings(fake, "{\"provider\":\"p\",\"label\":\"P\"}");
	if (how & SMALL_LIMIT)
		client_reader_set_limit(fake->supervisor.reader, 256);
	if (how & INITIALIZED)
		fake_client_bytes(fake, initialize, sizeof initialize - 1);
	if (how & SESSION_THERE) {
		fake_client_bytes(fake, create, sizeof create - 1);
		step(fake, false);
	}
	fake_start_fails = how & START_FAILS;
}

static void
feed(struct fake *fake, const char *bytes, size_t length, bool small)
{
	size_t at, piece;

	for (at = 0; at < length; at += piece) {
		piece = length - at;
		if (small && piece > 7)
			piece = 7;
		fake_client_bytes(fake, bytes + at, piece);
	}
}

static void
feed_prompt(struct fake *fake)
{
	struct session *session = session_first(fake->supervisor.sessions);
	struct buffer line = BUFFER_EMPTY;

	if (session == NULL)
		return;
	buffer_printf(&line,
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/"
	    "prompt\",\"params\":{\"sessionId\":"
	    "%s,\"prompt\":[{\"type\":\"text\",\"text\":\"x\"}]}}\n",
	    session->quoted);
	fake_client_bytes(fake, line.data, line.length);
	buffer_free(&line);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data + 1, *end = (const char *)data + size, *dollar;
	struct fake *fake;
	struct session *session;
	unsigned how;

	if (size < 1 || size > 65536)
		return 0;
	how = data[0];
	fake = fake_new();
	begin(fake, how);
	if (how & TURN_THERE)
		feed_prompt(fake);
	while (at < end) {
		dollar = memchr(at, '$', (size_t)(end - at));
		if (dollar == NULL || end - dollar < 2) {
			feed(fake, at, (size_t)(end - at), how & SMALL_PIECES);
			break;
		}
		feed(fake, at, (size_t)(dollar - at), how & SMALL_PIECES);
		session = session_first(fake->supervisor.sessions);
		if (dollar[1] == 'S')
			feed(fake, session != NULL ? session->id : "none",
			    session != NULL ? strlen(session->id) : 4, how & SMALL_PIECES);
		else if (dollar[1] == 'W')
			step(fake, how & WORKERS_DIE);
		else
			feed(fake, dollar, 2, how & SMALL_PIECES);
		at = dollar + 2;
		check_output(fake);
	}
	fake_client_bytes(fake, "\n", 1);
	fake_settings(fake, "{\"provider\":\"p\",\"label\":\"P\"}");
	step(fake, false);
	step(fake, true);
	fake_run(fake);
	check_output(fake);
	fake_delete(fake);
	return 0;
}
