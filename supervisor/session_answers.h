/*
 * Answers that end a session's requests. What must work without a worker is encoded here.
 */
#ifndef HERMES_SUPERVISOR_SESSION_ANSWERS_H
#define HERMES_SUPERVISOR_SESSION_ANSWERS_H

#include "supervisor/session.h"

/* The request that opened the session and still waits, or NULL. */
struct pending *session_opening(const struct session *session);
/* Answers it with the worker's members. */
void session_answer_open(
    struct session *session, struct pending *pending, const char *members, size_t length);
/* Closes the open tool cards as failed, then answers the running prompt. */
void session_answer_turn(
    struct session *session, enum stop_reason reason, const char *usage, size_t length);
void session_answer_turn_failed(
    struct session *session, int code, const char *message, const char *data, size_t length);
/* The same when the worker has died: -32603 with the cause. */
void session_answer_turn_died(struct session *session, const char *cause);
void
session_error_died(struct pending *pending, const struct session *session, const char *cause);

/* Answers the prompts that wait with "cancelled"; calls keep waiting. */
void session_cancel_waiting(struct session *session);
/* Answers everything that waits with an error. `details` may be NULL. */
void session_fail_waiting(
    struct session *session, int code, const char *message, const char *details);
/* Answers what was forwarded to the worker (calls and commands) with an error. */
void session_fail_calls(struct session *session, const char *cause);
/* Answers session/close (if it was asked for) and all that still waits for the session, and
 * frees it. */
void session_answer_closed(struct session *session);

#endif
