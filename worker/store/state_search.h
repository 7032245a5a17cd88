/*
 * Looking into stored sessions, for the model: which of them are about something, what was said
 * there, which were the last ones. Everything is read in jobs of a queue; nothing is written.
 */
#ifndef HERMES_WORKER_STORE_STATE_SEARCH_H
#define HERMES_WORKER_STORE_STATE_SEARCH_H

#include "worker/store/state_hits.h"
#include "worker/store/state_queue.h"

/* A result is at most so long as JSON (the model gets 100,000 characters): texts are cut until
 * it is. */
#define STATE_SEARCH_RESULT_MAX 90000

enum state_search_mode {
	STATE_SEARCH_DISCOVER, /* sessions in which something was said */
	STATE_SEARCH_READ,     /* beginning and end of one session */
	STATE_SEARCH_SCROLL,   /* the messages around one */
	STATE_SEARCH_BROWSE    /* the sessions used last */
};

struct state_search_request {
	enum state_search_mode mode;
	const char *current;  /* the session that asks, NULL = none of this database */
	const char *link;     /* stands before an id in a reference: "@session:default/" */
	const char *database; /* another file, which is only read; NULL = that of the queue */
	/* DISCOVER */
	const char *query;
	size_t query_length;
	struct json_object *roles; /* names, array */
	enum state_hits_sort sort;
	bool full;
	int64_t limit; /* sessions; BROWSE as well */
	/* READ, SCROLL */
	const char *session;
	int64_t around, window;
};

struct state_search;

/* Called once, never from within state_search_start(). `result` is borrowed: as in Hermes, with
 * "success": true. It is NULL on error, and `error` says why; what is only not there is such an
 * error, too. */
typedef void (*state_search_done)(struct json_object *result, const char *error, void *arg);

/* Copies the request. */
struct state_search *state_search_start(struct state_queue *queue,
    const struct state_search_request *request, state_search_done done, void *arg);
/* Nobody wants to know any more; `search` must not be used after this. */
void state_search_cancel(struct state_search *search);

#endif
