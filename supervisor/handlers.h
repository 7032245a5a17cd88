/*
 * One function per method that a client may call. Each answers the request, or leaves it in
 * the pending table; a notification is never answered.
 */
#ifndef HERMES_SUPERVISOR_HANDLERS_H
#define HERMES_SUPERVISOR_HANDLERS_H

#include "supervisor/call.h"

struct supervisor;

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

/* rpc_methods.c: takes one line of the client. */
void rpc_dispatch(struct supervisor *supervisor, const struct client_line *line);

#endif
