/*
 * Writing JSON-RPC. Nothing here decides anything; every function but rpc_add_members()
 * writes exactly one line.
 */
#include <config.h>

#include "supervisor/rpc.h"
#include "supervisor/client_writer.h"
#include "common/buffer.h"

#include <stdio.h>
#include <string.h>

static void
start(struct client_writer *writer, const char *id)
{
	client_writer_text(writer, "{\"jsonrpc\":\"2.0\",\"id\":");
	client_writer_text(writer, id != NULL ? id : "null");
}

void
rpc_result(struct client_writer *writer, const char *id, const char *result, size_t length)
{
	start(writer, id);
	client_writer_text(writer, ",\"result\":");
	client_writer_add(writer, result, length);
	client_writer_text(writer, "}\n");
}

void
rpc_error(struct client_writer *writer, const char *id, int code, const char *message,
    const char *data, size_t data_length)
{
	struct buffer text = BUFFER_EMPTY;

	buffer_printf(&text, ",\"error\":{\"code\":%d,\"message\":", code);
	buffer_append_json_text(&text, message);
	if (data != NULL && data_length > 0) {
		buffer_append_text(&text, ",\"data\":");
		buffer_append(&text, data, data_length);
	}
	buffer_append_text(&text, "}}\n");
	start(writer, id);
	if (text.failed) /* out of memory: the line still has to end */
		client_writer_text(
		    writer, ",\"error\":{\"code\":-32603,\"message\":\"Out of memory\"}}\n");
	else
		client_writer_add(writer, text.data, text.length);
	buffer_free(&text);
}

void
rpc_error_with(struct client_writer *writer, const char *id, int code, const char *message,
    const char *key, const char *text)
{
	struct buffer data = BUFFER_EMPTY;

	buffer_append_byte(&data, '{');
	buffer_append_json_text(&data, key);
	buffer_append_byte(&data, ':');
	buffer_append_json_text(&data, text);
	buffer_append_byte(&data, '}');
	rpc_error(writer, id, code, message, data.failed ? NULL : data.data, data.length);
	buffer_free(&data);
}

void
rpc_session_update(
    struct client_writer *writer, const char *session, const char *update, size_t length)
{
	client_writer_text(writer,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":");
	client_writer_text(writer, session);
	client_writer_text(writer, ",\"update\":");
	client_writer_add(writer, update, length);
	client_writer_text(writer, "}}\n");
}

void
rpc_add_members(struct client_writer *writer, const char *object, size_t length)
{
	size_t at = 1;

	while (at < length && (object[at] == ' ' || object[at] == '\t'))
		at++;
	if (at < length && object[at] != '}')
		client_writer_text(writer, ",");
	client_writer_add(writer, object + at, length - at);
}

void
rpc_client_request(struct client_writer *writer, int id, const char *method,
    size_t method_length, const char *session, const char *params, size_t length)
{
	char number[16];

	snprintf(number, sizeof number, "%d", id);
	start(writer, number);
	client_writer_text(writer, ",\"method\":\"");
	client_writer_add(writer, method, method_length);
	client_writer_text(writer, "\",\"params\":{\"sessionId\":");
	client_writer_text(writer, session);
	rpc_add_members(writer, params, length);
	client_writer_text(writer, "}\n");
}

void
rpc_client_cancel(struct client_writer *writer, int id)
{
	struct buffer text = BUFFER_EMPTY;

	buffer_printf(&text,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"$/"
	    "cancel_request\",\"params\":{\"requestId\":%d}}\n",
	    id);
	client_writer_add(writer, buffer_text(&text), text.length);
	buffer_free(&text);
}
