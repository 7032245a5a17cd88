/*
 * The life of a session as a table: what is done about an event in a state.
 */
#ifndef HERMES_SUPERVISOR_SESSION_STATE_H
#define HERMES_SUPERVISOR_SESSION_STATE_H

#include "common/message.h"

#include <stddef.h>

struct pending;

enum session_event {
	/* The client. */
	SESSION_EVENT_PROMPT,
	SESSION_EVENT_COMMAND, /* a prompt that acts at once when a turn runs */
	SESSION_EVENT_CALL,    /* set_mode and its like */
	SESSION_EVENT_CANCEL,
	SESSION_EVENT_CLOSE,
	/* The worker. */
	SESSION_EVENT_READY,
	SESSION_EVENT_SETUP_FAILED,
	SESSION_EVENT_TURN_DONE,
	SESSION_EVENT_TURN_FAILED,
	SESSION_EVENT_BUSY, /* it cannot give its process back */
	SESSION_EVENT_GONE, /* its socket has ended and its exit status is in */
	/* Time. */
	SESSION_EVENT_TIMER,
	SESSION_EVENT_COUNT
};

/* What an event carries; only the members that it needs are set. All borrowed. */
struct session_detail {
	struct pending *pending; /* of the client's request */
	const char *method;	 /* SESSION_EVENT_CALL */
	const char *params;
	size_t length;
	int code;	     /* failures */
	const char *message; /* failures */
	const char *data;    /* failures: JSON; READY: the result's members; DONE: usage */
	size_t data_length;
	enum stop_reason reason;
	const char *cause; /* GONE */
};

enum session_action {
	SESSION_IGNORE,
	SESSION_REFUSE, /* answer: no such session */
	SESSION_WAIT,	/* put it into the queue */
	SESSION_REVIVE, /* start a worker, put it into the queue */
	SESSION_START_TURN,
	SESSION_FORWARD_CALL,
	SESSION_FORWARD_COMMAND,
	SESSION_BEGIN_CANCEL,
	SESSION_CANCEL_WAITING, /* answer the prompts that wait with "cancelled" */
	SESSION_CLOSE_NOW,
	SESSION_CLOSE_AFTER_TURN,
	SESSION_CLOSE_DEAD, /* there is no worker to end */
	SESSION_BECOME_READY,
	SESSION_FAIL_SETUP,
	SESSION_SETUP_TIMEOUT,
	SESSION_END_TURN,
	SESSION_FAIL_TURN,
	SESSION_END_CANCELLED,
	SESSION_CANCEL_TIMEOUT,
	SESSION_RETIRE, /* idle for long: ask the worker to end */
	SESSION_STAY,	/* it does not; idle again */
	SESSION_RETIRE_TIMEOUT,
	SESSION_START_DIED, /* the worker died before it was ready */
	SESSION_IDLE_DIED,
	SESSION_TURN_DIED,
	SESSION_CANCEL_DIED,
	SESSION_CLOSED,
	SESSION_CANCEL_RECOVERY,
	SESSION_CLOSE_RECOVERY,
	SESSION_RECOVERY_TIMER,
	SESSION_RECOVERY_GO_ON,
	SESSION_FAIL_RECOVERY,
	SESSION_VIOLATION, /* the worker may not say this now */
	SESSION_ACTION_COUNT
};

enum session_action session_action_for(enum session_state state, enum session_event event);

#endif
