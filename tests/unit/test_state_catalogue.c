/*
 * The jobs of the catalogue: results, unknown sessions, refusals, a lock of another process.
 */
#include <config.h>

#include "tests/unit/state_fixture.h"
#include "worker/store/state_catalogue.h"

#include <event2/event.h>

static struct event_base *base;
static struct state *database;
static struct state_queue *queue;
static struct buffer told;
static int last_code;

static int
set_up_queue(void **state)
{
	struct state *one;

	if (set_up(state) == -1)
		return -1;
	one = opened();
	state_free(one);
	sql("INSERT INTO sessions(id, source, started_at, cwd, title) VALUES ('s', 'acp', 1, "
	    "'/w', "
	    "'Title'); INSERT INTO messages(session_id, role, content, timestamp) VALUES "
	    "('s', 'user', 'hello', 1), ('s', 'assistant', 'Hi.', 2)");
	base = event_base_new();
	database = state_new(home);
	queue = state_queue_new(base, database);
	buffer_clear(&told);
	return 0;
}

static int
tear_down_queue(void **state)
{
	state_queue_free(queue);
	state_free(database);
	event_base_free(base);
	buffer_free(&told);
	return tear_down(state);
}

static void
done(int code, struct json_object *result, const char *error, void *arg)
{
	last_code = code;
	assert_true((error == NULL) == (code == SQLITE_OK));
	assert_true((error == NULL) == (result != NULL));
	buffer_printf(&told, "%s=%s ", (const char *)arg,
	    error != NULL ? error : json_text(result, NULL));
}

static const char *
run_loop(void)
{
	while (state_queue_length(queue) > 0)
		event_base_loop(base, EVLOOP_ONCE);
	return buffer_text(&told);
}

static void *
name(const char *text)
{
	return (void *)(uintptr_t)text;
}

static void
test_all(void **state)
{
	(void)state;
	state_catalogue_fork(queue, "s", "f", "/v", done, name("fork"));
	state_catalogue_delete(queue, "s", done, name("delete"));
	state_catalogue_delete(queue, "s", done, name("again"));
	state_catalogue_tail(queue, "f", " And more.", 10, done, name("tail"));
	assert_string_equal(run_loop(),
	    "fork={\"sessionId\":\"f\",\"messages\":2} delete={\"removed\":true} "
	    "again={\"removed\":false} tail={} ");
	buffer_clear(&told);
	state_catalogue_list(queue, NULL, NULL, done, name("list"));
	assert_non_null(
	    strstr(run_loop(), "list={\"sessions\":[{\"sessionId\":\"f\",\"cwd\":\"/v\","
			       "\"title\":\"Title #2\",\"updatedAt\":\""));
	assert_string_equal(
	    value("SELECT group_concat(content, '|') FROM messages"), "hello|Hi.| And more.");
	buffer_clear(&told);
	state_catalogue_read(queue, "f", done, name("read"));
	assert_non_null(strstr(run_loop(), "\"_branched_from\":\"s\""));
}

static void
test_unknown_sessions(void **state)
{
	(void)state;
	state_catalogue_read(queue, "nope", done, name("read"));
	assert_string_equal(run_loop(), "read=there is no session nope ");
	assert_int_equal(last_code, SQLITE_NOTFOUND);
	state_catalogue_fork(queue, "nope", "f", "/v", done, name("fork"));
	(void)run_loop();
	assert_int_equal(last_code, SQLITE_NOTFOUND);
	state_catalogue_tail(queue, "nope", "x", 1, done, name("tail"));
	(void)run_loop();
	assert_int_equal(last_code, SQLITE_NOTFOUND);
	assert_string_equal(value("SELECT count(*) FROM sessions"), "1");
}

static void
test_refusals(void **state)
{
	(void)state;
	state_catalogue_list(queue, NULL, "nonsense", done, name("list"));
	assert_non_null(strstr(run_loop(), "cursor"));
	assert_int_equal(last_code, STATE_REFUSED);
	sql("INSERT INTO session_turn_leases VALUES ('s', 'pid=1:turn=x', 1, 1e11)");
	state_catalogue_delete(queue, "s", done, name("delete"));
	(void)run_loop();
	assert_int_equal(last_code, STATE_REFUSED);
	state_catalogue_tail(queue, "s", "x", 1, done, name("tail"));
	(void)run_loop();
	assert_int_equal(last_code, STATE_REFUSED);
	assert_string_equal(value("SELECT count(*) FROM messages"), "2");
}

static void
test_lock_of_another(void **state)
{
	pid_t pid = hold_lock(400);

	(void)state;
	state_catalogue_list(queue, "/w", NULL, done, name("list"));
	assert_non_null(strstr(run_loop(), "\"sessionId\":\"s\""));
	wait_for(pid);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up_queue, tear_down_queue)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_all),
	    TEST(test_unknown_sessions),
	    TEST(test_refusals),
	    TEST(test_lock_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
