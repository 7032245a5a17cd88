/*
 * What the tests share that start processes under the guard: where the guard is, how long is
 * waited, and what still lives.
 */
#ifndef HERMES_TESTS_UNIT_PROCESS_FIXTURE_H
#define HERMES_TESTS_UNIT_PROCESS_FIXTURE_H

#include "common/monotonic.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline const char *
guard_path(void)
{
	const char *path = getenv("HERMES_ACP_GUARD");

	return path != NULL ? path : "./hermes-acp-guard";
}

static inline void
on_loop_time(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

/* Runs the loop until *flag or, without one, until the time is over; tells whether it is set.
 */
static inline bool
run_loop_until(struct event_base *base, const bool *flag, int64_t limit)
{
	struct timeval wait = monotonic_interval(limit);
	struct event *timer = event_new(base, -1, 0, on_loop_time, base);

	event_add(timer, &wait);
	while ((flag == NULL || !*flag) && evtimer_pending(timer, NULL))
		event_base_loop(base, EVLOOP_ONCE);
	event_free(timer);
	return flag != NULL && *flag;
}

/* True when a process lives whose command line begins so (an extended regular expression). */
static inline bool
lives(const char *marker)
{
	char command[128];

	snprintf(command, sizeof command, "pgrep -f '^%s' >/dev/null", marker);
	return system(command) == 0;
}

#endif
