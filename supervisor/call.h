/*
 * One call of the client, and the answers that a handler gives at once.
 */
#ifndef HERMES_SUPERVISOR_CALL_H
#define HERMES_SUPERVISOR_CALL_H

#include "supervisor/client_reader.h"

#include <stddef.h>

struct session;
struct supervisor;

/* A request (`id` set) or a notification (`id` NULL). All borrowed. */
struct call {
	const struct client_line *line;
	const char *method;
	const char *id; /* JSON text */
	size_t id_length;
	const char *params; /* JSON text of an object; "{}" when the client left it out */
	size_t params_length;
};

void call_result(struct supervisor *supervisor, const struct call *call, const char *result);
/* `key` and `text` become the error's data; `key` may be NULL. */
void call_error(struct supervisor *supervisor, const struct call *call, int code,
    const char *message, const char *key, const char *text);
/* The session that params.sessionId names. When there is none the call is answered with
 * -32602 or -32002 and NULL is returned. */
struct session *call_session(struct supervisor *supervisor, const struct call *call);

#endif
