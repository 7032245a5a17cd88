/*
 * Transfers. Curl's callbacks only collect; handlers run later, when curl is not on the
 * stack, and may free the transfer. A key must never get into a message.
 */
#include <config.h>

#include "worker/providers/http.h"
#include "worker/providers/http_client.h"
#include "worker/providers/http_headers.h"
#include "worker/providers/http_record.h"
#include "worker/providers/http_recording.h"
#include "worker/providers/http_setup.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_BODY 131072  /* bytes that a socket's buffer takes without waiting */
#define RELEASE_MS 1000	   /* how long a released transfer may take to end */
#define PENDING_KEEP 65536 /* memory that is kept for the next piece */

struct http_transfer {
	struct http_link link; /* first: see http_client.h */
	struct http_client *client;
	struct http_handlers handlers;
	void *arg;
	struct http_setup setup;
	struct buffer body; /* came and not yet delivered */
	struct http_headers headers;
	struct http_record *record;	  /* what is written down of it, NULL = nothing */
	struct http_recording *recording; /* what is played in place of a server */
	struct event *player;		  /* its next piece */
	bool paused, over, told;
	enum http_end end;
	struct buffer message;
	struct event *timer; /* silence; the end that came at once */
	int64_t silence_ms, alive_at, uploaded;
	unsigned busy;	/* handlers on the stack */
	bool released;	/* nobody is told any more */
	bool condemned; /* freed while a handler runs */
};

static void
finish_record(struct http_transfer *transfer, const char *end, const char *message)
{
	http_record_finish(transfer->record, &transfer->headers, end, message);
	transfer->record = NULL;
}

static void
destroy(struct http_transfer *transfer)
{
	finish_record(transfer, "left", NULL);
	if (transfer->client != NULL)
		http_client_remove(transfer->client, &transfer->link);
	if (transfer->link.easy != NULL)
		http_client_curl(transfer->client)->easy_cleanup(transfer->link.easy);
	if (transfer->client != NULL)
		http_setup_free(&transfer->setup, http_client_curl(transfer->client));
	if (transfer->timer != NULL)
		event_free(transfer->timer);
	if (transfer->player != NULL)
		event_free(transfer->player);
	http_recording_free(transfer->recording);
	free(transfer->setup.body);
	buffer_free(&transfer->body);
	http_headers_free(&transfer->headers);
	buffer_free(&transfer->message);
	free(transfer);
}

/* Notes the end; the first one counts. */
static void
end_with(struct http_transfer *transfer, enum http_end end, const char *message)
{
	if (transfer->over)
		return;
	transfer->over = true;
	transfer->end = end;
	buffer_append_text(&transfer->message, message);
	if (transfer->message.data != NULL)
		secret_mask(transfer->message.data);
	finish_record(transfer, http_end_name(end), buffer_text(&transfer->message));
	if (transfer->client != NULL)
		http_client_remove(transfer->client, &transfer->link);
}

static void
deliver_body(struct http_transfer *transfer)
{
	struct buffer body = transfer->body;

	if (body.length == 0 || transfer->paused)
		return;
	memset(&transfer->body, 0, sizeof transfer->body);
	if (!transfer->released)
		transfer->handlers.data(body.data, body.length, transfer->arg);
	buffer_clear(&body);
	if (transfer->body.data == NULL && body.capacity <= PENDING_KEEP)
		transfer->body = body;
	else
		buffer_free(&body);
}

/* Tells the owner what there is. May free the transfer. */
static void
deliver(struct http_transfer *transfer)
{
	if (transfer->busy > 0)
		return;
	transfer->busy++;
	deliver_body(transfer);
	if (transfer->over && !transfer->told && !transfer->paused &&
	    transfer->body.length == 0 && !transfer->condemned) {
		transfer->told = true;
		if (!transfer->released)
			transfer->handlers.finished(
			    transfer->end, buffer_text(&transfer->message), transfer->arg);
	}
	transfer->busy--;
	if (transfer->condemned || (transfer->released && transfer->over))
		destroy(transfer);
}

static void
on_deliver(struct http_link *link)
{
	deliver((struct http_transfer *)(void *)link);
}

/* Only what was released can be left when the client goes. */
static void
on_abandon(struct http_link *link)
{
	destroy((struct http_transfer *)(void *)link);
}

/* --- called by curl --------------------------------------------------------------------- */

static size_t
on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct http_transfer *transfer = arg;

	if (transfer->paused)
		return CURL_WRITEFUNC_PAUSE;
	/* Out of memory: the process ends here as everywhere, and a successor goes on. */
	xrequire(buffer_append(&transfer->body, bytes, size * count) == 0);
	http_record_data(transfer->record, bytes, size * count);
	transfer->link.ready = true;
	return size * count;
}

static size_t
on_header(char *line, size_t size, size_t count, void *arg)
{
	struct http_transfer *transfer = arg;

	http_headers_take(&transfer->headers, line, size * count);
	return size * count;
}

static bool
is_connected(const struct http_transfer *transfer)
{
	curl_off_t microseconds = 0;

	http_client_curl(transfer->client)
	    ->easy_getinfo(transfer->link.easy, CURLINFO_PRETRANSFER_TIME_T, &microseconds);
	return microseconds > 0;
}

/* A certificate that the folder does not know may be in the file with all of them. Nothing
 * was sent yet, so the transfer starts again. */
static bool
try_bundle(struct http_transfer *transfer)
{
	struct buffer error = BUFFER_EMPTY;
	int status;

	if (!http_setup_bundle(
		&transfer->setup, http_client_curl(transfer->client), transfer->link.easy))
		return false;
	http_client_set_bundle(transfer->client);
	http_client_remove(transfer->client, &transfer->link);
	status = http_client_add(transfer->client, &transfer->link, &error);
	buffer_free(&error);
	return status == 0;
}

static void
on_done(struct http_link *link, CURLcode code)
{
	struct http_transfer *transfer = (struct http_transfer *)(void *)link;
	struct buffer message = BUFFER_EMPTY;
	enum http_end end;

	if (code == CURLE_PEER_FAILED_VERIFICATION && try_bundle(transfer))
		return;
	end = http_setup_end(&transfer->setup, http_client_curl(transfer->client), code,
	    is_connected(transfer), &message);
	end_with(transfer, end, buffer_text(&message));
	buffer_free(&message);
	/* The link has left the client's list, so nobody else delivers the end. */
	event_active(transfer->timer, EV_TIMEOUT, 0);
}

/* --- limits ----------------------------------------------------------------------------- */

static void
arm(struct http_transfer *transfer, int64_t milliseconds)
{
	struct timeval interval = monotonic_interval(milliseconds);

	event_add(transfer->timer, &interval);
}

/* True while the request is still on its way: connecting has a limit of its own, and a big
 * body on a slow line is no silence. A small one was sent at once. */
static bool
is_sending(struct http_transfer *transfer)
{
	curl_off_t uploaded = 0;
	bool moved;

	if (transfer->recording != NULL)
		return false;
	if (!is_connected(transfer))
		return true;
	http_client_curl(transfer->client)
	    ->easy_getinfo(transfer->link.easy, CURLINFO_SIZE_UPLOAD_T, &uploaded);
	moved = uploaded > transfer->uploaded + SMALL_BODY;
	transfer->uploaded = uploaded;
	return moved;
}

static void
check_silence(struct http_transfer *transfer)
{
	int64_t silent = monotonic_ms() - transfer->alive_at;
	char *message;

	if (transfer->paused || (silent >= transfer->silence_ms && is_sending(transfer))) {
		http_alive(transfer);
		silent = 0;
	}
	if (silent < transfer->silence_ms) {
		arm(transfer, transfer->silence_ms - silent);
		return;
	}
	message = xasprintf(
	    "nothing came for %lld seconds", (long long)((transfer->silence_ms + 500) / 1000));
	end_with(transfer, HTTP_END_SILENT, message);
	free(message);
	deliver(transfer);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct http_transfer *transfer = arg;

	(void)fd;
	(void)what;
	if (transfer->over)
		deliver(transfer);
	else if (transfer->released) {
		end_with(transfer, HTTP_END_DONE, "");
		deliver(transfer);
	} else if (transfer->silence_ms > 0)
		check_silence(transfer);
}

void
http_alive(struct http_transfer *transfer)
{
	transfer->alive_at = monotonic_ms();
}

void
http_set_silence(struct http_transfer *transfer, int64_t milliseconds)
{
	if (transfer->over)
		return;
	transfer->silence_ms = milliseconds;
	http_alive(transfer);
	if (milliseconds > 0)
		arm(transfer, milliseconds);
}

/* --- for the caller --------------------------------------------------------------------- */

static int
begin(struct http_transfer *transfer, struct event_base *base,
    const struct http_request *request, struct buffer *error)
{
	struct http_client *client = http_client_get(base, error);
	const struct curl_library *curl;

	if (client == NULL)
		return -1;
	transfer->client = client;
	curl = http_client_curl(client);
	transfer->link.easy = curl->easy_init();
	if (transfer->link.easy == NULL) {
		buffer_append_text(error, "no memory for a request");
		return -1;
	}
	if (http_setup_apply(&transfer->setup, curl, transfer->link.easy, request, error) == -1)
		return -1;
	if (http_client_needs_bundle(client))
		http_setup_bundle(&transfer->setup, curl, transfer->link.easy);
	curl->easy_setopt(transfer->link.easy, CURLOPT_WRITEFUNCTION, on_body);
	curl->easy_setopt(transfer->link.easy, CURLOPT_WRITEDATA, transfer);
	curl->easy_setopt(transfer->link.easy, CURLOPT_HEADERFUNCTION, on_header);
	curl->easy_setopt(transfer->link.easy, CURLOPT_HEADERDATA, transfer);
	return http_client_add(client, &transfer->link, error);
}

static struct http_transfer *
new_transfer(struct event_base *base, const struct http_handlers *handlers, void *arg)
{
	struct http_transfer *transfer = xcalloc(1, sizeof *transfer);

	transfer->handlers = *handlers;
	transfer->arg = arg;
	transfer->link.done = on_done;
	transfer->link.deliver = on_deliver;
	transfer->link.abandon = on_abandon;
	transfer->timer = evtimer_new(base, on_timer, transfer);
	return transfer;
}

struct http_transfer *
http_fail(struct event_base *base, const char *message, const struct http_handlers *handlers,
    void *arg)
{
	struct http_transfer *transfer = new_transfer(base, handlers, arg);

	end_with(transfer, HTTP_END_REQUEST, message);
	event_active(transfer->timer, EV_TIMEOUT, 0);
	return transfer;
}

struct http_transfer *
http_start(struct event_base *base, const struct http_request *request,
    const struct http_handlers *handlers, void *arg)
{
	struct http_transfer *transfer = new_transfer(base, handlers, arg);
	struct buffer error = BUFFER_EMPTY;

	transfer->record = http_record_start(request);
	transfer->setup.body = request->body;
	transfer->silence_ms = request->silence_timeout_ms;
	http_alive(transfer);
	if (begin(transfer, base, request, &error) == -1) {
		end_with(transfer, HTTP_END_REQUEST, buffer_text(&error));
		event_active(transfer->timer, EV_TIMEOUT, 0);
	} else if (transfer->silence_ms > 0) {
		arm(transfer, transfer->silence_ms);
	}
	buffer_free(&error);
	return transfer;
}

/* The next piece of a recording, one a turn of the loop, so that pieces stay pieces. One that
 * nobody waited for does not end, as the server did not. */
static void
on_play(evutil_socket_t fd, short what, void *arg)
{
	struct http_transfer *transfer = arg;
	const char *bytes, *message;
	enum http_end end;
	size_t length;

	(void)fd;
	(void)what;
	if (transfer->paused || transfer->told)
		return;
	if (http_recording_next(transfer->recording, &bytes, &length)) {
		xrequire(buffer_append(&transfer->body, bytes, length) == 0);
		event_active(transfer->player, EV_TIMEOUT, 0);
	} else if (http_recording_end(transfer->recording, &end, &message)) {
		end_with(transfer, end, message);
	}
	deliver(transfer);
}

struct http_transfer *
http_play(struct event_base *base, struct http_recording *recording, int64_t silence_ms,
    const struct http_handlers *handlers, void *arg)
{
	struct http_transfer *transfer = new_transfer(base, handlers, arg);

	transfer->recording = recording;
	transfer->player = evtimer_new(base, on_play, transfer);
	http_recording_headers(recording, &transfer->headers);
	http_set_silence(transfer, silence_ms);
	event_active(transfer->player, EV_TIMEOUT, 0);
	return transfer;
}

void
http_free(struct http_transfer *transfer)
{
	if (transfer == NULL)
		return;
	transfer->released = true;
	if (transfer->busy > 0)
		transfer->condemned = true;
	else
		destroy(transfer);
}

void
http_release(struct http_transfer *transfer)
{
	if (transfer == NULL || transfer->over || transfer->paused) {
		http_free(transfer);
		return;
	}
	if (transfer->recording != NULL) {
		http_free(transfer);
		return;
	}
	finish_record(transfer, "left", NULL);
	transfer->released = true;
	arm(transfer, RELEASE_MS);
}

void
http_pause(struct http_transfer *transfer, bool pause)
{
	if (transfer->paused == pause)
		return;
	transfer->paused = pause;
	if (pause)
		return; /* the next piece finds the flag */
	http_alive(transfer);
	if (transfer->recording != NULL) {
		event_active(transfer->player, EV_TIMEOUT, 0);
		return;
	}
	if (!transfer->over && transfer->link.added)
		http_client_curl(transfer->client)
		    ->easy_pause(transfer->link.easy, CURLPAUSE_CONT);
	if (transfer->over || transfer->body.length > 0) {
		transfer->link.ready = transfer->link.added;
		if (transfer->over)
			event_active(transfer->timer, EV_TIMEOUT, 0);
		else
			http_client_schedule(transfer->client);
	}
}

int
http_status(const struct http_transfer *transfer)
{
	return transfer->headers.status;
}

const char *
http_header(const struct http_transfer *transfer, const char *name)
{
	return http_headers_find(&transfer->headers, name);
}
