/*
 * A turn whose worker died goes on with a successor.
 */
#ifndef HERMES_SUPERVISOR_SESSION_RECOVERY_H
#define HERMES_SUPERVISOR_SESSION_RECOVERY_H

#include "supervisor/session.h"

#include <stdbool.h>

/* The session's worker is gone in a turn: true when a successor will go on with it (state
 * RECOVERING), false when too many have died of it. */
bool recovery_begin(struct session *session, const char *cause);
/* Starts the successor; false with errno. */
bool recovery_start(struct session *session);
/* No successor goes on: what the client has seen is saved by the catalogue worker. */
void recovery_commit(struct session *session);
/* The successor is ready: tells it what the client has seen. */
void recovery_send(struct session *session);

#endif
