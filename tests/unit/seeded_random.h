/*
 * Random numbers that can be repeated: the seed is printed and can be given by the environment.
 */
#ifndef HERMES_TESTS_UNIT_SEEDED_RANDOM_H
#define HERMES_TESTS_UNIT_SEEDED_RANDOM_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A number from the environment, or `usual`. */
static inline unsigned long
seeded_random_count(const char *variable, unsigned long usual)
{
	const char *given = getenv(variable);

	return given != NULL && *given != '\0' ? strtoul(given, NULL, 10) : usual;
}

/* The state to begin with; prints the seed. */
static inline uint64_t
seeded_random_start(const char *variable, unsigned long usual)
{
	unsigned long seed = seeded_random_count(variable, usual);

	printf("%s=%lu\n", variable, seed);
	return seed;
}

/* splitmix64 */
static inline uint64_t
seeded_random_next(uint64_t *state)
{
	uint64_t value = (*state += UINT64_C(0x9e3779b97f4a7c15));

	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

/* 0 … limit - 1 */
static inline size_t
seeded_random_below(uint64_t *state, size_t limit)
{
	return (size_t)(seeded_random_next(state) % limit);
}

#endif
