/*
 * The spare worker. When starting one fails again and again, it must be tried less and less
 * often, never in a loop.
 */
#include <config.h>

#include "supervisor/spare.h"
#include "supervisor/worker_hello.h"
#include "supervisor/worker_process.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_FIRST_MS 10
#define DELAY_MOST_MS 8000

struct spare {
	struct worker_list *list;
	struct worker_process *worker;
	struct event *timer;
	int64_t delay;
	bool hello, stopped;
};

static void
spare_message(struct worker_process *worker, const struct frame_header *header,
    const void *payload, size_t length, void *arg)
{
	struct spare *spare = arg;

	if (header->type == TO_SUPERVISOR_HELLO && !spare->hello) {
		spare->hello = worker_hello_check(worker, payload, length);
	} else if (header->type == TO_SUPERVISOR_LOG) {
		worker_hello_log(worker, payload, length);
	} else {
		worker_violation(worker, "message before its set-up");
	}
}

/* Less and less often; one that was of use makes it soon again. */
static void
try_later(struct spare *spare)
{
	spare->delay =
	    spare->delay * 2 > DELAY_MOST_MS ? DELAY_MOST_MS : spare->delay * 2 + 240;
	spare_prepare(spare);
}

static void
spare_gone(struct worker_process *worker, const char *cause, void *arg)
{
	struct spare *spare = arg;

	(void)worker;
	(void)cause;
	spare->worker = NULL;
	spare->hello = false;
	try_later(spare);
}

static const struct worker_callbacks callbacks = {
    .message = spare_message,
    .gone = spare_gone,
};

static void
on_timer(int fd, short events, void *arg)
{
	struct spare *spare = arg;

	(void)fd;
	(void)events;
	if (spare->worker != NULL || spare->stopped)
		return;
	spare->worker = worker_start(spare->list, "--session", &callbacks, spare);
	if (spare->worker != NULL)
		return;
	log_warning("spare", "no worker could be started: %s", strerror(errno));
	try_later(spare);
}

struct spare *
spare_new(struct event_base *base, struct worker_list *list)
{
	struct spare *spare = calloc(1, sizeof *spare);

	if (spare == NULL)
		return NULL;
	spare->list = list;
	spare->delay = DELAY_FIRST_MS;
	spare->timer = evtimer_new(base, on_timer, spare);
	if (spare->timer == NULL) {
		free(spare);
		return NULL;
	}
	return spare;
}

void
spare_free(struct spare *spare)
{
	if (spare == NULL)
		return;
	event_free(spare->timer);
	free(spare);
}

void
spare_prepare(struct spare *spare)
{
	struct timeval interval = monotonic_interval(spare->delay);

	if (spare->worker == NULL && !spare->stopped)
		event_add(spare->timer, &interval);
}

void
spare_stop(struct spare *spare)
{
	spare->stopped = true;
	event_del(spare->timer);
}

struct worker_process *
spare_take(struct spare *spare, const struct worker_callbacks *owner, void *arg, bool *hello)
{
	struct worker_process *worker = spare->worker;

	*hello = false;
	if (worker == NULL || worker_stopping(worker))
		return worker_start(spare->list, "--session", owner, arg);
	*hello = spare->hello;
	worker_set_owner(worker, owner, arg);
	spare->worker = NULL;
	spare->hello = false;
	spare->delay = DELAY_FIRST_MS;
	spare_prepare(spare);
	return worker;
}
