/*
 * curl's multi interface on the event loop: sockets and timers, and who is told that
 * something came. Private to http.c.
 */
#ifndef HERMES_WORKER_PROVIDERS_HTTP_CLIENT_H
#define HERMES_WORKER_PROVIDERS_HTTP_CLIENT_H

#include "common/buffer.h"
#include "worker/providers/curl_library.h"

#include <stdbool.h>

struct event_base;
struct http_client;

/* A transfer as the client sees it: the first member of a struct http_transfer. curl's own
 * callbacks only collect; what they collected is delivered after curl has returned, because
 * nothing of curl may be called from within them. */
struct http_link {
	CURL *easy; /* its CURLOPT_PRIVATE is this link */
	bool ready; /* something is to be delivered */
	bool added;
	void (*done)(struct http_link *link, CURLcode code); /* only notes it */
	void (*deliver)(struct http_link *link);	     /* may free the link */
	void (*abandon)(struct http_link *link);	     /* the client goes: frees it */
	struct http_link *next, *previous;
};

/* The client of this process, made on the first call and again when the base is another
 * one. NULL with a sentence in `error`. */
struct http_client *http_client_get(struct event_base *base, struct buffer *error);
const struct curl_library *http_client_curl(const struct http_client *client);

/* Whether a server's certificate was only found in the file with all of them. */
bool http_client_needs_bundle(const struct http_client *client);
void http_client_set_bundle(struct http_client *client);

/* Starts the transfer of link->easy; 0, or -1 with a sentence in `error`. */
int http_client_add(struct http_client *client, struct http_link *link, struct buffer *error);
/* Ends it, at once and without a callback, whatever it waits for. Twice is harmless. */
void http_client_remove(struct http_client *client, struct http_link *link);
/* Delivers on the next turn of the loop. */
void http_client_schedule(struct http_client *client);

#endif
