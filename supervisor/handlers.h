/*
 * One function per method that a client may call. Each answers the request, or leaves it in
 * the pending table; a notification is never answered.
 */
#ifndef HERMES_SUPERVISOR_HANDLERS_H
#define HERMES_SUPERVISOR_HANDLERS_H

#include "supervisor/call.h"

#include <stdbool.h>
#include <stdint.h>

struct pending;
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

/* True when the params can open a session; else the call has been answered. */
bool handle_session_check(struct supervisor *supervisor, const struct call *call);

/* handle_open.c */
void handle_session_load(struct supervisor *supervisor, const struct call *call);
void handle_session_resume(struct supervisor *supervisor, const struct call *call);
/* Opens a stored session under its id and answers `pending` when it is ready. */
void handle_open_stored(struct supervisor *supervisor, struct pending *pending, const char *id,
    const char *params, size_t length);

/* handle_catalogue.c */
void handle_session_list(struct supervisor *supervisor, const struct call *call);
void handle_session_delete(struct supervisor *supervisor, const struct call *call);
void handle_session_fork(struct supervisor *supervisor, const struct call *call);
void
handle_catalogue_delete(struct supervisor *supervisor, struct pending *pending, const char *id);
void handle_catalogue_answer(
    struct supervisor *supervisor, uint32_t token, const char *result, size_t length);
void handle_catalogue_error(struct supervisor *supervisor, uint32_t token, int code,
    const char *message, const char *data, size_t length);
void handle_catalogue_committed(struct supervisor *supervisor, const char *id);
void handle_catalogue_gone(struct supervisor *supervisor, const char *cause);

/* handle_turn.c */
void handle_session_prompt(struct supervisor *supervisor, const struct call *call);
void handle_session_cancel(struct supervisor *supervisor, const struct call *call);
void handle_cancel_request(struct supervisor *supervisor, const struct call *call);

/* handle_client_answer.c */
void handle_client_answer(struct supervisor *supervisor, const struct client_line *line);

/* rpc_methods.c: takes one line of the client. */
void rpc_dispatch(struct supervisor *supervisor, const struct client_line *line);

#endif
