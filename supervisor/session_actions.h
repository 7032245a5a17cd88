/*
 * What is done about the events of a session, by the table of session_state.h.
 */
#ifndef HERMES_SUPERVISOR_SESSION_ACTIONS_H
#define HERMES_SUPERVISOR_SESSION_ACTIONS_H

#include "supervisor/session.h"
#include "supervisor/session_state.h"

#include <stdbool.h>

/* Runs an event through the table. The session may be freed by it. */
void session_event(
    struct session *session, enum session_event event, const struct session_detail *detail);
/* Closes the session; one that is being closed only to be opened again stays closed. It may be
 * freed by it. */
void session_close(struct session *session);
/* True when the session has nothing under way that opening it again would break off. */
bool session_may_open_again(const struct session *session);
/* Ends the worker of an idle session and starts another one with the session's set-up. */
void session_open_again(struct session *session);
/* The session's timer has run down. */
void session_timer(struct session *session);

#endif
