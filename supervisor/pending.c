/*
 * The table of open client requests. An entry must never be answered twice or forgotten.
 */
#include <config.h>

#include "supervisor/pending.h"
#include "supervisor/client_writer.h"
#include "supervisor/rpc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct pending {
	TAILQ_ENTRY(pending) entry;
	struct pending_table *table;
	struct session *session;
	enum pending_kind kind;
	uint32_t token;
	char *id;
	char *params; /* of the call, when they were kept */
	size_t length;
};

struct pending_table {
	TAILQ_HEAD(, pending) list;
	struct client_writer *writer;
	uint32_t last_token;
};

struct pending_table *
pending_table_new(struct client_writer *writer)
{
	struct pending_table *table = calloc(1, sizeof *table);

	if (table == NULL)
		return NULL;
	TAILQ_INIT(&table->list);
	table->writer = writer;
	return table;
}

void
pending_table_free(struct pending_table *table)
{
	if (table == NULL)
		return;
	while (!TAILQ_EMPTY(&table->list))
		pending_done(TAILQ_FIRST(&table->list));
	free(table);
}

bool
pending_table_empty(const struct pending_table *table)
{
	return TAILQ_EMPTY(&table->list);
}

struct pending *
pending_new(struct pending_table *table, enum pending_kind kind, const char *id,
    size_t id_length, struct session *session)
{
	struct pending *pending = calloc(1, sizeof *pending);

	if (pending == NULL)
		return NULL;
	pending->id = strndup(id, id_length);
	if (pending->id == NULL) {
		free(pending);
		return NULL;
	}
	if (++table->last_token == 0) /* 0 means "no request" on the wire */
		table->last_token = 1;
	pending->table = table;
	pending->session = session;
	pending->kind = kind;
	pending->token = table->last_token;
	TAILQ_INSERT_TAIL(&table->list, pending, entry);
	return pending;
}

struct pending *
pending_find(struct pending_table *table, uint32_t token, const struct session *session)
{
	struct pending *pending;

	TAILQ_FOREACH(pending, &table->list, entry)
	if (pending->token == token)
		return pending->session == session ? pending : NULL;
	return NULL;
}

struct pending *
pending_find_id(struct pending_table *table, const char *id, size_t length)
{
	struct pending *pending;

	TAILQ_FOREACH(pending, &table->list, entry)
	if (strlen(pending->id) == length && memcmp(pending->id, id, length) == 0)
		return pending;
	return NULL;
}

struct pending *
pending_first(
    struct pending_table *table, enum pending_kind kind, const struct session *session)
{
	struct pending *pending;

	TAILQ_FOREACH(pending, &table->list, entry)
	if (pending->kind == kind && pending->session == session)
		return pending;
	return NULL;
}

uint32_t
pending_token(const struct pending *pending)
{
	return pending->token;
}

enum pending_kind
pending_get_kind(const struct pending *pending)
{
	return pending->kind;
}

void
pending_set_kind(struct pending *pending, enum pending_kind kind)
{
	pending->kind = kind;
}

void
pending_attach(struct pending *pending, enum pending_kind kind, struct session *session)
{
	pending->kind = kind;
	pending->session = session;
}

int
pending_keep(struct pending *pending, const char *params, size_t length)
{
	pending->params = strndup(params, length);
	pending->length = length;
	return pending->params != NULL ? 0 : -1;
}

const char *
pending_kept(const struct pending *pending, size_t *length)
{
	*length = pending->length;
	return pending->params;
}

struct session *
pending_session(const struct pending *pending)
{
	return pending->session;
}

void
pending_done(struct pending *pending)
{
	TAILQ_REMOVE(&pending->table->list, pending, entry);
	free(pending->id);
	free(pending->params);
	free(pending);
}

void
pending_result(struct pending *pending, const char *result, size_t length)
{
	rpc_result(pending->table->writer, pending->id, result, length);
	pending_done(pending);
}

void
pending_error(struct pending *pending, int code, const char *message, const char *data,
    size_t data_length)
{
	rpc_error(pending->table->writer, pending->id, code, message, data, data_length);
	pending_done(pending);
}

void
pending_error_with(
    struct pending *pending, int code, const char *message, const char *key, const char *text)
{
	rpc_error_with(pending->table->writer, pending->id, code, message, key, text);
	pending_done(pending);
}

void
pending_fail_all(struct pending_table *table, int code, const char *message)
{
	while (!TAILQ_EMPTY(&table->list))
		pending_error(TAILQ_FIRST(&table->list), code, message, NULL, 0);
}

void
pending_start_result(struct pending *pending)
{
	client_writer_text(pending->table->writer, "{\"jsonrpc\":\"2.0\",\"id\":");
	client_writer_text(pending->table->writer, pending->id);
	client_writer_text(pending->table->writer, ",\"result\":");
}
