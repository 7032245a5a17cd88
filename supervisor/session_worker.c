/*
 * A session gets a worker, and its timer.
 */
#include <config.h>

#include "supervisor/session_worker.h"
#include "supervisor/supervisor.h"
#include "common/buffer.h"
#include "common/monotonic.h"

#include <event2/event.h>

static void
on_timer(int fd, short events, void *arg)
{
	struct session *session = arg;

	(void)fd;
	(void)events;
	session->supervisor->session_timer(session);
}

void
session_arm(struct session *session, int64_t milliseconds)
{
	struct timeval interval = monotonic_interval(milliseconds);

	if (session->timer == NULL)
		session->timer = evtimer_new(session->supervisor->base, on_timer, session);
	if (session->timer != NULL)
		event_add(session->timer, &interval);
}

void
session_disarm(struct session *session)
{
	if (session->timer != NULL)
		event_del(session->timer);
}

void
session_idle_since_now(struct session *session)
{
	int64_t limit = catalogue_settings(session->supervisor->catalogue)->worker_idle_ms;

	if (limit > 0)
		session_arm(session, limit);
	else
		session_disarm(session);
}

int
session_provide_worker(struct session *session)
{
	return catalogue_commits(session->supervisor->catalogue, session->id)
		   ? 0
		   : session_start_worker(session);
}

int
session_start_worker(struct session *session)
{
	struct supervisor *supervisor = session->supervisor;
	struct buffer setup = BUFFER_EMPTY;

	session->worker =
	    spare_take(supervisor->spare, supervisor->session_worker, session, &session->hello);
	if (session->worker == NULL)
		return -1;
	session->ready = false;
	session->state = SESSION_STARTING;
	session->starts++;
	buffer_append(&setup, session->setup, session->setup_length);
	buffer_printf(&setup, ",\"starts\":%u,\"open\":\"%s\"", session->starts,
	    session->starts > 1 && !session->reopen ? "revive" : session->open);
	session->reopen = false;
	if (session->worker_state != NULL) {
		buffer_append_text(&setup, ",\"state\":");
		buffer_append_text(&setup, session->worker_state);
	}
	buffer_append_byte(&setup, '}');
	if (setup.failed ||
	    worker_send(session->worker, TO_WORKER_SETUP, 0, 0, setup.data, setup.length) == -1)
		worker_stop(session->worker, STOP_SETUP_TIMEOUT, 0, 0);
	buffer_free(&setup);
	session_arm(session, WORKER_SETUP_MS);
	return 0;
}
