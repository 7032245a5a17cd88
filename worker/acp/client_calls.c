/*
 * Open requests to the client. A number is used once, so that a late answer finds nothing.
 */
#include <config.h>

#include "worker/acp/client_calls.h"
#include "worker/supervisor_link.h"
#include "common/alloc.h"
#include "common/monotonic.h"
#include "common/wire.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct client_call {
	TAILQ_ENTRY(client_call) entry;
	struct client_calls *calls;
	uint32_t request, turn;
	client_replied replied;
	void *arg;
	struct event *timer;
};

struct client_calls {
	TAILQ_HEAD(, client_call) list;
	struct event_base *base;
	struct supervisor_link *link;
	uint32_t last_request;
};

struct client_calls *
client_calls_new(struct event_base *base, struct supervisor_link *link)
{
	struct client_calls *calls = xcalloc(1, sizeof *calls);

	TAILQ_INIT(&calls->list);
	calls->base = base;
	calls->link = link;
	return calls;
}

void
client_call_drop(struct client_call *call)
{
	TAILQ_REMOVE(&call->calls->list, call, entry);
	if (call->timer != NULL)
		event_free(call->timer);
	free(call);
}

void
client_call_withdraw(struct client_call *call)
{
	link_send(
	    call->calls->link, TO_SUPERVISOR_CLIENT_CANCEL, call->request, call->turn, NULL, 0);
	client_call_drop(call);
}

void
client_calls_free(struct client_calls *calls)
{
	if (calls == NULL)
		return;
	while (!TAILQ_EMPTY(&calls->list))
		client_call_drop(TAILQ_FIRST(&calls->list));
	free(calls);
}

static void
on_timeout(int fd, short events, void *arg)
{
	struct client_call *call = arg;
	client_replied replied = call->replied;
	void *replied_arg = call->arg;

	(void)fd;
	(void)events;
	client_call_withdraw(call);
	replied(CLIENT_SILENT, NULL, replied_arg);
}

static void
start_timer(struct client_call *call, int64_t timeout_ms)
{
	struct timeval interval = monotonic_interval(timeout_ms);

	call->timer = evtimer_new(call->calls->base, on_timeout, call);
	event_add(call->timer, &interval);
}

struct client_call *
client_calls_send(struct client_calls *calls, const struct client_call_request *question,
    client_replied replied, void *arg)
{
	struct client_call *call = xcalloc(1, sizeof *call);
	struct buffer payload = BUFFER_EMPTY;

	call->calls = calls;
	call->request = ++calls->last_request;
	call->turn = question->turn;
	call->replied = replied;
	call->arg = arg;
	if (question->timeout_ms > 0)
		start_timer(call, question->timeout_ms);
	TAILQ_INSERT_TAIL(&calls->list, call, entry);
	wire_put_text(&payload, question->method, strlen(question->method));
	wire_put_text(&payload, question->call_id, strlen(question->call_id));
	buffer_append(&payload, question->params, question->length);
	xrequire(!payload.failed);
	link_send(calls->link, TO_SUPERVISOR_CLIENT_REQUEST, call->request, call->turn,
	    payload.data, payload.length);
	buffer_free(&payload);
	return call;
}

void
client_calls_answer(
    struct client_calls *calls, uint32_t request, bool failed, struct json_object *value)
{
	struct client_call *call;
	client_replied replied;
	void *arg;

	TAILQ_FOREACH(call, &calls->list, entry)
	if (call->request == request)
		break;
	if (call == NULL)
		return;
	replied = call->replied;
	arg = call->arg;
	client_call_drop(call);
	replied(failed ? CLIENT_ERROR : CLIENT_RESULT, value, arg);
}
