/*
 * What the catalogue worker answers from the database: the list of sessions, deleting one,
 * copying one, saving the rest of an answer.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/acp/encode_v1.h"
#include "worker/store/checkpoints.h"
#include "worker/store/state_catalogue.h"
#include "worker/store/state_sql.h"
#include "worker/supervisor_link.h"
#include "common/alloc.h"
#include "common/identifier.h"
#include "common/log.h"
#include "common/wire.h"

#include <stdlib.h>
#include <string.h>

#define INVALID_PARAMS (-32602)
#define METHOD_NOT_FOUND (-32601)
#define INTERNAL_ERROR (-32603)
#define NOT_FOUND (-32002)

struct catalogue_call {
	struct worker *worker;
	uint32_t request;
	int refused; /* the code of a refusal */
	struct json_object *params;
};

static void on_done(int code, struct json_object *result, const char *error, void *arg);

static const char *
param(const struct catalogue_call *call, const char *name)
{
	return json_member_string(call->params, name);
}

static void
list(struct catalogue_call *call)
{
	struct json_object *meta = json_member_object(call->params, "_meta");
	bool all_sources =
	    json_member_boolean(json_member_object(meta, "hermesAcp"), "allSources", false);

	state_catalogue_list(call->worker->queue, param(call, "cwd"), param(call, "cursor"),
	    all_sources, on_done, call);
}

static void
delete_session(struct catalogue_call *call)
{
	state_catalogue_delete(call->worker->queue, param(call, "sessionId"), on_done, call);
}

static void
fork_session(struct catalogue_call *call)
{
	char id[IDENTIFIER_SIZE];

	if (identifier_uuid(id) == -1)
		on_done(STATE_REFUSED, NULL, "The system gives no random numbers", call);
	else
		state_catalogue_fork(call->worker->queue, param(call, "sessionId"), id,
		    param(call, "cwd"), on_done, call);
}

static const struct {
	const char *method;
	int refused;
	bool session; /* sessionId must be there */
	void (*run)(struct catalogue_call *);
} rows[] = {
    {"session/list", INVALID_PARAMS, false, list},
    {"session/delete", INTERNAL_ERROR, true, delete_session},
    {"session/fork", INTERNAL_ERROR, true, fork_session},
};

static void
free_call(struct catalogue_call *call)
{
	json_object_put(call->params);
	free(call);
}

static void
answer_not_found(struct catalogue_call *call)
{
	static const char message[] = "No such session";
	struct buffer payload = BUFFER_EMPTY;

	wire_put_u32(&payload, (uint32_t)NOT_FOUND);
	wire_put_text(&payload, message, sizeof message - 1);
	buffer_append_text(&payload, "{\"sessionId\":");
	buffer_append_json_text(&payload, json_member_text(call->params, "sessionId", ""));
	buffer_append_byte(&payload, '}');
	link_send(call->worker->link, TO_SUPERVISOR_RESPONSE_ERROR, call->request, 0,
	    payload.data, payload.length);
	buffer_free(&payload);
}

/* The result without what the protocol does not name. */
static void
answer(struct catalogue_call *call, struct json_object *result)
{
	json_object_object_del(result, "removed");
	json_object_object_del(result, "messages");
	link_send_json(call->worker->link, TO_SUPERVISOR_RESPONSE, call->request, 0, result);
}

static void
on_done(int code, struct json_object *result, const char *error, void *arg)
{
	struct catalogue_call *call = arg;

	if (code == SQLITE_NOTFOUND)
		answer_not_found(call);
	else if (error == NULL && result != NULL) {
		if (json_member_boolean(result, "removed", false))
			checkpoints_forget(configuration_home(call->worker->configuration),
			    param(call, "sessionId"));
		answer(call, result);
	} else if (code != SQLITE_ABORT)
		link_send_failure(call->worker->link, TO_SUPERVISOR_RESPONSE_ERROR,
		    call->request, 0, code == STATE_REFUSED ? call->refused : INTERNAL_ERROR,
		    code == STATE_REFUSED ? error : "The session store cannot be used", error,
		    NULL);
	free_call(call);
}

static void
refuse(
    struct worker *worker, uint32_t request, int code, const char *message, const char *field)
{
	link_send_failure(
	    worker->link, TO_SUPERVISOR_RESPONSE_ERROR, request, 0, code, message, NULL, field);
}

/* The name of a parameter that is not the string that it must be, or NULL. */
static const char *
params_fault(struct json_object *params, bool session)
{
	static const char *const texts[] = {"sessionId", "cwd", "cursor"};
	size_t i;

	for (i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (json_member_string(params, texts[i]) == NULL &&
		    (json_has(params, texts[i]) || (i == 0 && session)))
			return texts[i];
	return NULL;
}

void
catalogue_request(struct worker *worker, uint32_t request, const char *payload, size_t length)
{
	struct catalogue_call *call;
	struct wire_cursor cursor;
	const char *method, *params, *reason, *fault;
	size_t method_length, params_length, i, count = sizeof rows / sizeof rows[0];

	wire_start(&cursor, payload, length);
	method = wire_get_text(&cursor, &method_length);
	params = wire_get_rest(&cursor, &params_length);
	for (i = 0; method != NULL && i < count; i++)
		if (strlen(rows[i].method) == method_length &&
		    memcmp(rows[i].method, method, method_length) == 0)
			break;
	if (method == NULL || i == count) {
		refuse(worker, request, METHOD_NOT_FOUND, "Method not found", NULL);
		return;
	}
	call = xcalloc(1, sizeof *call);
	call->worker = worker;
	call->request = request;
	call->refused = rows[i].refused;
	call->params = json_parse(params, params_length, &reason);
	fault = params_fault(call->params, rows[i].session);
	if (fault == NULL) {
		rows[i].run(call);
		return;
	}
	refuse(worker, request, INVALID_PARAMS, "A parameter must be a string", fault);
	free_call(call);
}

struct tail_job {
	struct worker *worker;
	char *session;
};

/* Told also when it failed: the session has waited long enough. */
static void
on_tail_saved(int code, struct json_object *result, const char *error, void *arg)
{
	struct tail_job *job = arg;
	struct buffer payload = BUFFER_EMPTY;

	(void)code;
	(void)result;
	if (error != NULL)
		log_warning("store", "session %s: the rest of an answer could not be saved: %s",
		    job->session, error);
	wire_put_text(&payload, job->session, strlen(job->session));
	link_send(job->worker->link, TO_SUPERVISOR_TAIL_COMMITTED, 0, 0, payload.data,
	    payload.length);
	buffer_free(&payload);
	free(job->session);
	free(job);
}

void
catalogue_commit_tail(struct worker *worker, const char *payload, size_t length)
{
	struct wire_cursor cursor;
	const char *session, *tail, *reason;
	size_t session_length, length_of_tail;
	struct json_object *value, *texts;
	struct tail_job *job;
	int64_t first = 0;

	wire_start(&cursor, payload, length);
	session = wire_get_text(&cursor, &session_length);
	tail = wire_get_rest(&cursor, &length_of_tail);
	if (session == NULL || tail == NULL)
		return;
	value = json_parse(tail, length_of_tail, &reason);
	texts = encode_v1_texts(json_member_array(value, "tail"));
	json_member_integer(value, "first", &first);
	job = xcalloc(1, sizeof *job);
	job->worker = worker;
	job->session = xstrndup(session, session_length);
	state_catalogue_tail(worker->queue, job->session, texts, first, on_tail_saved, job);
	json_object_put(texts);
	json_object_put(value);
}
