/*
 * JSON-RPC 2.0 messages that the supervisor writes itself. Ids are written as the client
 * spelt them.
 */
#ifndef HERMES_SUPERVISOR_RPC_H
#define HERMES_SUPERVISOR_RPC_H

#include <stddef.h>

struct client_writer;

/* Codes of JSON-RPC 2.0 section 5.1 and of the ACP page "Errors". */
enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_AUTH_REQUIRED = -32000,
	RPC_NOT_FOUND = -32002,
	RPC_CANCELLED = -32800
};

/* `id` is the id's own JSON text, or NULL for null. `result` is JSON on one line. */
void
rpc_result(struct client_writer *writer, const char *id, const char *result, size_t length);
/* `message` is cleaned to one line of UTF-8. `data` is JSON on one line or NULL. */
void rpc_error(struct client_writer *writer, const char *id, int code, const char *message,
    const char *data, size_t data_length);
/* An error whose data is {"<key>": "<text>"}. */
void rpc_error_with(struct client_writer *writer, const char *id, int code, const char *message,
    const char *key, const char *text);
/* The members of an object, and its closing brace, behind a first member that was written. */
void rpc_add_members(struct client_writer *writer, const char *object, size_t length);
/* A session/update notification. `session` is the quoted id, `update` a JSON object. */
void rpc_session_update(
    struct client_writer *writer, const char *session, const char *update, size_t length);
/* A request to the client. `params` is a JSON object without sessionId, which is put first. */
void rpc_client_request(struct client_writer *writer, int id, const char *method,
    size_t method_length, const char *session, const char *params, size_t length);
/* $/cancel_request for a request of ours. */
void rpc_client_cancel(struct client_writer *writer, int id);

#endif
