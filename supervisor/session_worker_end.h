/*
 * The end of a session's worker outside a turn. All but the first four are actions of the table
 * in session_state.h.
 */
#ifndef HERMES_SUPERVISOR_SESSION_WORKER_END_H
#define HERMES_SUPERVISOR_SESSION_WORKER_END_H

#include "supervisor/session.h"
#include "supervisor/session_state.h"

/* What waits in a session without a worker gets one, or an error. */
void session_start_for_waiting(struct session *session);
/* Starts the worker that a request to open the session waits for, or answers with an error,
 * which frees the session. */
void session_open_now(struct session *session);
/* A worker may be had again: a session without one gets it when anything waits in it. May free
 * the session. */
void session_start_again(struct session *session);
/* The session has no worker now. What waits gets a new one, or an error. May free the session:
 * one that is to be closed. */
void session_become_dead(struct session *session);

/* Answers what is open and ends the worker; session/close is answered when it is gone. */
void session_close_now(struct session *session, const struct session_detail *detail);
/* The set-up failed with a reason of the worker's own. */
void session_fail_setup(struct session *session, const struct session_detail *detail);
/* The worker does not get ready in time. */
void session_setup_timeout(struct session *session, const struct session_detail *detail);
/* It died before it was ready; may free the session. */
void session_start_died(struct session *session, const struct session_detail *detail);
void session_idle_died(struct session *session, const struct session_detail *detail);
/* Nothing was asked of it for long: it is asked to end, which it does when it has nothing to do
 * either; what the client asks meanwhile waits for its answer. */
void session_retire(struct session *session, const struct session_detail *detail);
/* It does not answer that. */
void session_retire_timeout(struct session *session, const struct session_detail *detail);

#endif
