/*
 * The event loop's side of curl. There is one client per process, because its connections,
 * TLS sessions and certificates are shared by all requests; it is the one static object
 * here. It must never call a transfer's owner while curl is on the stack.
 */
#include <config.h>

#include "worker/providers/http_client.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <event2/event.h>
#include <stdlib.h>

#define CONNECTIONS_MAX 4 /* idle connections that are kept */

struct http_client {
	struct event_base *base;
	const struct curl_library *curl;
	CURLM *multi;
	struct event *timer, *delivery;
	struct http_link *links;
	bool bundle;
};

static struct http_client *the_client;

/* Delivers until nothing is ready; each call may add, remove and free transfers. */
static void
deliver(struct http_client *client)
{
	struct http_link *link = client->links;

	while (link != NULL) {
		if (!link->ready) {
			link = link->next;
			continue;
		}
		link->ready = false;
		link->deliver(link);
		link = client->links;
	}
}

static void
take_finished(struct http_client *client)
{
	CURLMsg *message;
	char *link;
	int left;

	while ((message = client->curl->multi_info_read(client->multi, &left)) != NULL) {
		if (message->msg != CURLMSG_DONE)
			continue;
		link = NULL;
		client->curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &link);
		if (link != NULL)
			((struct http_link *)(void *)link)
			    ->done((struct http_link *)(void *)link, message->data.result);
	}
}

static void
act(struct http_client *client, curl_socket_t fd, int bits)
{
	CURLMcode code;
	int running;

	code = client->curl->multi_socket_action(client->multi, fd, bits, &running);
	if (code != CURLM_OK)
		log_warning("http", "curl: %s", client->curl->multi_strerror(code));
	take_finished(client);
	deliver(client);
}

static void
on_socket_event(evutil_socket_t fd, short what, void *arg)
{
	int bits = 0;

	if (what & EV_READ)
		bits |= CURL_CSELECT_IN;
	if (what & EV_WRITE)
		bits |= CURL_CSELECT_OUT;
	act(arg, fd, bits);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void
on_delivery(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	deliver(arg);
}

/* CURLMOPT_SOCKETFUNCTION: `socket_data` is the event of this socket, if there is one. */
static int
watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_data)
{
	struct http_client *client = arg;
	struct event *event = socket_data;
	short events = EV_PERSIST;

	(void)easy;
	if (event != NULL)
		event_free(event);
	event = NULL;
	if (what != CURL_POLL_REMOVE) {
		if (what & CURL_POLL_IN)
			events |= EV_READ;
		if (what & CURL_POLL_OUT)
			events |= EV_WRITE;
		event = event_new(client->base, fd, events, on_socket_event, client);
		if (event == NULL || event_add(event, NULL) == -1)
			log_error("http", "the event loop does not take a socket");
	}
	client->curl->multi_assign(client->multi, fd, event);
	return 0;
}

/* CURLMOPT_TIMERFUNCTION */
static int
set_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct http_client *client = arg;
	struct timeval interval = monotonic_interval(timeout_ms);

	(void)multi;
	if (timeout_ms < 0)
		event_del(client->timer);
	else
		event_add(client->timer, &interval);
	return 0;
}

static struct http_client *
new_client(struct event_base *base, struct buffer *error)
{
	const struct curl_library *curl = curl_library_get(error);
	struct http_client *client;

	if (curl == NULL)
		return NULL;
	client = xcalloc(1, sizeof *client);
	client->base = base;
	client->curl = curl;
	client->multi = curl->multi_init();
	client->timer = evtimer_new(base, on_timer, client);
	client->delivery = evtimer_new(base, on_delivery, client);
	if (client->multi == NULL || client->timer == NULL || client->delivery == NULL) {
		buffer_append_text(error, "no memory for a connection");
		free(client); /* the process is about to end anyway */
		return NULL;
	}
	curl->multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	curl->multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl->multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl->multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	curl->multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_MAX);
	return client;
}

/* Frees the client with its connections and the transfers that are left. */
static void
close_client(void)
{
	struct http_client *client = the_client;

	if (client == NULL)
		return;
	the_client = NULL;
	while (client->links != NULL)
		client->links->abandon(client->links);
	client->curl->multi_cleanup(client->multi);
	event_free(client->timer);
	event_free(client->delivery);
	free(client);
}

struct http_client *
http_client_get(struct event_base *base, struct buffer *error)
{
	if (the_client != NULL && the_client->base != base)
		close_client();
	if (the_client == NULL)
		the_client = new_client(base, error);
	return the_client;
}

const struct curl_library *
http_client_curl(const struct http_client *client)
{
	return client->curl;
}

bool
http_client_needs_bundle(const struct http_client *client)
{
	return client->bundle;
}

void
http_client_set_bundle(struct http_client *client)
{
	client->bundle = true;
}

int
http_client_add(struct http_client *client, struct http_link *link, struct buffer *error)
{
	CURLMcode code;

	client->curl->easy_setopt(link->easy, CURLOPT_PRIVATE, link);
	code = client->curl->multi_add_handle(client->multi, link->easy);
	if (code != CURLM_OK) {
		buffer_append_text(error, client->curl->multi_strerror(code));
		return -1;
	}
	link->added = true;
	link->previous = NULL;
	link->next = client->links;
	if (link->next != NULL)
		link->next->previous = link;
	client->links = link;
	return 0;
}

void
http_client_remove(struct http_client *client, struct http_link *link)
{
	if (!link->added)
		return;
	link->added = false;
	client->curl->multi_remove_handle(client->multi, link->easy);
	if (link->previous != NULL)
		link->previous->next = link->next;
	else
		client->links = link->next;
	if (link->next != NULL)
		link->next->previous = link->previous;
}

void
http_client_schedule(struct http_client *client)
{
	event_active(client->delivery, EV_TIMEOUT, 0);
}
