/*
 * One function per method that a client may call. Each answers the request, or leaves it in
 * the pending table; a notification is never answered.
 */
#ifndef HERMES_SUPERVISOR_HANDLERS_H
#define HERMES_SUPERVISOR_HANDLERS_H

#include "supervisor/client_reader.h"

#include <stdbool.h>

struct session;
struct supervisor;

/* A request (`id` set) or a notification (`id` NULL). */
struct call {
	const struct client_line *line;
	const char *method;
	const char *id; /* JSON text */
	size_t id_length;
	const char *params; /* JSON text of an object; "{}" when the client left it out */
	size_t params_length;
};

/* handle_connection.c */
void handle_initialize(struct supervisor *supervisor, const struct call *call);
void handle_authenticate(struct supervisor *supervisor, const struct call *call);
void handle_logout(struct supervisor *supervisor, const struct call *call);
/* The settings have changed: answers what waited for them. */
void handle_settings(struct supervisor *supervisor);

/* handle_session.c */
void handle_session_new(struct supervisor *supervisor, const struct call *call);
void handle_session_close(struct supervisor *supervisor, const struct call *call);
/* Requests that the session's worker answers. */
void handle_session_call(struct supervisor *supervisor, const struct call *call);

/* handle_turn.c */
void handle_session_prompt(struct supervisor *supervisor, const struct call *call);
void handle_session_cancel(struct supervisor *supervisor, const struct call *call);
void handle_cancel_request(struct supervisor *supervisor, const struct call *call);

/* handle_client_answer.c */
void handle_client_answer(struct supervisor *supervisor, const struct client_line *line);

/* For handlers: answers. */
void call_result(struct supervisor *supervisor, const struct call *call, const char *result);
void call_error(struct supervisor *supervisor, const struct call *call, int code,
    const char *message, const char *key, const char *text);
/* The session that params.sessionId names. When there is none the call is answered with
 * -32602 or -32002 and NULL is returned. */
struct session *call_session(struct supervisor *supervisor, const struct call *call);

/* rpc_methods.c: takes one line of the client. */
void rpc_dispatch(struct supervisor *supervisor, const struct client_line *line);

#endif
