/*
 * JSON-RPC 2.0 over two descriptors, one message per line.
 */
#ifndef HERMES_CONTRIB_ACP_CHAT_CONNECTION_H
#define HERMES_CONTRIB_ACP_CHAT_CONNECTION_H

#include "common/json.h"

#include <stdint.h>

#define CONNECTION_METHOD_NOT_FOUND (-32601)
#define CONNECTION_CANCELLED (-32800)

struct event_base;
struct connection;

/* What comes in; all values are borrowed. `id` may be of any type. */
struct connection_callbacks {
	void (*request)(
	    struct json_object *id, const char *method, struct json_object *params, void *arg);
	void (*notification)(const char *method, struct json_object *params, void *arg);
	/* A line that is no message; the connection goes on. */
	void (*nonsense)(const char *reason, const char *line, void *arg);
	/* The end; `reason` NULL = the other side closed it. Called once. */
	void (*closed)(const char *reason, void *arg);
};

/* The answer to a request: exactly one of `result` (may be NULL for null) and `error`. */
typedef void (*connection_answer)(
    struct json_object *result, struct json_object *error, void *arg);

/* Takes over both descriptors. */
struct connection *connection_new(struct event_base *base, int in, int out,
    const struct connection_callbacks *callbacks, void *arg);
void connection_free(struct connection *connection);
/* All take over `params`, `result` and `data`. */
void connection_request(struct connection *connection, const char *method,
    struct json_object *params, connection_answer answer, void *arg);
void connection_notify(
    struct connection *connection, const char *method, struct json_object *params);
void connection_reply(
    struct connection *connection, struct json_object *id, struct json_object *result);
void connection_refuse(struct connection *connection, struct json_object *id, int code,
    const char *message, struct json_object *data);
/* Tells the other side that nothing more comes. */
void connection_end_output(struct connection *connection);

#endif
