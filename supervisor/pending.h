/*
 * Requests of the client that wait for their answer. Each is answered exactly once: an
 * answer frees the entry, and there is no other way out of the table.
 */
#ifndef HERMES_SUPERVISOR_PENDING_H
#define HERMES_SUPERVISOR_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_writer;
struct pending;
struct pending_table;
struct session;

enum pending_kind {
	PENDING_NEW,  /* session/new */
	PENDING_LOAD, /* session/load, session/resume */
	PENDING_LIST, /* these three wait for the catalogue worker */
	PENDING_DELETE,
	PENDING_FORK,
	PENDING_PROMPT,	   /* session/prompt */
	PENDING_COMMAND,   /* session/prompt that acts during a turn */
	PENDING_CALL,	   /* a request for a worker, not forwarded yet */
	PENDING_FORWARDED, /* the same once the worker has it */
	PENDING_CLOSE,
	PENDING_INITIALIZE, /* these two wait for SETTINGS */
	PENDING_AUTHENTICATE
};

struct pending_table *pending_table_new(struct client_writer *writer);
/* Frees the table; what still waits is dropped (the client is gone). */
void pending_table_free(struct pending_table *table);
bool pending_table_empty(const struct pending_table *table);

/* `id` is the id's JSON text. NULL when memory is out. `session` may be NULL. */
struct pending *pending_new(struct pending_table *table, enum pending_kind kind, const char *id,
    size_t id_length, struct session *session);

/* By the number that a worker is given; of `session` only. NULL when there is none. */
struct pending *
pending_find(struct pending_table *table, uint32_t token, const struct session *session);
/* By the client's id text. */
struct pending *pending_find_id(struct pending_table *table, const char *id, size_t length);
/* The first that waits for `session` and is of `kind`, or NULL. */
struct pending *pending_first(
    struct pending_table *table, enum pending_kind kind, const struct session *session);

uint32_t pending_token(const struct pending *pending);
enum pending_kind pending_get_kind(const struct pending *pending);
void pending_set_kind(struct pending *pending, enum pending_kind kind);
/* Makes it wait for something else. */
void pending_attach(struct pending *pending, enum pending_kind kind, struct session *session);
/* Keeps a copy of the call's params with it. 0 or -1. */
int pending_keep(struct pending *pending, const char *params, size_t length);
const char *pending_kept(const struct pending *pending, size_t *length);
struct session *pending_session(const struct pending *pending);

/* Answers; the entry is freed. */
void pending_result(struct pending *pending, const char *result, size_t length);
void pending_error(struct pending *pending, int code, const char *message, const char *data,
    size_t data_length);
void pending_error_with(
    struct pending *pending, int code, const char *message, const char *key, const char *text);
/* Answers everything that still waits with an error: the program ends. */
void pending_fail_all(struct pending_table *table, int code, const char *message);
/* Begins an answer that is written in pieces: everything up to the result. The caller writes
 * the result, "}\n", and calls pending_done(). */
void pending_start_result(struct pending *pending);
void pending_done(struct pending *pending);

#endif
