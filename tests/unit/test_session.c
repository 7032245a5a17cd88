/*
 * Bookkeeping of sessions: the table, the queue with its sums, the cards of a turn, and the
 * commands that act at once.
 */
#include <config.h>

#include "supervisor/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
test_table(void **state)
{
	struct session_table *table = session_table_new();
	struct session *a, *b;

	(void)state;
	assert_null(session_first(table));
	a = session_new(table, NULL, NULL);
	b = session_new(table, NULL, NULL);
	assert_int_equal(a->state, SESSION_DEAD);
	assert_string_not_equal(a->id, b->id);
	assert_int_equal(strlen(a->id), 36);
	assert_int_equal(a->quoted[0], '"');
	assert_memory_equal(a->quoted + 1, a->id, 36);
	assert_string_equal(a->quoted + 37, "\"");
	assert_ptr_equal(session_find(table, a->id), a);
	assert_ptr_equal(session_find(table, b->id), b);
	assert_null(session_find(table, ""));
	assert_null(session_find(table, "x"));
	assert_ptr_equal(session_next(session_first(table)), a);
	assert_null(session_next(a));
	session_free(b);
	assert_ptr_equal(session_first(table), a);
	session_table_free(table);
	session_table_free(NULL);
}

static void
test_queue(void **state)
{
	struct session_table *table = session_table_new();
	struct session *session = session_new(table, NULL, NULL);
	struct waiting *waiting;

	(void)state;
	assert_null(session_take_waiting(session));
	assert_int_equal(session_wait(session, NULL, NULL, "abc", 3), 0);
	assert_int_equal(session_wait(session, NULL, "session/set_mode", "{}", 2), 0);
	assert_int_equal(session_wait(session, NULL, NULL, "", 0), 0);
	assert_int_equal(session->waiting_prompts, 2);
	assert_int_equal(session->waiting_bytes, 5);
	waiting = session_take_waiting(session);
	assert_null(waiting->method);
	assert_int_equal(waiting->length, 3);
	assert_memory_equal(waiting->params, "abc", 3);
	waiting_free(waiting);
	assert_int_equal(session->waiting_prompts, 1);
	assert_int_equal(session->waiting_bytes, 2);
	for (waiting = TAILQ_FIRST(&session->waiting); TAILQ_NEXT(waiting, entry) != NULL;)
		waiting = TAILQ_NEXT(waiting, entry);
	session_remove_waiting(session, waiting);
	waiting_free(waiting);
	waiting = session_take_waiting(session);
	assert_string_equal(waiting->method, "session/set_mode");
	waiting_free(waiting);
	assert_int_equal(session->waiting_prompts, 0);
	assert_int_equal(session->waiting_bytes, 0);
	assert_int_equal(session_wait(session, NULL, NULL, "left over", 9), 0);
	session_table_free(table);
}

static void
test_cards(void **state)
{
	struct session_table *table = session_table_new();
	struct session *session = session_new(table, NULL, NULL);
	char id[16];
	int i;

	(void)state;
	assert_false(session_call_started(session, "a", 1));
	assert_false(session_call_closed(session, "a", 1));
	assert_int_equal(session_call_open(session, "a", 1), 0);
	assert_int_equal(session_call_open(session, "a", 1), 0); /* twice is once */
	assert_int_equal(session_call_open(session, "a\0b", 3), 0);
	assert_int_equal(session->turn.call_count, 2);
	assert_true(session_call_started(session, "a\0b", 3));
	assert_true(session_call_closed(session, "a", 1));
	assert_false(session_call_closed(session, "a", 1));
	assert_true(session_call_closed(session, "a\0b", 3));
	assert_int_equal(session->turn.call_count, 0);
	for (i = 0; i < SESSION_CALLS_MAX; i++) {
		snprintf(id, sizeof id, "%d", i);
		assert_int_equal(session_call_open(session, id, strlen(id)), 0);
	}
	assert_int_equal(session_call_open(session, "more", 4), -1);
	assert_true(session_call_closed(session, "0", 1));
	assert_int_equal(session_call_open(session, "more", 4), 0);
	session_calls_clear(session);
	assert_int_equal(session->turn.call_count, 0);
	assert_false(session_call_closed(session, "more", 4));
	session_table_free(table);
}

static void
test_commands(void **state)
{
	struct session_table *table = session_table_new();
	struct session *session = session_new(table, NULL, NULL);

	(void)state;
	assert_false(session_has_command(session, "help", 4));
	session->commands = strdup(" help model ");
	assert_true(session_has_command(session, "help", 4));
	assert_true(session_has_command(session, "HELP", 4));
	assert_true(session_has_command(session, "model", 5));
	assert_false(session_has_command(session, "hel", 3));
	assert_false(session_has_command(session, "helpx", 5));
	assert_false(session_has_command(session, "odel", 4));
	assert_false(session_has_command(session, "", 0));
	free(session->commands);
	session->commands = strdup("  ");
	assert_false(session_has_command(session, "", 0));
	assert_false(session_has_command(session, "help", 4));
	session_table_free(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_table),
	    cmocka_unit_test(test_queue),
	    cmocka_unit_test(test_cards),
	    cmocka_unit_test(test_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
