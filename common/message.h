/*
 * The whole contract between the supervisor and its workers. The direction stands in each
 * name; message.c holds one row per message that says when it is legal and how big it may
 * be. Payloads are read and written with wire.h; "json" means one JSON value to the end.
 */
#ifndef HERMES_COMMON_MESSAGE_H
#define HERMES_COMMON_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes with every change of this file that a peer could notice. */
#define MESSAGE_PROTOCOL_VERSION 5

enum message_type {
	/* To every worker. */
	TO_WORKER_SETUP = 100, /* json: role, session, client, settings; once */
	TO_WORKER_SHUTDOWN,    /* empty: save and end */

	/* To a session's worker. */
	TO_WORKER_TURN_START = 120, /* json: params of session/prompt as the client sent them */
	TO_WORKER_TURN_CANCEL,	    /* empty: end the turn of this turn id */
	TO_WORKER_TURN_RECOVER,	 /* json: open cards and unsaved chunks of a turn to go on with
				  */
	TO_WORKER_COMMAND,	 /* json: params of a session/prompt that acts at once */
	TO_WORKER_REQUEST,	 /* text method, json params: answer with RESPONSE */
	TO_WORKER_CLIENT_ANSWER, /* u8 failed, json: result or error of a CLIENT_REQUEST */
	TO_WORKER_RETIRE, /* empty: you are idle; say what a successor needs and end, or BUSY */

	/* To the catalogue worker. */
	TO_WORKER_SETTINGS_QUERY = 140, /* empty: read the configuration again, send SETTINGS */
	TO_WORKER_COMMIT_TAIL,		/* text session, json: unsaved chunks; nobody goes on */

	/* From every worker. */
	TO_SUPERVISOR_HELLO = 200, /* u32 version, u32 pid; first and once */
	TO_SUPERVISOR_READY, /* text commands that act at once, json: result of session/new */
	TO_SUPERVISOR_SETUP_FAILED, /* i32 code, text message, json data or empty; once */
	TO_SUPERVISOR_LOG,	    /* u8 level, text */
	TO_SUPERVISOR_FAREWELL,	    /* empty: a clean end follows */

	/* From a session's worker. */
	TO_SUPERVISOR_TEXT = 220, /* json: a chunk update of the running turn; joins its tail */
	TO_SUPERVISOR_TURN_UPDATE,    /* json: any other update of the running turn */
	TO_SUPERVISOR_SESSION_UPDATE, /* json: an update that needs no turn */
	TO_SUPERVISOR_CALL_OPEN,      /* text call id: a tool card is on the client's screen */
	TO_SUPERVISOR_CALL_STARTED,   /* text call id: its first side effect comes next */
	TO_SUPERVISOR_CALL_CLOSED,    /* text call id: the card has its final state */
	TO_SUPERVISOR_STATE_SAVED,    /* u64: this many TEXT messages of the turn are saved */
	TO_SUPERVISOR_SESSION_STATE,  /* json: mode and options for a successor's SETUP */
	TO_SUPERVISOR_CLIENT_REQUEST, /* text method, text call id, json params without
					 sessionId */
	TO_SUPERVISOR_CLIENT_CANCEL,  /* empty: the answer is not wanted any more */
	TO_SUPERVISOR_RESPONSE,	      /* json: result of a REQUEST or COMMAND */
	TO_SUPERVISOR_RESPONSE_ERROR, /* i32 code, text message, json data or empty */
	TO_SUPERVISOR_TURN_DONE,      /* u8 stop reason, json usage or empty */
	TO_SUPERVISOR_TURN_FAILED,    /* i32 code, text message, json data or empty */
	TO_SUPERVISOR_BUSY, /* empty: the answer to RETIRE of one that cannot end now */

	/* From the catalogue worker. */
	TO_SUPERVISOR_SETTINGS = 260, /* json: provider, limits, log level */
	TO_SUPERVISOR_TAIL_COMMITTED, /* text session: one COMMIT_TAIL of it is done with */
};

/* Stop reasons of a turn, in the order of the ACP page "Prompt turn". */
enum stop_reason {
	STOP_REASON_END_TURN,
	STOP_REASON_MAX_TOKENS,
	STOP_REASON_MAX_TURN_REQUESTS,
	STOP_REASON_REFUSAL,
	STOP_REASON_CANCELLED,
	STOP_REASON_COUNT
};

/* States of a session, as the supervisor sees it. */
enum session_state {
	SESSION_STARTING,     /* a worker gets ready */
	SESSION_IDLE,	      /* ready, no turn */
	SESSION_TURN_RUNNING, /* a prompt is being answered */
	SESSION_CANCELLING,   /* the turn was cancelled, its end is awaited */
	SESSION_RECOVERING,   /* a successor takes over a turn */
	SESSION_RETIRING,     /* the idle worker was asked to give its process back */
	SESSION_STOPPING,     /* the worker was told to end */
	SESSION_DEAD,	      /* no worker */
	SESSION_STATE_COUNT
};

enum message_direction { MESSAGE_TO_WORKER, MESSAGE_TO_SUPERVISOR };
enum message_peer {
	MESSAGE_PEER_SESSION = 1,
	MESSAGE_PEER_CATALOGUE = 2,
	MESSAGE_PEER_ANY = 3
};

struct message_row {
	enum message_type type;
	const char *name;
	enum message_direction direction;
	enum message_peer peer;
	unsigned states; /* bit per session_state in which it is legal */
	bool once;	 /* legal once in a worker's life */
	bool setup; /* legal before READY only (HELLO, READY, SETUP_FAILED) or at any time */
	size_t least, most; /* payload bytes after joining its parts */
};

/* Largest payload of one frame; more travels in parts (frame.h). */
#define MESSAGE_FRAME_MAX (256 * 1024)
/* Largest joined payload to a worker: a client's line. */
#define MESSAGE_LINE_MAX (64 * 1024 * 1024)
/* Largest joined payload from a worker that becomes part of a line. */
#define MESSAGE_UPDATE_MAX (8 * 1024 * 1024)

/* The row of a type, NULL for an unknown one. */
const struct message_row *message_row(unsigned type);
const struct message_row *message_rows(size_t *count);
const char *message_name(unsigned type);
const char *stop_reason_name(enum stop_reason reason);
const char *session_state_name(enum session_state state);

#endif
