/*
 * Sessions and their queues. Nothing here talks to the client or to a worker.
 */
#include <config.h>

#include "supervisor/session.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session_table {
	LIST_HEAD(, session) list;
};

struct session_table *
session_table_new(void)
{
	struct session_table *table = calloc(1, sizeof *table);

	if (table != NULL)
		LIST_INIT(&table->list);
	return table;
}

void
session_table_free(struct session_table *table)
{
	struct session *session;
	struct waiting *waiting;

	if (table == NULL)
		return;
	while ((session = LIST_FIRST(&table->list)) != NULL) {
		while ((waiting = session_take_waiting(session)) != NULL)
			waiting_free(waiting);
		session_free(session);
	}
	free(table);
}

struct session *
session_find(struct session_table *table, const char *id)
{
	struct session *session;

	LIST_FOREACH(session, &table->list, entry)
	if (strcmp(session->id, id) == 0)
		return session;
	return NULL;
}

struct session *
session_first(struct session_table *table)
{
	return LIST_FIRST(&table->list);
}

struct session *
session_next(struct session *session)
{
	return LIST_NEXT(session, entry);
}

bool
session_id_valid(const char *id)
{
	size_t length = strlen(id);

	return length > 0 && length <= SESSION_ID_MAX &&
	       strspn(
		   id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:") ==
		   length;
}

struct session *
session_new(struct session_table *table, struct supervisor *supervisor, const char *id)
{
	struct session *session = calloc(1, sizeof *session);

	if (session == NULL)
		return NULL;
	if (id != NULL)
		snprintf(session->id, sizeof session->id, "%s", id);
	else if (identifier_uuid(session->id) == -1) {
		free(session);
		return NULL;
	}
	snprintf(session->quoted, sizeof session->quoted, "\"%s\"", session->id);
	session->supervisor = supervisor;
	session->open = "new";
	session->state = SESSION_DEAD;
	TAILQ_INIT(&session->turn.calls);
	TAILQ_INIT(&session->waiting);
	LIST_INSERT_HEAD(&table->list, session, entry);
	return session;
}

void
session_free(struct session *session)
{
	LIST_REMOVE(session, entry);
	session_calls_clear(session);
	tail_clear(&session->turn.tail);
	session_forget_prompt(session);
	if (session->timer != NULL)
		event_free(session->timer);
	free(session->setup);
	free(session->worker_state);
	free(session->commands);
	free(session);
}

static struct waiting *
new_waiting(struct pending *pending, const char *method, const char *params, size_t length)
{
	struct waiting *waiting = calloc(1, sizeof *waiting);

	if (waiting == NULL)
		return NULL;
	waiting->params = malloc(length > 0 ? length : 1);
	if (method != NULL)
		waiting->method = strdup(method);
	if (waiting->params == NULL || (method != NULL && waiting->method == NULL)) {
		waiting_free(waiting);
		return NULL;
	}
	if (length > 0)
		memcpy(waiting->params, params, length);
	waiting->length = length;
	waiting->pending = pending;
	return waiting;
}

static void
count_waiting(struct session *session, const struct waiting *waiting)
{
	session->waiting_bytes += waiting->length;
	if (waiting->method == NULL)
		session->waiting_prompts++;
}

int
session_wait(struct session *session, struct pending *pending, const char *method,
    const char *params, size_t length)
{
	struct waiting *waiting = new_waiting(pending, method, params, length);

	if (waiting == NULL)
		return -1;
	TAILQ_INSERT_TAIL(&session->waiting, waiting, entry);
	count_waiting(session, waiting);
	return 0;
}

int
session_wait_first(
    struct session *session, struct pending *pending, const char *params, size_t length)
{
	struct waiting *waiting = new_waiting(pending, NULL, params, length);

	if (waiting == NULL)
		return -1;
	TAILQ_INSERT_HEAD(&session->waiting, waiting, entry);
	count_waiting(session, waiting);
	return 0;
}

void
session_keep_prompt(struct session *session, const char *params, size_t length)
{
	session_forget_prompt(session);
	session->turn.prompt = malloc(length > 0 ? length : 1);
	if (session->turn.prompt == NULL)
		return;
	memcpy(session->turn.prompt, params, length);
	session->turn.prompt_length = length;
}

void
session_forget_prompt(struct session *session)
{
	free(session->turn.prompt);
	session->turn.prompt = NULL;
	session->turn.prompt_length = 0;
}

void
session_remove_waiting(struct session *session, struct waiting *waiting)
{
	TAILQ_REMOVE(&session->waiting, waiting, entry);
	session->waiting_bytes -= waiting->length;
	if (waiting->method == NULL)
		session->waiting_prompts--;
}

struct waiting *
session_take_waiting(struct session *session)
{
	struct waiting *waiting = TAILQ_FIRST(&session->waiting);

	if (waiting != NULL)
		session_remove_waiting(session, waiting);
	return waiting;
}

void
waiting_free(struct waiting *waiting)
{
	free(waiting->method);
	free(waiting->params);
	free(waiting);
}

static struct open_call *
find_call(struct session *session, const char *id, size_t length)
{
	struct open_call *call;

	TAILQ_FOREACH(call, &session->turn.calls, entry)
	if (call->length == length && memcmp(call->id, id, length) == 0)
		return call;
	return NULL;
}

int
session_call_open(struct session *session, const char *id, size_t length)
{
	struct open_call *call;

	if (find_call(session, id, length) != NULL)
		return 0;
	if (session->turn.call_count >= SESSION_CALLS_MAX)
		return -1;
	call = calloc(1, sizeof *call + length + 1);
	if (call == NULL)
		return -1;
	memcpy(call->id, id, length);
	call->length = length;
	TAILQ_INSERT_TAIL(&session->turn.calls, call, entry);
	session->turn.call_count++;
	return 0;
}

bool
session_call_started(struct session *session, const char *id, size_t length)
{
	struct open_call *call = find_call(session, id, length);

	if (call != NULL)
		call->started = true;
	return call != NULL;
}

bool
session_call_closed(struct session *session, const char *id, size_t length)
{
	struct open_call *call = find_call(session, id, length);

	if (call == NULL)
		return false;
	TAILQ_REMOVE(&session->turn.calls, call, entry);
	session->turn.call_count--;
	free(call);
	return true;
}

void
session_calls_clear(struct session *session)
{
	struct open_call *call;

	while ((call = TAILQ_FIRST(&session->turn.calls)) != NULL) {
		TAILQ_REMOVE(&session->turn.calls, call, entry);
		free(call);
	}
	session->turn.call_count = 0;
}

bool
session_has_command(const struct session *session, const char *word, size_t length)
{
	const char *at = session->commands;

	while (at != NULL && (at = strchr(at, ' ')) != NULL) {
		at++;
		if (length > 0 && strncasecmp(at, word, length) == 0 && at[length] == ' ')
			return true;
	}
	return false;
}
