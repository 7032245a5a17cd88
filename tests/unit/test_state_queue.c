/*
 * The queue of jobs: order, other processes' locks, patience, refusals, a full disk, the end
 * of a process; writers that are killed.
 */
#include <config.h>

#include "tests/unit/state_jobs.h"
#include "worker/store/state_messages.h"
#include "worker/store/state_session.h"

#include <signal.h>

static int64_t last_beat, longest_gap;

static int
set_up_queue(void **state)
{
	last_beat = longest_gap = 0;
	return set_up_jobs(state);
}

static int
put(struct state *state, void *arg, struct buffer *error)
{
	(void)error;
	return state_sql_run(state->db, "INSERT INTO state_meta(key, value) VALUES (?, 'here')",
	    "t", (const char *)arg);
}

static int
refuse(struct state *state, void *arg, struct buffer *error)
{
	(void)put(state, arg, error);
	buffer_append_text(error, "not like this");
	return STATE_REFUSED;
}

static int
count(struct state *state, void *arg, struct buffer *error)
{
	(void)error;
	return state_sql_integer(state->db, arg,
		   "SELECT count(*) FROM state_meta WHERE value = 'here'", "") == SQLITE_ROW
		   ? SQLITE_OK
		   : SQLITE_ERROR;
}

static void
done(int code, const char *error, void *arg)
{
	last_code = code;
	buffer_printf(&told, "%s%s ", (const char *)arg, error != NULL ? "!" : "");
	if (error != NULL)
		buffer_printf(&told, "(%s) ", error);
	if (state_queue_length(queue) == 0)
		event_base_loopbreak(base);
}

static void
counted(int code, const char *error, void *arg)
{
	(void)error;
	buffer_printf(&told, "%d:%d ", code, (int)*(int64_t *)arg);
	if (state_queue_length(queue) == 0)
		event_base_loopbreak(base);
}

static void
beat(int fd, short events, void *arg)
{
	int64_t now = monotonic_ms();

	(void)fd;
	(void)events;
	(void)arg;
	if (last_beat != 0 && now - last_beat > longest_gap)
		longest_gap = now - last_beat;
	last_beat = now;
}

/* Runs the loop until the queue is empty, with a timer that shows whether it ever stood still.
 */
static void
run_loop(void)
{
	struct timeval interval = monotonic_interval(5);
	struct event *timer = event_new(base, -1, EV_PERSIST, beat, NULL);

	event_add(timer, &interval);
	event_base_dispatch(base);
	event_free(timer);
	assert_int_equal(state_queue_length(queue), 0);
}

static void
add(state_job_run run, int64_t patience, const char *name)
{
	state_queue_write(queue, patience, run, done, text_arg(name));
}

static void
test_order(void **state)
{
	int64_t found = 0, later = 0;

	(void)state;
	add(put, STATE_PATIENCE_WRITE, "a");
	state_queue_read(queue, STATE_PATIENCE_WRITE, count, counted, &found);
	add(put, STATE_PATIENCE_WRITE, "b");
	state_queue_read(queue, STATE_PATIENCE_WRITE, count, counted, &later);
	assert_int_equal(told.length, 0); /* nothing happens within the call */
	run_loop();
	assert_string_equal(buffer_text(&told), "a 0:1 b 0:2 ");
}

static void
test_refusal_undoes(void **state)
{
	(void)state;
	add(refuse, STATE_PATIENCE_WRITE, "a");
	add(put, STATE_PATIENCE_WRITE, "b");
	run_loop();
	assert_string_equal(buffer_text(&told), "a! (not like this) b ");
	assert_string_equal(value("SELECT count(*) FROM state_meta WHERE value = 'here'"), "1");
}

/* A commit costs the same for one and for many; what fails costs nobody else. */
static void
test_writes_share_a_transaction(void **state)
{
	int64_t found = 0;

	(void)state;
	add(put, STATE_PATIENCE_WRITE, "0");
	run_loop();
	assert_int_equal(database->transaction, 1);
	add(put, STATE_PATIENCE_WRITE, "a");
	add(put, STATE_PATIENCE_WRITE, "b");
	state_queue_read(queue, STATE_PATIENCE_WRITE, count, counted, &found);
	add(put, STATE_PATIENCE_WRITE, "c");
	run_loop();
	assert_string_equal(buffer_text(&told), "0 a b 0:3 c ");
	assert_int_equal(database->transaction, 3);
	buffer_clear(&told);
	add(put, STATE_PATIENCE_WRITE, "d");
	add(refuse, STATE_PATIENCE_WRITE, "e");
	add(put, STATE_PATIENCE_WRITE, "c");
	add(put, STATE_PATIENCE_WRITE, "f");
	run_loop();
	assert_int_equal(strncmp(buffer_text(&told), "d e! (not like this) c! (", 25), 0);
	assert_string_equal(buffer_text(&told) + told.length - 2, "f ");
	assert_string_equal(value("SELECT group_concat(key, '') FROM (SELECT key FROM "
				  "state_meta WHERE value = 'here' ORDER BY key)"),
	    "0abcdf");
	buffer_clear(&told);
	add(put, STATE_PATIENCE_WRITE, "g");
	add(put, STATE_PATIENCE_WRITE, "h");
	assert_int_equal(state_queue_finish(queue, 1000), 0);
	assert_int_equal(
	    database->transaction, 9); /* 3, the four and each of them, these two */
	assert_string_equal(buffer_text(&told), "g h ");
}

static void
test_failure_is_named(void **state)
{
	(void)state;
	add(put, STATE_PATIENCE_WRITE, "a");
	add(put, STATE_PATIENCE_WRITE, "a");
	run_loop();
	assert_int_equal(last_code & 0xff, SQLITE_CONSTRAINT);
	assert_non_null(strstr(buffer_text(&told), "state.db: UNIQUE constraint failed"));
}

static void
test_lock_of_another(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	int64_t start, took;
	pid_t pid;
	size_t i;

	(void)state;
	add(put, STATE_PATIENCE_WRITE, "0");
	run_loop();
	pid = hold_lock(3000);
	start = monotonic_ms();
	for (i = 0; i < 5; i++)
		add(put, STATE_PATIENCE_MESSAGES, names[i]);
	last_beat = longest_gap = 0;
	run_loop();
	took = monotonic_ms() - start;
	wait_for(pid);
	assert_string_equal(buffer_text(&told), "0 a b c d e ");
	assert_true(took >= 2900 && took < 8000);
	assert_true(longest_gap < 500); /* never waited for the lock itself */
}

/* The database is not even open yet when somebody else has it. */
static void
test_lock_at_the_opening(void **state)
{
	struct state *one;
	pid_t pid;

	(void)state;
	one = opened();
	state_free(one);
	pid = hold_lock(400);
	add(put, STATE_PATIENCE_WRITE, "a");
	run_loop();
	wait_for(pid);
	assert_string_equal(buffer_text(&told), "a ");
}

static void
test_patience_ends(void **state)
{
	struct state *one;
	pid_t pid;

	(void)state;
	one = opened();
	state_free(one);
	pid = hold_lock(1500);
	add(put, 300, "a");
	run_loop();
	assert_true(state_sql_is_busy(last_code));
	assert_non_null(strstr(
	    buffer_text(&told), "state.db: another process has kept it locked for too long"));
	buffer_clear(&told);
	add(put, STATE_PATIENCE_WRITE, "b");
	run_loop();
	wait_for(pid);
	assert_string_equal(buffer_text(&told), "b ");
	assert_string_equal(value("SELECT count(*) FROM state_meta WHERE value = 'here'"), "1");
}

static void
test_finish(void **state)
{
	struct state *one;
	int64_t start;
	pid_t pid;

	(void)state;
	one = opened();
	state_free(one);
	pid = hold_lock(700);
	add(put, STATE_PATIENCE_WRITE, "a");
	add(put, STATE_PATIENCE_WRITE, "b");
	start = monotonic_ms();
	assert_int_equal(state_queue_finish(queue, 100), 2);
	assert_true(monotonic_ms() - start < 500);
	assert_int_equal(state_queue_finish(queue, 5000), 0);
	wait_for(pid);
	assert_string_equal(buffer_text(&told), "a b ");
}

static void
test_dropped_jobs_are_told(void **state)
{
	(void)state;
	add(put, STATE_PATIENCE_WRITE, "a");
	state_queue_free(queue);
	queue = state_queue_new(base, database);
	assert_int_equal(last_code, SQLITE_ABORT);
	assert_non_null(strstr(buffer_text(&told), "a! (the program ended"));
}

static int
put_much(struct state *state, void *arg, struct buffer *error)
{
	(void)error;
	return state_sql_run(state->db,
	    "INSERT INTO state_meta(key, value) VALUES (?, hex(randomblob(1000000)))", "t",
	    (const char *)arg);
}

static void
test_full_disk(void **state)
{
	(void)state;
	add(put, STATE_PATIENCE_WRITE, "a");
	run_loop();
	assert_int_equal(
	    state_sql_run(database->db, "PRAGMA max_page_count = 120", ""), SQLITE_OK);
	add(put_much, STATE_PATIENCE_WRITE, "b");
	run_loop();
	assert_int_equal(last_code & 0xff, SQLITE_FULL);
	assert_non_null(
	    strstr(buffer_text(&told), "state.db: there is no space left on the disk"));
	buffer_clear(&told);
	add(put, STATE_PATIENCE_WRITE, "c");
	run_loop();
	assert_string_equal(buffer_text(&told), "c ");
}

/* Writes messages for ever and says each number once it has lasted. */
static void
write_messages(int out)
{
	struct store_session_info info = {.session_id = "s", .cwd = "/w"};
	struct json_object *message =
	    parsed_json("{\"role\": \"user\", \"content\": \"some text\"}");
	struct buffer error = BUFFER_EMPTY;
	struct state *one = state_new(home);
	double stamp = 0;
	int64_t id;
	int code = SQLITE_BUSY;

	one->journal = getpid() % 2 == 0 ? STATE_JOURNAL_WAL : STATE_JOURNAL_DELETE;
	while (state_sql_is_busy(code))
		code = state_open(one, &error);
	while (code == SQLITE_OK || state_sql_is_busy(code)) {
		code = state_sql_run(one->db, "BEGIN IMMEDIATE", "");
		if (code == SQLITE_OK)
			code = state_session_create(one, &info, &error);
		if (code == SQLITE_OK)
			code = state_messages_append(one, "s", message, 0, &stamp, &id);
		if (code == SQLITE_OK)
			code = state_sql_run(one->db, "COMMIT", "");
		if (code == SQLITE_OK && write(out, &id, sizeof id) != sizeof id)
			_exit(1);
		if (code != SQLITE_OK)
			(void)sqlite3_exec(one->db, "ROLLBACK", NULL, NULL, NULL);
	}
	_exit(2);
}

static void
test_killed_writers(void **state)
{
	char text[128];
	int64_t id, acknowledged = 0;
	int round, pipes[2], status;
	pid_t pid;

	(void)state;
	for (round = 0; round < 40; round++) {
		assert_int_equal(pipe(pipes), 0);
		pid = fork();
		if (pid == 0)
			write_messages(pipes[1]);
		close(pipes[1]);
		(void)usleep((useconds_t)(5000 + round * 1700 % 30000));
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		while (read(pipes[0], &id, sizeof id) == sizeof id) {
			acknowledged++;
			(void)snprintf(text, sizeof text,
			    "SELECT role FROM messages WHERE id = %lld", (long long)id);
			assert_string_equal(value(text), "user");
		}
		close(pipes[0]);
		if (access(path, F_OK) == 0)
			assert_string_equal(value("PRAGMA integrity_check"), "ok");
	}
	assert_true(acknowledged > 0);
	assert_string_equal(value("SELECT message_count = (SELECT count(*) FROM messages) FROM "
				  "sessions"),
	    "1");
	sql("INSERT INTO messages_fts(messages_fts, rank) VALUES ('integrity-check', 1)");
}

/* Several at once, in the mode of the library. */
static void
test_many_writers(void **state)
{
	struct store_session_info info = {.cwd = "/w"};
	struct json_object *message;
	struct buffer error = BUFFER_EMPTY;
	char id_text[16];
	struct state *one;
	double stamp = 0;
	int64_t id;
	int i, n, status, code;

	(void)state;
	for (i = 0; i < 4; i++) {
		if (fork() != 0)
			continue;
		one = state_new(home);
		message = parsed_json("{\"role\": \"user\", \"content\": \"some text\"}");
		(void)snprintf(id_text, sizeof id_text, "s%d", i);
		info.session_id = id_text;
		for (n = 0; n < 25;) {
			code = state_open(one, &error);
			if (code == SQLITE_OK)
				code = state_sql_run(one->db, "BEGIN IMMEDIATE", "");
			if (code == SQLITE_OK)
				code = state_session_create(one, &info, &error);
			if (code == SQLITE_OK)
				code = state_messages_append(
				    one, id_text, message, 0, &stamp, &id);
			if (code == SQLITE_OK)
				code = state_sql_run(one->db, "COMMIT", "");
			if (code != SQLITE_OK && one->db != NULL)
				(void)sqlite3_exec(one->db, "ROLLBACK", NULL, NULL, NULL);
			if (code == SQLITE_OK)
				n++;
			else if (state_sql_is_busy(code))
				(void)usleep((useconds_t)(1000 + 1000 * i));
			else
				_exit(1);
		}
		json_object_put(message);
		state_free(one);
		buffer_free(&error);
		_exit(0);
	}
	for (i = 0; i < 4; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_string_equal(
	    value("SELECT group_concat(message_count) FROM sessions"), "25,25,25,25");
	assert_string_equal(value("PRAGMA integrity_check"), "ok");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_queue, tear_down_jobs)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_order),
	    TEST(test_refusal_undoes),
	    TEST(test_writes_share_a_transaction),
	    TEST(test_failure_is_named),
	    TEST(test_lock_of_another),
	    TEST(test_lock_at_the_opening),
	    TEST(test_patience_ends),
	    TEST(test_finish),
	    TEST(test_dropped_jobs_are_told),
	    TEST(test_full_disk),
	    TEST(test_killed_writers),
	    TEST(test_many_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
