/*
 * From the start of the agent to an open session.
 */
#include <config.h>

#include "contrib/acp-chat/chat_state.h"

#include "common/alloc.h"

#include <inttypes.h>

#define PROTOCOL_VERSION 1

static void
on_session(struct json_object *result, struct json_object *error, void *arg)
{
	struct chat *chat = arg;
	const char *id = json_member_string(result, "sessionId");

	if (chat->phase == PHASE_ENDING)
		return;
	if (error != NULL || id == NULL) {
		if (error != NULL)
			turns_fail(chat, "session/new", error);
		else
			render_message(&chat->render, "session/new gave no sessionId");
		ending_quit(chat, CHAT_ERROR);
		return;
	}
	chat->session_id = xstrdup(id);
	chat->phase = PHASE_READY;
	if (chat->options->prompt != NULL)
		turns_prompt(chat, chat->options->prompt);
	else
		turns_next(chat);
	ending_flush(chat);
}

static void
open_session(struct chat *chat)
{
	struct json_object *params = json_object_new_object();

	json_set_text(params, "cwd", chat->options->folder);
	json_set(params, "mcpServers", json_object_new_array());
	chat->step = "session/new";
	connection_request(chat->connection, chat->step, params, on_session, chat);
}

static void
on_authenticated(struct json_object *result, struct json_object *error, void *arg)
{
	struct chat *chat = arg;

	(void)result;
	if (chat->phase == PHASE_ENDING)
		return;
	if (error != NULL) {
		turns_fail(chat, "authenticate", error);
		ending_quit(chat, CHAT_ERROR);
		return;
	}
	open_session(chat);
}

static void
on_initialized(struct json_object *result, struct json_object *error, void *arg)
{
	struct chat *chat = arg;
	struct json_object *params, *info = json_member(result, "agentInfo");
	int64_t version = -1;

	if (chat->phase == PHASE_ENDING)
		return;
	json_member_integer(result, "protocolVersion", &version);
	if (error != NULL) {
		turns_fail(chat, "initialize", error);
		ending_quit(chat, CHAT_ERROR);
	} else if (version != PROTOCOL_VERSION) {
		render_message(&chat->render,
		    "the agent speaks version %" PRId64 " of the protocol, acp-chat version %d",
		    version, PROTOCOL_VERSION);
		ending_quit(chat, CHAT_ERROR);
	} else {
		chat->sign_in_methods =
		    json_object_get(json_member_array(result, "authMethods"));
		if (chat->typing && chat->options->prompt == NULL)
			render_line(&chat->render, STYLE_DIM,
			    "%s %s in %s. Ctrl-C cancels a turn, /quit ends.",
			    json_member_text(info, "name", "Agent"),
			    json_member_text(info, "version", ""), chat->options->folder);
		if (chat->options->auth == NULL) {
			open_session(chat);
			return;
		}
		params = json_object_new_object();
		json_set_text(params, "methodId", chat->options->auth);
		chat->step = "authenticate";
		connection_request(
		    chat->connection, chat->step, params, on_authenticated, chat);
	}
}

void
opening_start(struct chat *chat)
{
	struct json_object *params = json_object_new_object(), *info = json_object_new_object();
	struct json_object *can = json_object_new_object(), *files = json_object_new_object();
	struct json_object *auth = json_object_new_object();

	json_set_boolean(files, "readTextFile", false);
	json_set_boolean(files, "writeTextFile", false);
	/* Ways to sign in on a terminal are told to the user, who has one. */
	json_set_boolean(auth, "terminal", true);
	json_set(can, "fs", files);
	json_set_boolean(can, "terminal", false);
	json_set(can, "auth", auth);
	json_set_text(info, "name", "acp-chat");
	json_set_text(info, "title", "acp-chat");
	json_set_text(info, "version", PACKAGE_VERSION);
	json_set_integer(params, "protocolVersion", PROTOCOL_VERSION);
	json_set(params, "clientCapabilities", can);
	json_set(params, "clientInfo", info);
	chat->step = "initialize";
	connection_request(chat->connection, chat->step, params, on_initialized, chat);
}
