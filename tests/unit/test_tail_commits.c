/*
 * Tails on their way to the database: sent once to each worker, answered in order, given up
 * after two.
 */
#include <config.h>

#include "tests/lib/fake_supervisor.h"
#include "supervisor/tail_commits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct commits {
	struct event_base *base;
	struct tail_commits *commits;
	struct worker_process *worker;
	struct buffer given_up;
};

static void
on_given_up(const char *session, void *arg)
{
	struct commits *fixture = arg;

	assert_false(tail_commits_has(fixture->commits, session));
	buffer_printf(&fixture->given_up, "%s ", session);
}

static int
set_up(void **state)
{
	struct commits *fixture = calloc(1, sizeof *fixture);

	fixture->base = event_base_new();
	fixture->commits = tail_commits_new(fixture->base, on_given_up, fixture);
	fixture->worker =
	    worker_start(NULL, "--catalogue", &(struct worker_callbacks){0}, NULL);
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	struct commits *fixture = *state;

	tail_commits_free(fixture->commits);
	event_base_free(fixture->base);
	fake_free(fixture->worker);
	buffer_free(&fixture->given_up);
	free(fixture);
	return 0;
}

static void
send_to(struct commits *fixture, const char *told)
{
	buffer_clear(&fixture->worker->told);
	tail_commits_send(fixture->commits, fixture->worker);
	assert_string_equal(buffer_text(&fixture->worker->told), told);
}

#define ONE "TO_WORKER_COMMIT_TAIL\n"

static void
test_sent_once(void **state)
{
	struct commits *fixture = *state;

	assert_int_equal(tail_commits_add(fixture->commits, "a", "text", 4), 0);
	assert_false(tail_commits_done(fixture->commits, "a")); /* it was not given away yet */
	send_to(fixture, ONE);
	send_to(fixture, "");
	assert_int_equal(tail_commits_add(fixture->commits, "a", "", 0), 0);
	send_to(fixture, ONE);
	assert_true(tail_commits_done(fixture->commits, "a"));
	assert_true(tail_commits_has(fixture->commits, "a"));
	assert_true(tail_commits_done(fixture->commits, "a"));
	assert_false(tail_commits_has(fixture->commits, "a"));
	assert_false(tail_commits_done(fixture->commits, "b"));
}

static void
test_given_to_a_second_worker(void **state)
{
	struct commits *fixture = *state;

	assert_int_equal(tail_commits_add(fixture->commits, "a", "text", 4), 0);
	send_to(fixture, ONE);
	tail_commits_lost(fixture->commits);
	assert_int_equal(tail_commits_add(fixture->commits, "b", "text", 4), 0);
	send_to(fixture, ONE ONE);
	assert_string_equal(buffer_text(&fixture->given_up), "");
	tail_commits_lost(fixture->commits);
	assert_string_equal(buffer_text(&fixture->given_up), "a ");
	assert_true(tail_commits_has(fixture->commits, "b"));
	send_to(fixture, ONE);
	assert_true(tail_commits_done(fixture->commits, "b"));
}

static void
test_a_worker_that_takes_nothing(void **state)
{
	struct commits *fixture = *state;

	fixture->worker->deaf = true;
	assert_int_equal(tail_commits_add(fixture->commits, "a", "text", 4), 0);
	send_to(fixture, "");
	tail_commits_lost(fixture->commits);
	tail_commits_lost(fixture->commits);
	fixture->worker->deaf = false;
	send_to(fixture, ONE);
	assert_true(tail_commits_done(fixture->commits, "a"));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_sent_once),
	    TEST(test_given_to_a_second_worker),
	    TEST(test_a_worker_that_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
