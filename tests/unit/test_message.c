/*
 * The message table: complete, without contradictions, and with sane sizes.
 */
#include <config.h>

#include "common/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every value of the enum, by name, so that a new one without a row is noticed by its
 * reader; the count below is noticed by the compiler's switch in name_of(). */
static const char *
name_of(enum message_type type)
{
	switch (type) {
#define NAME(value)                                                                            \
	case value:                                                                            \
		return #value
		NAME(TO_WORKER_SETUP);
		NAME(TO_WORKER_SHUTDOWN);
		NAME(TO_WORKER_TURN_START);
		NAME(TO_WORKER_TURN_CANCEL);
		NAME(TO_WORKER_TURN_RECOVER);
		NAME(TO_WORKER_COMMAND);
		NAME(TO_WORKER_REQUEST);
		NAME(TO_WORKER_CLIENT_ANSWER);
		NAME(TO_WORKER_RETIRE);
		NAME(TO_WORKER_SETTINGS_QUERY);
		NAME(TO_WORKER_COMMIT_TAIL);
		NAME(TO_SUPERVISOR_HELLO);
		NAME(TO_SUPERVISOR_READY);
		NAME(TO_SUPERVISOR_SETUP_FAILED);
		NAME(TO_SUPERVISOR_LOG);
		NAME(TO_SUPERVISOR_FAREWELL);
		NAME(TO_SUPERVISOR_TEXT);
		NAME(TO_SUPERVISOR_TURN_UPDATE);
		NAME(TO_SUPERVISOR_SESSION_UPDATE);
		NAME(TO_SUPERVISOR_CALL_OPEN);
		NAME(TO_SUPERVISOR_CALL_STARTED);
		NAME(TO_SUPERVISOR_CALL_CLOSED);
		NAME(TO_SUPERVISOR_STATE_SAVED);
		NAME(TO_SUPERVISOR_SESSION_STATE);
		NAME(TO_SUPERVISOR_CLIENT_REQUEST);
		NAME(TO_SUPERVISOR_CLIENT_CANCEL);
		NAME(TO_SUPERVISOR_RESPONSE);
		NAME(TO_SUPERVISOR_RESPONSE_ERROR);
		NAME(TO_SUPERVISOR_TURN_DONE);
		NAME(TO_SUPERVISOR_TURN_FAILED);
		NAME(TO_SUPERVISOR_BUSY);
		NAME(TO_SUPERVISOR_SETTINGS);
		NAME(TO_SUPERVISOR_TAIL_COMMITTED);
	}
	return NULL;
}

static void
test_every_type_has_a_row(void **state)
{
	const struct message_row *row;
	const char *name;
	unsigned type;
	size_t count, named = 0;

	(void)state;
	message_rows(&count);
	for (type = 0; type < 1024; type++) {
		name = name_of((enum message_type)type);
		row = message_row(type);
		if (name == NULL) {
			assert_null(row);
			assert_string_equal(message_name(type), "unknown message");
			continue;
		}
		named++;
		assert_non_null(row);
		assert_int_equal(row->type, type);
		assert_string_equal(row->name, name);
		assert_string_equal(message_name(type), name);
	}
	assert_int_equal(named, count);
	assert_null(message_row(65535));
	assert_null(message_row(0xffffffff));
}

static void
test_rows(void **state)
{
	const struct message_row *rows;
	size_t count, i;
	bool to_worker;

	(void)state;
	rows = message_rows(&count);
	for (i = 0; i < count; i++) {
		to_worker = strncmp(rows[i].name, "TO_WORKER_", 10) == 0;
		assert_true(to_worker || strncmp(rows[i].name, "TO_SUPERVISOR_", 14) == 0);
		assert_int_equal(
		    rows[i].direction, to_worker ? MESSAGE_TO_WORKER : MESSAGE_TO_SUPERVISOR);
		assert_true(rows[i].least <= rows[i].most);
		assert_true(
		    rows[i].most <= (to_worker ? MESSAGE_LINE_MAX : MESSAGE_UPDATE_MAX));
		assert_int_not_equal(rows[i].peer & MESSAGE_PEER_ANY, 0);
		assert_int_not_equal(rows[i].states, 0);
		assert_true(rows[i].states < 1u << SESSION_STATE_COUNT);
		assert_true(rows[i].type < 65536); /* u16 on the wire */
	}
}

/* What belongs to a turn is legal in the states that have one, and only there. */
static void
test_turn_messages(void **state)
{
	static const enum message_type types[] = {TO_SUPERVISOR_TEXT, TO_SUPERVISOR_TURN_UPDATE,
	    TO_SUPERVISOR_CALL_OPEN, TO_SUPERVISOR_CALL_STARTED, TO_SUPERVISOR_CALL_CLOSED};
	const struct message_row *row;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof types / sizeof types[0]; i++) {
		row = message_row(types[i]);
		assert_int_equal(
		    row->states, 1u << SESSION_TURN_RUNNING | 1u << SESSION_CANCELLING);
	}
	assert_int_equal(message_row(TO_SUPERVISOR_TURN_DONE)->states & 1u << SESSION_IDLE, 0);
	assert_int_equal(
	    message_row(TO_SUPERVISOR_TURN_FAILED)->states & 1u << SESSION_IDLE, 0);
	assert_int_equal(
	    message_row(TO_SUPERVISOR_CLIENT_REQUEST)->states & 1u << SESSION_IDLE, 0);
}

static void
test_names(void **state)
{
	static const char *const reasons[] = {
	    "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"};
	int i;

	(void)state;
	for (i = 0; i < STOP_REASON_COUNT; i++)
		assert_string_equal(stop_reason_name((enum stop_reason)i), reasons[i]);
	assert_string_equal(stop_reason_name(STOP_REASON_COUNT), "end_turn");
	for (i = 0; i < SESSION_STATE_COUNT; i++)
		assert_true(strlen(session_state_name((enum session_state)i)) > 0);
	assert_string_equal(session_state_name(SESSION_STATE_COUNT), "unknown");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_type_has_a_row),
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_turn_messages),
	    cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
