/*
 * Open requests to the client. A late or second answer must find nothing here.
 */
#include <config.h>

#include "supervisor/client_request.h"
#include "supervisor/rpc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct client_request {
	TAILQ_ENTRY(client_request) entry;
	struct session *session;
	uint32_t worker_request;
	int id;
};

struct client_request_table {
	TAILQ_HEAD(, client_request) list;
	struct client_writer *writer;
	int last_id;
};

static const char *const methods[] = {
    "session/request_permission",
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

int
client_request_send(struct client_request_table *table, struct session *session,
    const char *session_text, uint32_t worker_request, const char *method, size_t method_length,
    const char *params, size_t length)
{
	struct client_request *request = calloc(1, sizeof *request);

	if (request == NULL)
		return -1;
	/* Some clients decode only 32-bit ids (known from JetBrains' client). */
	table->last_id = table->last_id == INT_MAX ? 1 : table->last_id + 1;
	request->session = session;
	request->worker_request = worker_request;
	request->id = table->last_id;
	TAILQ_INSERT_TAIL(&table->list, request, entry);
	rpc_client_request(
	    table->writer, request->id, method, method_length, session_text, params, length);
	return 0;
}

struct session *
client_request_take(struct client_request_table *table, int id, uint32_t *worker_request)
{
	struct client_request *request;
	struct session *session;

	TAILQ_FOREACH(request, &table->list, entry)
	if (request->id == id) {
		session = request->session;
		*worker_request = request->worker_request;
		drop(table, request);
		return session;
	}
	return NULL;
}

static void
cancel(struct client_request_table *table, struct client_request *request)
{
	rpc_client_cancel(table->writer, request->id);
	drop(table, request);
}

void
client_request_cancel(
    struct client_request_table *table, const struct session *session, uint32_t worker_request)
{
	struct client_request *request;

	TAILQ_FOREACH(request, &table->list, entry)
	if (request->session == session && request->worker_request == worker_request) {
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
