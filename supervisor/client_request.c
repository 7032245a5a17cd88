/*
 * Open requests to the client. A late or second answer must find nothing here, and an answer
 * never goes to another question than the one that the user saw: what a successor asks is
 * compared byte by byte with what the dead worker asked.
 */
#include <config.h>

#include "supervisor/client_request.h"
#include "supervisor/rpc.h"
#include "common/message.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* Bytes of questions that are kept per session for a successor; a single one always fits. */
#define KEPT_MAX MESSAGE_UPDATE_MAX
/* Bytes of an answer that waits for a successor. */
#define ANSWER_MAX (64 * 1024)

struct client_request {
	TAILQ_ENTRY(client_request) entry;
	struct session *session;
	uint32_t worker_request; /* 0: its worker is gone */
	int id;
	uint32_t turn;
	char *call, *params; /* NULL when nobody else can ask this again */
	size_t call_length, length;
	struct buffer answer; /* empty until the client's has to wait */
};

struct client_request_table {
	TAILQ_HEAD(, client_request) list;
	struct client_writer *writer;
	int last_id;
};

#define PERMISSION "session/request_permission"

static const char *const methods[] = {
    PERMISSION,
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
    "elicitation/create",
};

struct client_request_table *
client_request_table_new(struct client_writer *writer)
{
	struct client_request_table *table = calloc(1, sizeof *table);

	if (table == NULL)
		return NULL;
	TAILQ_INIT(&table->list);
	table->writer = writer;
	return table;
}

static void
drop(struct client_request_table *table, struct client_request *request)
{
	TAILQ_REMOVE(&table->list, request, entry);
	buffer_free(&request->answer);
	free(request->call);
	free(request->params);
	free(request);
}

void
client_request_table_free(struct client_request_table *table)
{
	if (table == NULL)
		return;
	while (!TAILQ_EMPTY(&table->list))
		drop(table, TAILQ_FIRST(&table->list));
	free(table);
}

size_t
client_request_count(const struct client_request_table *table, const struct session *session)
{
	const struct client_request *request;
	size_t count = 0;

	TAILQ_FOREACH(request, &table->list, entry)
	count += request->session == session;
	return count;
}

int
client_request_allowed(const char *method, size_t length)
{
	size_t i;

	for (i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if (strlen(methods[i]) == length && memcmp(methods[i], method, length) == 0)
			return 1;
	return 0;
}

static bool
is_method(const struct client_question *question, const char *method)
{
	return strlen(method) == question->method_length &&
	       memcmp(method, question->method, question->method_length) == 0;
}

static size_t
kept_bytes(const struct client_request_table *table, const struct session *session)
{
	const struct client_request *request;
	size_t bytes = 0;

	TAILQ_FOREACH(request, &table->list, entry)
	if (request->session == session)
		bytes += request->length;
	return bytes;
}

static char *
copy(const char *bytes, size_t length)
{
	char *place = malloc(length + 1);

	if (place != NULL) {
		memcpy(place, bytes, length);
		place[length] = '\0';
	}
	return place;
}

/* Keeps what a successor's question is compared with. Without memory there is nothing: it is
 * asked again then. */
static void
remember(const struct client_request_table *table, struct client_request *request,
    const struct client_question *question)
{
	if (!is_method(question, PERMISSION) || question->call_length == 0 ||
	    kept_bytes(table, request->session) + question->length > KEPT_MAX)
		return;
	request->call = copy(question->call, question->call_length);
	request->params = copy(question->params, question->length);
	request->call_length = question->call_length;
	request->length = question->length;
}

int
client_request_send(struct client_request_table *table, struct session *session,
    const char *session_text, const struct client_question *question)
{
	struct client_request *request = calloc(1, sizeof *request);

	if (request == NULL)
		return -1;
	/* Some clients decode only 32-bit ids (known from JetBrains' client). */
	table->last_id = table->last_id == INT_MAX ? 1 : table->last_id + 1;
	request->session = session;
	request->worker_request = question->worker_request;
	request->turn = question->turn;
	request->id = table->last_id;
	remember(table, request, question);
	TAILQ_INSERT_TAIL(&table->list, request, entry);
	rpc_client_request(table->writer, request->id, question->method,
	    question->method_length, session_text, question->params, question->length);
	return 0;
}

struct client_request *
client_request_find(struct client_request_table *table, int id)
{
	struct client_request *request;

	TAILQ_FOREACH(request, &table->list, entry)
	if (request->id == id)
		return request->answer.length == 0 ? request : NULL;
	return NULL;
}

struct session *
client_request_session(const struct client_request *request)
{
	return request->session;
}

uint32_t
client_request_number(const struct client_request *request)
{
	return request->worker_request;
}

static bool
is_kept(const struct client_request *request)
{
	return request->call != NULL && request->params != NULL;
}

void
client_request_hold(struct client_request_table *table, struct client_request *request,
    const struct buffer *answer)
{
	if (is_kept(request) && answer->length <= ANSWER_MAX)
		buffer_append(&request->answer, answer->data, answer->length);
	if (request->answer.length == 0 || request->answer.failed)
		drop(table, request);
}

void
client_request_done(struct client_request_table *table, struct client_request *request)
{
	drop(table, request);
}

/* Tells the client, unless it has answered already. */
static void
cancel(struct client_request_table *table, struct client_request *request)
{
	if (request->answer.length == 0)
		rpc_client_cancel(table->writer, request->id);
	drop(table, request);
}

void
client_request_cancel(
    struct client_request_table *table, const struct session *session, uint32_t worker_request)
{
	struct client_request *request;

	TAILQ_FOREACH(request, &table->list, entry)
	if (request->session == session && request->worker_request == worker_request &&
	    worker_request != 0) {
		cancel(table, request);
		return;
	}
}

void
client_request_cancel_all(struct client_request_table *table, const struct session *session)
{
	struct client_request *request, *next;

	for (request = TAILQ_FIRST(&table->list); request != NULL; request = next) {
		next = TAILQ_NEXT(request, entry);
		if (request->session == session)
			cancel(table, request);
	}
}

void
client_request_keep(struct client_request_table *table, const struct session *session)
{
	struct client_request *request, *next;

	for (request = TAILQ_FIRST(&table->list); request != NULL; request = next) {
		next = TAILQ_NEXT(request, entry);
		if (request->session != session)
			continue;
		request->worker_request = 0;
		if (!is_kept(request))
			cancel(table, request);
	}
}

/* What was kept for the question's turn and call, NULL when there is nothing. */
static struct client_request *
find_kept(struct client_request_table *table, const struct session *session,
    const struct client_question *question)
{
	struct client_request *request;

	TAILQ_FOREACH(request, &table->list, entry)
	if (request->session == session && request->worker_request == 0 &&
	    request->turn == question->turn && request->call_length == question->call_length &&
	    memcmp(request->call, question->call, question->call_length) == 0)
		return request;
	return NULL;
}

bool
client_request_join(struct client_request_table *table, const struct session *session,
    const struct client_question *question, struct buffer *answer)
{
	struct client_request *request = find_kept(table, session, question);

	if (request == NULL)
		return false;
	if (!is_method(question, PERMISSION) || request->length != question->length ||
	    memcmp(request->params, question->params, question->length) != 0) {
		cancel(table, request);
		return false;
	}
	request->worker_request = question->worker_request;
	if (request->answer.length > 0) {
		*answer = request->answer;
		request->answer = (struct buffer)BUFFER_EMPTY;
		drop(table, request);
	}
	return true;
}

void
client_request_settled(struct client_request_table *table, const struct session *session,
    const struct client_question *question)
{
	struct client_request *request = find_kept(table, session, question);

	if (request != NULL)
		cancel(table, request);
}
