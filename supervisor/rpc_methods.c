/*
 * The client's lines: envelope, method table, handler. Whatever the line is, it gets exactly
 * the answers that JSON-RPC 2.0 and ACP prescribe, and the connection goes on.
 */
#include <config.h>

#include "supervisor/handlers.h"
#include "supervisor/rpc.h"
#include "supervisor/supervisor.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>

struct method {
	const char *name;
	bool notification; /* it is one; as a request it is unknown */
	bool params;	   /* params must be there */
	void (*handle)(struct supervisor *, const struct call *);
};

static const struct method methods[] = {
    {"session/prompt", false, true, handle_session_prompt},
    {"session/cancel", true, true, handle_session_cancel},
    {"$/cancel_request", true, true, handle_cancel_request},
    {"session/new", false, true, handle_session_new},
    {"session/load", false, true, handle_session_load},
    {"session/resume", false, true, handle_session_resume},
    {"session/fork", false, true, handle_session_fork},
    {"session/list", false, false, handle_session_list},
    {"session/close", false, true, handle_session_close},
    {"session/delete", false, true, handle_session_delete},
    {"session/set_mode", false, true, handle_session_call},
    {"session/set_config_option", false, true, handle_session_call},
    {"session/set_model", false, true, handle_session_call},
    {"initialize", false, true, handle_initialize},
    {"authenticate", false, true, handle_authenticate},
    {"logout", false, false, handle_logout},
};

/* An id that can be echoed bit by bit: a string, an integer, or null. A number with a
 * fraction or an exponent, or beyond 64 bits, is refused (known from JetBrains' client). */
static bool
valid_id(const char *id, size_t length)
{
	size_t digits = length - (id[0] == '-'), i;

	if (id[0] == '"')
		return true;
	if (length == 4 && memcmp(id, "null", 4) == 0)
		return true;
	if (id[0] != '-' && (id[0] < '0' || id[0] > '9'))
		return false;
	for (i = length - digits; i < length; i++)
		if (id[i] < '0' || id[i] > '9')
			return false;
	if (digits < 19)
		return true;
	return digits == 19 &&
	       memcmp(id + length - digits,
		   id[0] == '-' ? "9223372036854775808" : "9223372036854775807", 19) <= 0;
}

static const struct method *
find_method(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

static void
run_request(struct supervisor *supervisor, const struct call *call)
{
	const struct method *method = find_method(call->method);

	if (!supervisor->connection.initialized && strcmp(call->method, "initialize") != 0) {
		call_error(supervisor, call, RPC_INVALID_REQUEST, "initialize must come first",
		    "method", call->method);
		return;
	}
	if (method == NULL || (method->notification && call->id != NULL)) {
		call_error(supervisor, call, RPC_METHOD_NOT_FOUND, "Method not found", "method",
		    call->method);
		return;
	}
	if (call->params[0] != '{' || (method->params && call->params_length <= 2)) {
		call_error(supervisor, call, RPC_INVALID_PARAMS,
		    call->params[0] != '{' ? "params must be an object" : "params are missing",
		    "method", call->method);
		return;
	}
	if (call->id == NULL && !method->notification) {
		log_debug("rpc", "%s as a notification was ignored", call->method);
		return;
	}
	method->handle(supervisor, call);
}

static void
invalid(struct supervisor *supervisor, const char *id, size_t length, int code,
    const char *message, const char *details)
{
	char *copy = id != NULL ? strndup(id, length) : NULL;

	rpc_error_with(supervisor->writer, copy, code, message, "details", details);
	free(copy);
}

/* Checks the envelope. NULL when it is fine. */
static const char *
envelope_fault(const struct client_line *line)
{
	const char *version;
	size_t length, i;

	if (line->text[strspn(line->text, " \t\r")] == '[')
		return "batches are not part of ACP";
	if (line->text[strspn(line->text, " \t\r")] != '{')
		return "a message must be an object";
	for (i = 0; i < PART_SESSION_ID; i++)
		if (line->parts[i].seen > 1)
			return "a member stands there twice";
	version = client_line_part(line, PART_JSONRPC, &length);
	if (version == NULL || length != 5 || memcmp(version, "\"2.0\"", 5) != 0)
		return "jsonrpc must be \"2.0\"";
	return NULL;
}

void
rpc_dispatch(struct supervisor *supervisor, const struct client_line *line)
{
	struct call call = {.line = line};
	const char *fault;
	char *method;
	size_t length;

	if (line->error != NULL) {
		/* Too deep is well-formed text that is not followed, the rest is no JSON. */
		if (strstr(line->error, "deep") != NULL)
			invalid(supervisor, NULL, 0, RPC_INVALID_REQUEST, "Invalid request",
			    line->error);
		else
			invalid(
			    supervisor, NULL, 0, RPC_PARSE_ERROR, "Parse error", line->error);
		return;
	}
	fault = envelope_fault(line);
	call.id = client_line_part(line, PART_ID, &call.id_length);
	if (call.id != NULL && !valid_id(call.id, call.id_length)) {
		invalid(supervisor, NULL, 0, RPC_INVALID_REQUEST, "Invalid request",
		    "id must be a string, a 64-bit integer or null");
		return;
	}
	if (fault != NULL) {
		/* Of two ids none is the right one to answer with. */
		invalid(supervisor, line->parts[PART_ID].seen == 1 ? call.id : NULL,
		    call.id_length, RPC_INVALID_REQUEST, "Invalid request", fault);
		return;
	}
	if (client_line_part(line, PART_METHOD, &length) == NULL) {
		if (line->parts[PART_RESULT].seen + line->parts[PART_ERROR].seen > 0)
			handle_client_answer(supervisor, line);
		else
			invalid(supervisor, call.id, call.id_length, RPC_INVALID_REQUEST,
			    "Invalid request", "method is missing");
		return;
	}
	method = client_line_string(line, PART_METHOD);
	if (method == NULL) {
		invalid(supervisor, call.id, call.id_length, RPC_INVALID_REQUEST,
		    "Invalid request", "method must be a string");
		return;
	}
	call.method = method;
	call.params = client_line_part(line, PART_PARAMS, &call.params_length);
	if (call.params == NULL || call.params[0] == 'n') {
		call.params = "{}";
		call.params_length = 2;
	}
	run_request(supervisor, &call);
	free(method);
}
