/*
 * What the tests of the database share: a private folder, a state on it, statements in one
 * line, and a child process that works on the same file.
 */
#ifndef HERMES_TESTS_UNIT_STATE_FIXTURE_H
#define HERMES_TESTS_UNIT_STATE_FIXTURE_H

#include "common/alloc.h"
#include "common/json.h"
#include "common/monotonic.h"
#include "worker/store/state_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MAYBE_UNUSED __attribute__((unused))

static char home[64];
static char path[96];

static MAYBE_UNUSED void
remove_folder(const char *where)
{
	char inner[512];
	struct dirent *entry;
	DIR *directory = opendir(where);

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		(void)snprintf(inner, sizeof inner, "%s/%s", where, entry->d_name);
		if (unlink(inner) == -1)
			remove_folder(inner);
	}
	if (directory != NULL)
		closedir(directory);
	(void)rmdir(where);
}

static MAYBE_UNUSED int
set_up(void **state)
{
	(void)state;
	(void)snprintf(home, sizeof home, "/tmp/test-state.XXXXXX");
	if (mkdtemp(home) == NULL)
		return -1;
	(void)snprintf(path, sizeof path, "%s/state.db", home);
	return 0;
}

static MAYBE_UNUSED int
tear_down(void **state)
{
	(void)state;
	remove_folder(home);
	return 0;
}

static MAYBE_UNUSED struct state *
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

/* Runs statements on a connection of their own. */
static MAYBE_UNUSED void
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
static MAYBE_UNUSED const char *
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

static MAYBE_UNUSED struct json_object *
parsed(const char *text)
{
	const char *reason;
	struct json_object *object = json_parse(text, strlen(text), &reason);

	if (object == NULL)
		print_error("%s: %s\n", text, reason);
	assert_non_null(object);
	return object;
}

/* A child that takes the database for itself and keeps it for a while; returns when it has. */
static MAYBE_UNUSED pid_t
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

static MAYBE_UNUSED void
wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
}

#endif
