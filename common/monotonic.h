/*
 * Time that does not jump.
 */
#ifndef HERMES_COMMON_MONOTONIC_H
#define HERMES_COMMON_MONOTONIC_H

#include <stdint.h>
#include <sys/time.h>

/* Milliseconds of CLOCK_MONOTONIC. */
int64_t monotonic_ms(void);
/* For event_add(). */
struct timeval monotonic_interval(int64_t milliseconds);

#endif
