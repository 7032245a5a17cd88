/*
 * Requests of this worker to the client (questions to the user, files) that wait for their
 * answer. It knows numbers and time limits, not what is asked.
 */
#ifndef HERMES_WORKER_ACP_CLIENT_CALLS_H
#define HERMES_WORKER_ACP_CLIENT_CALLS_H

#include "common/json.h"

#include <stdbool.h>
#include <stdint.h>

struct client_call;
struct client_calls;
struct event_base;
struct supervisor_link;

/* Bytes of an answer; of a longer one it is only known that it came. */
#define CLIENT_ANSWER_MAX ((size_t)16 << 20)

enum client_reply {
	CLIENT_RESULT,
	CLIENT_ERROR,
	CLIENT_SILENT /* no answer within the time limit; the request was withdrawn */
};

/* Called once, never from within client_calls_send(). `value` is the result or the error,
 * borrowed, NULL for null and for silence. The call is gone already. */
typedef void (*client_replied)(enum client_reply reply, struct json_object *value, void *arg);

struct client_call_request {
	uint32_t turn;
	const char *method;
	const char *call_id; /* "" when a successor's question must not be joined to this one */
	const char *params;  /* a JSON object without sessionId */
	size_t length;
	int64_t timeout_ms; /* 0 waits for ever */
};

struct client_calls *client_calls_new(struct event_base *base, struct supervisor_link *link);
/* What is open is forgotten without a word. `calls` may be NULL. */
void client_calls_free(struct client_calls *calls);
/* Owned by the list, and gone when `replied` is called. */
struct client_call *client_calls_send(struct client_calls *calls,
    const struct client_call_request *question, client_replied replied, void *arg);
/* The answer is not wanted any more: the client is told. */
void client_call_withdraw(struct client_call *call);
/* The same without a word: who asked is gone. */
void client_call_drop(struct client_call *call);
/* An answer of the client. Unknown numbers (late answers) are ignored. */
void client_calls_answer(
    struct client_calls *calls, uint32_t request, bool failed, struct json_object *value);

#endif
