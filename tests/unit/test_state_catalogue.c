/*
 * The jobs of the catalogue: results, unknown sessions, refusals, a lock of another process.
 */
#include <config.h>

#include "tests/unit/state_jobs.h"
#include "worker/store/state_catalogue.h"

static int
set_up_catalogue(void **state)
{
	if (set_up_jobs(state) == -1)
		return -1;
	open_once();
	sql("INSERT INTO sessions(id, source, started_at, cwd, title) VALUES ('s', 'acp', 1, "
	    "'/w', "
	    "'Title'); INSERT INTO messages(session_id, role, content, timestamp) VALUES "
	    "('s', 'user', 'hello', 1), ('s', 'assistant', 'Hi.', 2)");
	return 0;
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

static void
commit(const char *session, const char *texts, const char *name)
{
	struct json_object *pieces = parsed_json(texts);

	state_catalogue_tail(queue, session, pieces, 0, done, text_arg(name));
	json_object_put(pieces);
}

static void
test_all(void **state)
{
	(void)state;
	state_catalogue_fork(queue, "s", "f", "/v", done, text_arg("fork"));
	state_catalogue_delete(queue, "s", done, text_arg("delete"));
	state_catalogue_delete(queue, "s", done, text_arg("again"));
	commit("f", "[\" And\", \" more.\"]", "tail");
	assert_string_equal(run_loop(),
	    "fork={\"sessionId\":\"f\",\"messages\":2} delete={\"removed\":true} "
	    "again={\"removed\":false} tail={} ");
	buffer_clear(&told);
	state_catalogue_list(queue, NULL, NULL, false, done, text_arg("list"));
	assert_non_null(
	    strstr(run_loop(), "list={\"sessions\":[{\"sessionId\":\"f\",\"cwd\":\"/v\","
			       "\"title\":\"Title #2\",\"updatedAt\":\""));
	assert_string_equal(
	    value("SELECT group_concat(content, '|') FROM messages"), "hello|Hi.| And more.");
	assert_string_equal(value("SELECT json_extract(model_config, '$._branched_from') FROM "
				  "sessions WHERE id = 'f'"),
	    "s");
}

static void
test_unknown_sessions(void **state)
{
	(void)state;
	state_catalogue_fork(queue, "nope", "f", "/v", done, text_arg("fork"));
	assert_string_equal(run_loop(), "fork=there is no session nope ");
	assert_int_equal(last_code, SQLITE_NOTFOUND);
	commit("nope", "[\"x\"]", "tail");
	(void)run_loop();
	assert_int_equal(last_code, SQLITE_NOTFOUND);
	assert_string_equal(value("SELECT count(*) FROM sessions"), "1");
}

static void
test_refusals(void **state)
{
	(void)state;
	state_catalogue_list(queue, NULL, "nonsense", false, done, text_arg("list"));
	assert_non_null(strstr(run_loop(), "cursor"));
	assert_int_equal(last_code, STATE_REFUSED);
	sql("INSERT INTO session_turn_leases VALUES ('s', 'pid=1:turn=x', 1, 1e11)");
	state_catalogue_delete(queue, "s", done, text_arg("delete"));
	(void)run_loop();
	assert_int_equal(last_code, STATE_REFUSED);
	commit("s", "[\"x\"]", "tail");
	(void)run_loop();
	assert_int_equal(last_code, STATE_REFUSED);
	assert_string_equal(value("SELECT count(*) FROM messages"), "2");
}

static void
test_lock_of_another(void **state)
{
	pid_t pid = hold_lock(400);

	(void)state;
	state_catalogue_list(queue, "/w", NULL, false, done, text_arg("list"));
	assert_non_null(strstr(run_loop(), "\"sessionId\":\"s\""));
	wait_for(pid);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up_catalogue, tear_down_jobs)

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
