/*
 * A database that is open for the whole test, and the error of the last refusal.
 */
#ifndef HERMES_TESTS_UNIT_STATE_DATABASE_H
#define HERMES_TESTS_UNIT_STATE_DATABASE_H

#include "tests/unit/state_fixture.h"

static struct state *database;
static struct buffer error;

static inline int
set_up_database(void **state)
{
	if (set_up(state) == -1)
		return -1;
	database = opened();
	buffer_clear(&error);
	return 0;
}

static inline int
tear_down_database(void **state)
{
	state_free(database);
	buffer_free(&error);
	return tear_down(state);
}

#define DATABASE_CASE(test)                                                                    \
	cmocka_unit_test_setup_teardown(test, set_up_database, tear_down_database)

#endif
