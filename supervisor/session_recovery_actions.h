/*
 * Actions of the table in session_state.h: a worker died in a turn, and what happens until a
 * successor has taken the turn over. Those that end without a successor may free the session.
 */
#ifndef HERMES_SUPERVISOR_SESSION_RECOVERY_ACTIONS_H
#define HERMES_SUPERVISOR_SESSION_RECOVERY_ACTIONS_H

#include "supervisor/session.h"
#include "supervisor/session_state.h"

/* The worker died in a turn, or in one that was being cancelled. */
void session_turn_died(struct session *session, const struct session_detail *detail);
void session_cancel_died(struct session *session, const struct session_detail *detail);
/* The client does not want the turn any more that a successor was to go on with. */
void session_cancel_recovery(struct session *session, const struct session_detail *detail);
void session_close_recovery(struct session *session, const struct session_detail *detail);
/* The pause before the next try is over, or the successor is not ready in time. */
void session_recovery_timer(struct session *session, const struct session_detail *detail);
/* The successor takes the turn over. */
void session_recovery_go_on(struct session *session, const struct session_detail *detail);
/* The successor's set-up failed: so does the turn. */
void session_fail_recovery(struct session *session, const struct session_detail *detail);

#endif
