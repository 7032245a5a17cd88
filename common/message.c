/*
 * One row per message. A message that its row does not allow must never reach a handler.
 */
#include <config.h>

#include "common/message.h"

#define BIT(state) (1u << (state))
#define TURN (BIT(SESSION_TURN_RUNNING) | BIT(SESSION_CANCELLING))
#define LIVE (TURN | BIT(SESSION_IDLE) | BIT(SESSION_RECOVERING))
#define ALL ((1u << SESSION_STATE_COUNT) - 1)
#define BEFORE (BIT(SESSION_STARTING) | BIT(SESSION_RECOVERING) | BIT(SESSION_STOPPING))
#define ENDING (LIVE | BIT(SESSION_RETIRING) | BIT(SESSION_STOPPING))

#define ID_MAX 512
#define STATE_MAX (256 * 1024)

#define TO_W(type, peer, states, once, least, most)                                            \
	{                                                                                      \
		type, #type, MESSAGE_TO_WORKER, peer, states, once, false, least, most         \
	}
#define TO_S(type, peer, states, once, setup, least, most)                                     \
	{                                                                                      \
		type, #type, MESSAGE_TO_SUPERVISOR, peer, states, once, setup, least, most     \
	}

static const struct message_row rows[] = {
    TO_W(TO_WORKER_SETUP, MESSAGE_PEER_ANY, ALL, true, 2, MESSAGE_LINE_MAX),
    TO_W(TO_WORKER_SHUTDOWN, MESSAGE_PEER_ANY, ALL, true, 0, 0),
    TO_W(TO_WORKER_TURN_START, MESSAGE_PEER_SESSION, ALL, false, 2, MESSAGE_LINE_MAX),
    TO_W(TO_WORKER_TURN_CANCEL, MESSAGE_PEER_SESSION, ALL, false, 0, 0),
    TO_W(TO_WORKER_TURN_RECOVER, MESSAGE_PEER_SESSION, ALL, false, 2, MESSAGE_LINE_MAX),
    TO_W(TO_WORKER_COMMAND, MESSAGE_PEER_SESSION, ALL, false, 2, MESSAGE_LINE_MAX),
    TO_W(TO_WORKER_REQUEST, MESSAGE_PEER_ANY, ALL, false, 4, MESSAGE_LINE_MAX),
    TO_W(TO_WORKER_CLIENT_ANSWER, MESSAGE_PEER_SESSION, ALL, false, 1, MESSAGE_LINE_MAX),
    TO_W(TO_WORKER_RETIRE, MESSAGE_PEER_SESSION, ALL, false, 0, 0),
    TO_W(TO_WORKER_SETTINGS_QUERY, MESSAGE_PEER_CATALOGUE, ALL, false, 0, 0),
    TO_W(TO_WORKER_COMMIT_TAIL, MESSAGE_PEER_CATALOGUE, ALL, false, 4, MESSAGE_UPDATE_MAX),

    TO_S(TO_SUPERVISOR_HELLO, MESSAGE_PEER_ANY, BEFORE, true, true, 8, 8),
    TO_S(TO_SUPERVISOR_READY, MESSAGE_PEER_ANY, BEFORE, true, true, 6, STATE_MAX),
    TO_S(TO_SUPERVISOR_SETUP_FAILED, MESSAGE_PEER_ANY, BEFORE, true, true, 8, STATE_MAX),
    TO_S(TO_SUPERVISOR_LOG, MESSAGE_PEER_ANY, ALL, false, false, 1, 8192),
    TO_S(TO_SUPERVISOR_FAREWELL, MESSAGE_PEER_ANY, ALL, true, false, 0, 0),
    TO_S(TO_SUPERVISOR_TEXT, MESSAGE_PEER_SESSION, TURN, false, false, 2, MESSAGE_UPDATE_MAX),
    TO_S(TO_SUPERVISOR_TURN_UPDATE, MESSAGE_PEER_SESSION, TURN, false, false, 2,
	MESSAGE_UPDATE_MAX),
    TO_S(TO_SUPERVISOR_SESSION_UPDATE, MESSAGE_PEER_SESSION, ENDING | BEFORE, false, false, 2,
	MESSAGE_UPDATE_MAX),
    TO_S(TO_SUPERVISOR_CALL_OPEN, MESSAGE_PEER_SESSION, TURN, false, false, 5, ID_MAX),
    TO_S(TO_SUPERVISOR_CALL_STARTED, MESSAGE_PEER_SESSION, TURN, false, false, 5, ID_MAX),
    TO_S(TO_SUPERVISOR_CALL_CLOSED, MESSAGE_PEER_SESSION, TURN, false, false, 5, ID_MAX),
    TO_S(TO_SUPERVISOR_STATE_SAVED, MESSAGE_PEER_SESSION, ENDING, false, false, 8, 8),
    TO_S(TO_SUPERVISOR_SESSION_STATE, MESSAGE_PEER_SESSION, ENDING | BEFORE, false, false, 2,
	STATE_MAX),
    TO_S(TO_SUPERVISOR_CLIENT_REQUEST, MESSAGE_PEER_SESSION, TURN | BIT(SESSION_STOPPING),
	false, false, 10, MESSAGE_UPDATE_MAX),
    TO_S(TO_SUPERVISOR_CLIENT_CANCEL, MESSAGE_PEER_SESSION, ENDING, false, false, 0, 0),
    TO_S(TO_SUPERVISOR_RESPONSE, MESSAGE_PEER_ANY, ENDING, false, false, 2, MESSAGE_UPDATE_MAX),
    TO_S(TO_SUPERVISOR_RESPONSE_ERROR, MESSAGE_PEER_ANY, ENDING, false, false, 8, STATE_MAX),
    TO_S(TO_SUPERVISOR_TURN_DONE, MESSAGE_PEER_SESSION, TURN | BIT(SESSION_STOPPING), false,
	false, 1, STATE_MAX),
    TO_S(TO_SUPERVISOR_TURN_FAILED, MESSAGE_PEER_SESSION, TURN | BIT(SESSION_STOPPING), false,
	false, 8, STATE_MAX),
    TO_S(TO_SUPERVISOR_BUSY, MESSAGE_PEER_SESSION,
	BIT(SESSION_RETIRING) | BIT(SESSION_STOPPING), false, false, 0, 0),
    TO_S(TO_SUPERVISOR_SETTINGS, MESSAGE_PEER_CATALOGUE, ENDING, false, false, 2, STATE_MAX),
    TO_S(TO_SUPERVISOR_TAIL_COMMITTED, MESSAGE_PEER_CATALOGUE, ENDING, false, false, 5, ID_MAX),
};

static const char *const stop_reasons[STOP_REASON_COUNT] = {
    "end_turn",
    "max_tokens",
    "max_turn_requests",
    "refusal",
    "cancelled",
};

static const char *const states[SESSION_STATE_COUNT] = {
    "starting",
    "idle",
    "turn running",
    "cancelling",
    "recovering",
    "retiring",
    "stopping",
    "dead",
};

const struct message_row *
message_rows(size_t *count)
{
	*count = sizeof rows / sizeof rows[0];
	return rows;
}

const struct message_row *
message_row(unsigned type)
{
	size_t i;

	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if ((unsigned)rows[i].type == type)
			return &rows[i];
	return NULL;
}

const char *
message_name(unsigned type)
{
	const struct message_row *row = message_row(type);

	return row != NULL ? row->name : "unknown message";
}

const char *
stop_reason_name(enum stop_reason reason)
{
	return reason < STOP_REASON_COUNT ? stop_reasons[reason] : "end_turn";
}

const char *
session_state_name(enum session_state state)
{
	return state < SESSION_STATE_COUNT ? states[state] : "unknown";
}
