/*
 * The clock for every deadline. The wall clock must never be used for one.
 */
#include <config.h>

#include "common/monotonic.h"

#include <time.h>

int64_t
monotonic_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct timeval
monotonic_interval(int64_t milliseconds)
{
	struct timeval interval;

	if (milliseconds < 0)
		milliseconds = 0;
	interval.tv_sec = (time_t)(milliseconds / 1000);
	interval.tv_usec = (suseconds_t)(milliseconds % 1000) * 1000;
	return interval;
}
