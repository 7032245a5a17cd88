/*
 * Turn recovery. The prompt stays open, the client sees one notice, and what it has seen of
 * the answer is handed to the successor. A turn that kills every worker must end: the number
 * of successors is limited per turn and per time.
 */
#include <config.h>

#include "supervisor/session_recovery.h"
#include "supervisor/rpc.h"
#include "supervisor/session_worker.h"
#include "supervisor/supervisor.h"
#include "common/buffer.h"
#include "common/monotonic.h"
#include "common/wire.h"

#include <inttypes.h>
#include <string.h>

/* Deaths of one turn, and deaths of a session within a time, after which it is given up. */
#define TURN_DEATHS_MAX 3
#define WINDOW_MS 10000

/* The pause before each try. */
static const int64_t delays[TURN_DEATHS_MAX] = {1, 250, 500};

/* Counts this death; true when there were too many of late. */
static bool
too_many(struct session *session)
{
	int64_t now = monotonic_ms(), *times = session->death_times;

	memmove(times + 1, times, (SESSION_DEATHS - 1) * sizeof *times);
	times[0] = now;
	return times[SESSION_DEATHS - 1] != 0 && now - times[SESSION_DEATHS - 1] < WINDOW_MS;
}

static void
notify(struct session *session, const char *cause)
{
	struct buffer text = BUFFER_EMPTY, update = BUFFER_EMPTY;

	buffer_printf(
	    &text, "(The session's process %s. Another one goes on with this turn.)\n", cause);
	buffer_append_text(&update, "{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":"
				    "{\"type\":\"text\",\"text\":");
	buffer_append_json(&update, buffer_text(&text), text.length);
	buffer_append_text(&update, "}}");
	if (!update.failed)
		rpc_session_update(
		    session->supervisor->writer, session->quoted, update.data, update.length);
	buffer_free(&text);
	buffer_free(&update);
}

bool
recovery_begin(struct session *session, const char *cause)
{
	struct turn *turn = &session->turn;
	bool often = too_many(session);

	turn->deaths++;
	if (turn->pending == NULL || often || turn->deaths >= TURN_DEATHS_MAX ||
	    session->supervisor->stopping || session->close_wanted)
		return false;
	if (turn->deaths == 1)
		notify(session, cause);
	session->state = SESSION_RECOVERING;
	session_arm(session, delays[turn->deaths - 1]);
	return true;
}

bool
recovery_start(struct session *session)
{
	if (session_start_worker(session) == -1)
		return false;
	session->state = SESSION_RECOVERING;
	return true;
}

static void
append_calls(const struct session *session, struct buffer *payload)
{
	struct open_call *call;
	const char *separator = "";

	TAILQ_FOREACH(call, &session->turn.calls, entry)
	{
		buffer_append_text(payload, separator);
		buffer_append_text(payload, "{\"id\":");
		buffer_append_json(payload, call->id, call->length);
		buffer_printf(payload, ",\"started\":%s}", call->started ? "true" : "false");
		separator = ",";
	}
}

static void
append_tail(const struct session *session, struct buffer *payload)
{
	struct wire_cursor cursor;
	const char *chunk, *separator = "";
	size_t length;

	buffer_printf(payload, "\"first\":%" PRIu64 ",\"tail\":[", session->turn.tail.first);
	wire_start(&cursor, session->turn.tail.chunks.data, session->turn.tail.chunks.length);
	while (cursor.left > 0 && !cursor.failed) {
		chunk = wire_get_text(&cursor, &length);
		if (chunk == NULL)
			break;
		buffer_append_text(payload, separator);
		buffer_append(payload, chunk, length);
		separator = ",";
	}
	buffer_append_byte(payload, ']');
}

void
recovery_send(struct session *session)
{
	struct buffer payload = BUFFER_EMPTY;

	buffer_append_text(&payload, "{\"calls\":[");
	append_calls(session, &payload);
	buffer_append_text(&payload, "],");
	append_tail(session, &payload);
	buffer_append_byte(&payload, '}');
	worker_send(session->worker, TO_WORKER_TURN_RECOVER, 0, session->turn.id,
	    buffer_text(&payload), payload.length);
	buffer_free(&payload);
	/* The tail stays until the successor has saved it: it may die, too. */
}

void
recovery_commit(struct session *session)
{
	struct buffer payload = BUFFER_EMPTY;

	buffer_append_byte(&payload, '{');
	append_tail(session, &payload);
	buffer_append_byte(&payload, '}');
	catalogue_commit_tail(
	    session->supervisor->catalogue, session->id, buffer_text(&payload), payload.length);
	buffer_free(&payload);
	tail_clear(&session->turn.tail);
}
