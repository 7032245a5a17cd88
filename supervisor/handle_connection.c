/*
 * The connection itself: initialize, authenticate, logout.
 */
#include <config.h>

#include "supervisor/handlers.h"
#include "supervisor/rpc.h"
#include "supervisor/supervisor.h"
#include "common/buffer.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

#define PROTOCOL_VERSION 1
#define SETUP_METHOD "hermes-setup"
/* Listed when no provider is configured: the registry wants one method of type agent. */
#define UNCONFIGURED_METHOD "hermes-config"

static const char *
method_id(const struct supervisor *supervisor)
{
	const struct settings *settings = catalogue_settings(supervisor->catalogue);

	return settings->provider != NULL ? settings->provider : UNCONFIGURED_METHOD;
}

static void
append_auth_methods(const struct supervisor *supervisor, struct buffer *result)
{
	const struct settings *settings = catalogue_settings(supervisor->catalogue);
	bool configured = settings->provider != NULL;

	buffer_append_text(result, ",\"authMethods\":[{\"id\":");
	buffer_append_json_text(result, method_id(supervisor));
	buffer_append_text(result, ",\"name\":");
	if (configured) {
		struct buffer name = BUFFER_EMPTY;

		buffer_printf(&name, "%s credentials", settings->label);
		buffer_append_json(result, buffer_text(&name), name.length);
		buffer_free(&name);
	} else {
		buffer_append_json_text(result, "Hermes configuration");
	}
	buffer_append_text(result, ",\"description\":");
	buffer_append_json_text(result,
	    configured ? "Uses the provider that is configured in the Hermes home folder"
		       : "Reads the Hermes home folder again; run hermes-acp --setup in a "
			 "terminal to choose a provider");
	buffer_append_byte(result, '}');
	if (supervisor->connection.terminal_auth)
		buffer_append_text(result,
		    ",{\"type\":\"terminal\",\"id\":\"" SETUP_METHOD
		    "\",\"name\":\"Set up Hermes\",\"description\":\"Asks for provider, key "
		    "and "
		    "model in a terminal\",\"args\":[\"--setup\"]}");
	buffer_append_byte(result, ']');
}

static void
append_result(const struct supervisor *supervisor, struct buffer *result)
{
	buffer_printf(result,
	    "{\"protocolVersion\":%d,\"agentInfo\":{\"name\":\"hermes-agent\",\"title\":"
	    "\"Hermes "
	    "Agent\",\"version\":\"%s\"},\"agentCapabilities\":{\"loadSession\":true,"
	    "\"promptCapabilities\":{\"image\":true,\"audio\":false,\"embeddedContext\":true},"
	    "\"mcpCapabilities\":{\"http\":false,\"sse\":false},"
	    "\"sessionCapabilities\":{\"list\":{},\"resume\":{},\"fork\":{},\"close\":{},"
	    "\"delete\":{},\"additionalDirectories\":{}},"
	    "\"auth\":{\"logout\":{}}}",
	    PROTOCOL_VERSION, PACKAGE_VERSION);
	append_auth_methods(supervisor, result);
	buffer_append_byte(result, '}');
}

/* Remembers what the client can do. */
static void
take_client(struct connection *connection, struct json_object *params)
{
	struct json_object *capabilities = json_member_object(params, "clientCapabilities");

	free(connection->capabilities);
	connection->capabilities =
	    capabilities != NULL ? strdup(json_text(capabilities, NULL)) : NULL;
	connection->terminal_auth =
	    json_member_boolean(json_member_object(capabilities, "auth"), "terminal", false);
}

void
handle_initialize(struct supervisor *supervisor, const struct call *call)
{
	struct json_object *params, *version;
	const char *reason;
	bool valid;

	params = call->params_length <= CLIENT_PARSE_MAX
		     ? json_parse(call->params, call->params_length, &reason)
		     : NULL;
	version = json_member(params, "protocolVersion");
	valid = json_object_is_type(version, json_type_int) &&
		json_object_get_int64(version) >= 0 && json_object_get_int64(version) <= 65535;
	if (!valid) {
		call_error(supervisor, call, RPC_INVALID_PARAMS,
		    "protocolVersion must be an integer from 0 to 65535", "field",
		    "protocolVersion");
		json_object_put(params);
		return;
	}
	take_client(&supervisor->connection, params);
	json_object_put(params);
	if (pending_new(supervisor->pending, PENDING_INITIALIZE, call->id, call->id_length,
		NULL) == NULL)
		call_error(supervisor, call, RPC_INTERNAL_ERROR, "Out of memory", NULL, NULL);
	else if (catalogue_settings(supervisor->catalogue)->known)
		handle_settings(supervisor);
	else
		/* The first line that goes out is this answer: nothing else is taken before. */
		client_reader_pause(supervisor->reader, true);
	supervisor->connection.initialized = true;
}

void
handle_authenticate(struct supervisor *supervisor, const struct call *call)
{
	struct json_object *params;
	const char *reason, *method;
	bool terminal, known;

	params = call->params_length <= CLIENT_PARSE_MAX
		     ? json_parse(call->params, call->params_length, &reason)
		     : NULL;
	method = json_member_string(params, "methodId");
	terminal = method != NULL && strcasecmp(method, SETUP_METHOD) == 0;
	known = method != NULL && (strcasecmp(method, method_id(supervisor)) == 0 ||
				      strcasecmp(method, UNCONFIGURED_METHOD) == 0);
	if (!known)
		call_error(supervisor, call, RPC_INVALID_PARAMS,
		    terminal ? "This method is run in a terminal: hermes-acp --setup"
			     : "Unknown authentication method",
		    "methodId", method != NULL ? method : "");
	else if (pending_new(supervisor->pending, PENDING_AUTHENTICATE, call->id,
		     call->id_length, NULL) == NULL)
		call_error(supervisor, call, RPC_INTERNAL_ERROR, "Out of memory", NULL, NULL);
	else
		catalogue_query(supervisor->catalogue);
	json_object_put(params);
}

void
handle_logout(struct supervisor *supervisor, const struct call *call)
{
	supervisor->connection.logged_out = true;
	call_result(supervisor, call, "{}");
}

void
handle_settings(struct supervisor *supervisor)
{
	const struct settings *settings = catalogue_settings(supervisor->catalogue);
	struct pending *pending;
	struct buffer result = BUFFER_EMPTY;

	while (
	    (pending = pending_first(supervisor->pending, PENDING_INITIALIZE, NULL)) != NULL) {
		buffer_clear(&result);
		append_result(supervisor, &result);
		pending_result(pending, buffer_text(&result), result.length);
		spare_prepare(supervisor->spare);
		if (!supervisor->stopping)
			client_reader_pause(supervisor->reader, false);
	}
	buffer_free(&result);
	while ((pending = pending_first(supervisor->pending, PENDING_AUTHENTICATE, NULL)) !=
	       NULL) {
		if (settings->provider != NULL) {
			supervisor->connection.logged_out = false;
			pending_result(pending, "{}", 2);
		} else {
			pending_error_with(pending, RPC_AUTH_REQUIRED,
			    "No model provider is configured", "details",
			    "Run hermes-acp --setup in a terminal, or put an API key into the "
			    ".env file of the Hermes home folder.");
		}
	}
	supervisor_check_stop(supervisor);
}
