/*
 * A session's worker and its timer.
 */
#ifndef HERMES_SUPERVISOR_SESSION_WORKER_H
#define HERMES_SUPERVISOR_SESSION_WORKER_H

#include "supervisor/session.h"

#include <stdint.h>

/* Starts a worker and sends it the set-up; the state is STARTING then. 0, or -1 with errno. */
int session_start_worker(struct session *session);
/* The same, but no worker may load the session while the rest of an answer is being saved: it
 * stays DEAD then, and session_start_again() goes on. */
int session_provide_worker(struct session *session);
/* Calls supervisor->session_timer() once after a time; an earlier one is forgotten. */
void session_arm(struct session *session, int64_t milliseconds);
void session_disarm(struct session *session);
/* The session has just become idle, or was of use while it is: its idle time begins. */
void session_idle_since_now(struct session *session);

#endif
