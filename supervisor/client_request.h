/*
 * Requests to the client (permission, files, terminals) on behalf of workers. The supervisor
 * gives the id and the session id; the answer finds its way back by them alone.
 */
#ifndef HERMES_SUPERVISOR_CLIENT_REQUEST_H
#define HERMES_SUPERVISOR_CLIENT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

struct client_request_table;
struct client_writer;
struct session;

struct client_request_table *client_request_table_new(struct client_writer *writer);
void client_request_table_free(struct client_request_table *table);

/* Most requests of one session that may be open at a time. */
#define CLIENT_REQUESTS_MAX 256

/* Open requests of a session. */
size_t
client_request_count(const struct client_request_table *table, const struct session *session);
/* True for a method that a worker may call on the client. */
int client_request_allowed(const char *method, size_t length);
/* Sends a request. `worker_request` is the worker's own number for it. 0 or -1 (memory). */
int client_request_send(struct client_request_table *table, struct session *session,
    const char *session_text, uint32_t worker_request, const char *method, size_t method_length,
    const char *params, size_t length);
/* Takes the entry of one of our ids out of the table. NULL when the id is unknown, as that
 * of a late answer is. */
struct session *
client_request_take(struct client_request_table *table, int id, uint32_t *worker_request);
/* The worker does not want the answer any more: tells the client, forgets the id. */
void client_request_cancel(
    struct client_request_table *table, const struct session *session, uint32_t worker_request);
/* The same for every open request of a session. */
void
client_request_cancel_all(struct client_request_table *table, const struct session *session);

#endif
