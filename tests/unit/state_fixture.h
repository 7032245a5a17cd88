/*
 * What the tests of the database share: a private folder, a state on it, statements in one
 * line, and a child process that works on the same file.
 */
#ifndef HERMES_TESTS_UNIT_STATE_FIXTURE_H
#define HERMES_TESTS_UNIT_STATE_FIXTURE_H

#include "common/monotonic.h"
#include "tests/unit/parsed_json.h"
#include "tests/unit/scratch.h"
#include "worker/store/state_queue.h"

#include <sys/wait.h>

static char *home, *path;

static inline int
set_up(void **state)
{
	(void)state;
	home = scratch_new();
	path = xasprintf("%s/state.db", home);
	return 0;
}

static inline int
tear_down(void **state)
{
	(void)state;
	scratch_remove(home);
	free(path);
	return 0;
}

#define STATE_CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static inline struct state *
opened(void)
{
	struct state *state = state_new(home);
	struct buffer error = BUFFER_EMPTY;

	if (state_open(state, &error) != SQLITE_OK)
		print_error("%s\n", buffer_text(&error));
	assert_non_null(state->db);
	assert_int_equal(error.length, 0);
	buffer_free(&error);
	return state;
}

/* What the last open_once() has said; "" when all was well. */
static const char *notice;

/* Opens and closes. */
static inline void
open_once(void)
{
	static char text[512];
	struct state *state = opened();

	(void)snprintf(text, sizeof text, "%s", buffer_text(&state->notice));
	notice = text;
	state_free(state);
}

static inline int
run_statement(struct state *state, void *arg, struct buffer *error)
{
	(void)error;
	return state_sql_run(state->db, arg, "");
}

/* Writes through the state itself, as the queue does; an SQLite code. */
static inline int
run_write(struct state *state, const char *text, struct buffer *error)
{
	return state_queue_once(state, true, run_statement, (void *)(uintptr_t)text, error);
}

/* Runs statements on a connection of their own. */
static inline void
sql(const char *text)
{
	sqlite3 *db;
	char *message = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK) {
		print_error("%s: %s\n", text, message);
		fail();
	}
	sqlite3_close(db);
}

/* The first column of the first row, as text in a buffer of this function; "" for null, "-"
 * for no row. */
static inline const char *
value(const char *text)
{
	static char result[8192];
	sqlite3 *db;
	sqlite3_stmt *statement;
	const unsigned char *found;
	int code;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK) {
		print_error("%s: %s\n", text, sqlite3_errmsg(db));
		fail();
	}
	code = sqlite3_step(statement);
	found = code == SQLITE_ROW ? sqlite3_column_text(statement, 0) : NULL;
	(void)snprintf(result, sizeof result, "%s",
	    found != NULL	 ? (const char *)found
	    : code == SQLITE_ROW ? ""
				 : "-");
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return result;
}

/* A child that takes the database for itself and keeps it for a while; returns when it has. */
static inline pid_t
hold_lock(int64_t milliseconds)
{
	int ready[2];
	char byte = 0;
	pid_t pid;
	sqlite3 *db;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid != -1);
	if (pid == 0) {
		if (sqlite3_open(path, &db) != SQLITE_OK ||
		    sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK)
			_exit(1);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)usleep((useconds_t)milliseconds * 1000);
		(void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static inline void
wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
}

#endif
