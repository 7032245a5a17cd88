/*
 * Requests to the client (permission, files, terminals) on behalf of workers. The supervisor
 * gives the id and the session id; the answer finds its way back by them alone. A question
 * whose worker died stays open for the successor that asks the very same.
 */
#ifndef HERMES_SUPERVISOR_CLIENT_REQUEST_H
#define HERMES_SUPERVISOR_CLIENT_REQUEST_H

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_request;
struct client_request_table;
struct client_writer;
struct session;

/* What a worker asks. All borrowed. */
struct client_question {
	uint32_t worker_request; /* the worker's own number for it, never 0 */
	uint32_t turn;
	const char *method;
	size_t method_length;
	const char *call; /* id of the tool call that it is about; may be empty */
	size_t call_length;
	const char *params; /* JSON */
	size_t length;
};

struct client_request_table *client_request_table_new(struct client_writer *writer);
void client_request_table_free(struct client_request_table *table);

/* Most requests of one session that may be open at a time. */
#define CLIENT_REQUESTS_MAX 256

/* Open requests of a session. */
size_t
client_request_count(const struct client_request_table *table, const struct session *session);
/* True for a method that a worker may call on the client. */
int client_request_allowed(const char *method, size_t length);
/* Sends a request. 0 or -1 (memory). */
int client_request_send(struct client_request_table *table, struct session *session,
    const char *session_text, const struct client_question *question);
/* The request with one of our ids that the client has not answered yet. NULL when there is
 * none, as for a late or second answer. */
struct client_request *client_request_find(struct client_request_table *table, int id);
struct session *client_request_session(const struct client_request *request);
/* The number of the worker that waits for the answer; 0 when it is gone. */
uint32_t client_request_number(const struct client_request *request);
/* The answer (payload of CLIENT_ANSWER, copied) waits for a successor to ask. One for which no
 * successor can ask is dropped. */
void client_request_hold(struct client_request_table *table, struct client_request *request,
    const struct buffer *answer);
/* It was answered: its id is forgotten. */
void client_request_done(struct client_request_table *table, struct client_request *request);

/* The session's worker died and a successor goes on: permission questions stay open, all else
 * is cancelled. */
void client_request_keep(struct client_request_table *table, const struct session *session);
/* Joins the question to the one that was kept for the same turn and call: true when it is the
 * same to the byte; `answer` then gets the client's answer if that has come already (the
 * caller frees it). False when it must be sent; one that was kept for the call and differs is
 * cancelled. */
bool client_request_join(struct client_request_table *table, const struct session *session,
    const struct client_question *question, struct buffer *answer);
/* Cancels what was kept for this turn and call. */
void client_request_settled(struct client_request_table *table, const struct session *session,
    const struct client_question *question);

/* The worker does not want the answer any more: tells the client, forgets the id. */
void client_request_cancel(
    struct client_request_table *table, const struct session *session, uint32_t worker_request);
/* The same for every open request of a session. */
void
client_request_cancel_all(struct client_request_table *table, const struct session *session);

#endif
