/*
 * The payload of SETUP: what a worker has to know before it can serve.
 */
#ifndef HERMES_SUPERVISOR_SESSION_SETUP_H
#define HERMES_SUPERVISOR_SESSION_SETUP_H

#include "common/buffer.h"

#include <stddef.h>

struct session;
struct supervisor;
struct supervisor_options;

/* Most that a session's set-up may take (ARCHITECTURE.md). */
#define SESSION_SETUP_MAX (256u * 1024)

/* Keeps the set-up of a session from the params of session/new. The closing brace is left to
 * session_start_worker(), which adds the state. 0 or -1. */
int session_setup_build(
    struct supervisor *supervisor, struct session *session, const char *params, size_t length);
/* The whole set-up of the catalogue worker. */
void session_setup_catalogue(const struct supervisor_options *options, struct buffer *setup);

#endif
