/*
 * A queue of jobs on a database that nobody has opened yet, and the loop that it runs in.
 */
#ifndef HERMES_TESTS_UNIT_STATE_JOBS_H
#define HERMES_TESTS_UNIT_STATE_JOBS_H

#include "tests/unit/state_fixture.h"

#include <event2/event.h>

static struct event_base *base;
static struct state *database;
static struct state_queue *queue;
static struct buffer told; /* what the callbacks were told, in order */
static int last_code;	   /* and the last of them */

static inline int
set_up_jobs(void **state)
{
	if (set_up(state) == -1)
		return -1;
	base = event_base_new();
	database = state_new(home);
	queue = state_queue_new(base, database);
	buffer_clear(&told);
	return 0;
}

static inline int
tear_down_jobs(void **state)
{
	state_queue_free(queue);
	state_free(database);
	event_base_free(base);
	buffer_free(&told);
	return tear_down(state);
}

/* A text as the argument of a callback. */
static inline void *
text_arg(const char *text)
{
	return (void *)(uintptr_t)text;
}

#endif
