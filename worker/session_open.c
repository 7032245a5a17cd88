/*
 * A session that was stored comes back: its messages, its mode, its list of what is to be
 * done. session/load shows all of it again; resume and a successor do not.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/acp/replay.h"
#include "worker/agent/system_prompt.h"
#include "worker/store/checkpoints.h"
#include "worker/store/store_sqlite.h"
#include "worker/supervisor_link.h"
#include "worker/tools/todo.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/wire.h"

#include <stdlib.h>
#include <string.h>

#define NOT_FOUND (-32002)
#define INTERNAL_ERROR (-32603)

static void
answer_not_found(struct worker *worker)
{
	static const char message[] = "No such session";
	char *notice = store_sqlite_notice(worker->agent.store); /* nobody else will tell it */
	struct buffer payload = BUFFER_EMPTY;

	wire_put_u32(&payload, (uint32_t)NOT_FOUND);
	wire_put_text(&payload, message, sizeof message - 1);
	buffer_append_text(&payload, "{\"sessionId\":");
	buffer_append_json_text(&payload, worker->session_id);
	if (notice != NULL) {
		buffer_append_text(&payload, ",\"details\":");
		buffer_append_json_text(&payload, notice);
	}
	buffer_append_byte(&payload, '}');
	link_send(worker->link, TO_SUPERVISOR_SETUP_FAILED, 0, 0, payload.data, payload.length);
	buffer_free(&payload);
	free(notice);
}

/* The list as the last todo call left it. */
static void
restore_todo(struct worker *worker, struct json_object *message)
{
	const char *text = json_member_text(message, "content", ""), *reason;
	struct json_object *value;

	if (strcmp(json_member_text(message, "name", ""), "todo") != 0)
		return;
	value = json_parse(text, strlen(text), &reason);
	if (json_has(value, "todos"))
		todo_list_restore(worker->agent.tools.todo, value);
	json_object_put(value);
}

static void
restore_messages(struct worker *worker, struct json_object *messages)
{
	size_t count = messages != NULL ? json_object_array_length(messages) : 0, i;
	struct json_object *message;

	for (i = 0; i < count; i++) {
		message = json_object_array_get_idx(messages, i);
		conversation_adopt(worker->agent.conversation, message);
		restore_todo(worker, message);
	}
}

/* A session of another program goes on in a copy: the tools work for that one. */
static void
use_copy(struct worker *worker, const char *id)
{
	free(worker->stored_id);
	worker->stored_id = xstrdup(id);
	worker->agent.tools.session_id = worker->stored_id;
	checkpoints_rename(worker->agent.tools.checkpoints, id);
}

/* What the set-up did not say itself. */
static void
restore_session(struct worker *worker, struct json_object *session)
{
	const char *mode = json_member_string(json_member_object(session, "config"), "mode");
	const char *title = json_member_string(session, "title");
	const char *prompt = json_member_string(session, "system_prompt");
	struct agent *agent = &worker->agent;

	if (mode != NULL && !worker->mode_given)
		session_mode_parse(mode, &agent->tools.mode);
	session_restore_model(worker, session);
	if (agent->system_prompt == NULL && prompt != NULL && system_prompt_fits(agent, prompt))
		agent->system_prompt = xstrdup(prompt);
	/* The process that died may not have come to tell it. */
	if (title != NULL && worker->opening == SESSION_OPEN_REVIVE && !worker->titled)
		session_tell_title(worker, title);
	worker->titled = title != NULL;
	worker->title_derived =
	    strcmp(json_member_text(session, "title_source", ""), "derived") == 0;
}

static void
send_update(const char *update, size_t length, void *arg)
{
	struct worker *worker = arg;

	link_send(worker->link, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, update, length);
}

static void
on_loaded(const struct store_loaded *loaded, void *arg)
{
	struct worker *worker = arg;

	if (loaded->error != NULL && worker->opening == SESSION_OPEN_REVIVE) {
		/* The session lives on; what it cannot remember it says. */
		log_error("store", "%s", loaded->error);
		buffer_printf(&worker->notes,
		    "The earlier conversation could not be read: %s\n", loaded->error);
	} else if (loaded->error != NULL) {
		link_send_failure(worker->link, TO_SUPERVISOR_SETUP_FAILED, 0, 0,
		    INTERNAL_ERROR, "The session could not be read", loaded->error, NULL);
		return;
	} else if (loaded->session == NULL && worker->opening != SESSION_OPEN_REVIVE) {
		answer_not_found(worker);
		return;
	} else {
		if (loaded->id != NULL && strcmp(loaded->id, worker->session_id) != 0)
			use_copy(worker, loaded->id);
		restore_session(worker, loaded->session);
		session_restore_usage(worker, loaded->session);
		restore_messages(worker, loaded->messages);
		if (worker->opening == SESSION_OPEN_LOAD && loaded->messages != NULL)
			replay_messages(loaded->messages, send_update, worker);
	}
	session_note_store(worker);
	worker->opened(worker);
}

void
session_open(struct worker *worker, void (*opened)(struct worker *worker))
{
	worker->opened = opened;
	if (worker->opening == SESSION_OPEN_NEW)
		opened(worker);
	else
		store_sqlite_load(worker->agent.store, on_loaded, worker);
}
