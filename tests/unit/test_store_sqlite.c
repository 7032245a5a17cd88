/*
 * The verbs of the store on a database: whole turns, the ledger of calls, unfinished answers,
 * other processes, what could not be saved at once.
 */
#include <config.h>

#include "tests/unit/state_fixture.h"
#include "worker/store/state_lease.h"
#include "worker/store/state_queue.h"
#include "worker/store/store_sqlite.h"

#include <event2/event.h>
#include <signal.h>

static struct event_base *base;
static struct store *store;
static struct buffer told; /* one letter per callback, "!" and the text on error */

static struct store *
new_store(void)
{
	struct store_session_info info = {.session_id = "s", .cwd = "/w", .model = "m1"};
	struct buffer error = BUFFER_EMPTY;
	struct store *made = store_sqlite_new(base, home, &info, &error);

	assert_non_null(made);
	assert_int_equal(error.length, 0);
	return made;
}

static int
set_up_store(void **state)
{
	if (set_up(state) == -1)
		return -1;
	base = event_base_new();
	store = new_store();
	buffer_clear(&told);
	return 0;
}

static int
tear_down_store(void **state)
{
	store_free(store);
	event_base_free(base);
	buffer_free(&told);
	return tear_down(state);
}

static void
saved(const char *error, void *arg)
{
	buffer_printf(&told, "%s", (const char *)arg);
	if (error != NULL)
		buffer_printf(&told, "!%s!", error);
}

static void
run_loop(void)
{
	while (state_queue_length(store_sqlite_queue(store)) > 0)
		event_base_loop(base, EVLOOP_ONCE);
}

typedef void (*verb)(
    struct store *store, struct json_object *message, store_saved saved, void *arg);

static void
give(verb act, const char *name, const char *json)
{
	struct json_object *message = parsed_json(json);

	act(store, message, saved, (void *)(uintptr_t)name);
	json_object_put(message);
}

static void
user(const char *text)
{
	struct json_object *message = json_object_new_object();

	json_set_text(message, "role", "user");
	json_set_text(message, "content", text);
	store_append_user(store, message, saved, (void *)(uintptr_t) "u");
	json_object_put(message);
}

#define CALLS                                                                                  \
	"{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"c1\", "      \
	"\"type\": \"function\", \"function\": {\"name\": \"terminal\", \"arguments\": "       \
	"\"{}\"}}, {\"id\": \"c2\", \"type\": \"function\", \"function\": {\"name\": "         \
	"\"todo\", \"arguments\": \"{}\"}}]}"
#define RESULT(id)                                                                             \
	"{\"role\": \"tool\", \"tool_call_id\": \"" id "\", \"name\": \"terminal\", "          \
	"\"content\": \"done\"}"
#define ANSWER(text) "{\"role\": \"assistant\", \"content\": \"" text "\"}"

static void
started(const char *id)
{
	struct json_object *message = parsed_json(
	    "{\"role\": \"tool\", \"name\": \"terminal\", \"content\": \"{\\\"error\\\": "
	    "\\\"unknown\\\"}\"}");

	json_set_text(message, "tool_call_id", id);
	store_call_started(store, message, saved, (void *)(uintptr_t) "c");
	json_object_put(message);
}

static void
end(void)
{
	store_turn_end(store, false, saved, (void *)(uintptr_t) "e");
}

static const char *
rows(void)
{
	return value(
	    "SELECT group_concat(role || ':' || coalesce(substr(content, 1, 10), '-') || "
	    "coalesce(':' || effect_disposition, ''), ' ') FROM (SELECT * FROM messages "
	    "WHERE active = 1 ORDER BY id)");
}

static void
test_turn(void **state)
{
	(void)state;
	assert_int_equal(access(path, F_OK), -1); /* nothing before the first message */
	user("  Fix the bug \n now");
	give(store_append_assistant, "a", CALLS);
	started("c1");
	assert_int_equal(told.length, 0);
	run_loop();
	assert_string_equal(buffer_text(&told), "uac");
	assert_string_equal(rows(), "user:  Fix the  assistant:- tool:{\"error\": :unknown");
	assert_string_equal(
	    value("SELECT tool_name FROM messages WHERE role = 'tool'"), "terminal");
	assert_string_equal(value("SELECT count(*) FROM session_turn_leases"), "1");
	give(store_call_result, "r", RESULT("c1"));
	give(store_call_result, "r", RESULT("c2"));
	give(store_append_assistant, "a", ANSWER("Done."));
	end();
	run_loop();
	assert_string_equal(buffer_text(&told), "uacrrae");
	assert_string_equal(
	    rows(), "user:  Fix the  assistant:- tool:done tool:done assistant:Done.");
	assert_string_equal(
	    value("SELECT title || '/' || title_source || '/' || message_count || "
		  "'/' || tool_call_count || '/' || cwd || '/' || model FROM sessions"),
	    "Fix the bug/derived/5/2//w/m1");
	assert_string_equal(value("SELECT count(*) FROM session_turn_leases"), "0");
	assert_string_equal(value("SELECT count(DISTINCT timestamp) FROM messages"), "5");
}

static void
test_partials(void **state)
{
	(void)state;
	user("hello");
	give(store_save_partial, "p", ANSWER("One"));
	give(store_save_partial, "p", ANSWER("One two"));
	run_loop();
	assert_string_equal(rows(), "user:hello assistant:One two");
	give(store_append_assistant, "a", ANSWER("One two three"));
	run_loop();
	assert_string_equal(rows(), "user:hello assistant:One two th");
	give(store_append_assistant, "a", ANSWER("Four"));
	give(store_save_partial, "p", ANSWER("Five"));
	end();
	run_loop();
	assert_string_equal(
	    rows(), "user:hello assistant:One two th assistant:Four assistant:Five");
	assert_string_equal(value("SELECT count(*) FROM messages WHERE display_metadata IS NOT "
				  "NULL"),
	    "0");
	assert_string_equal(value("SELECT message_count FROM sessions"), "4");
	assert_string_equal(buffer_text(&told), "uppaape");
}

struct seen {
	struct json_object *session, *messages;
	char *error;
};

static void
on_loaded(const struct store_loaded *loaded, void *arg)
{
	struct seen *seen = arg;

	seen->session = json_copy(loaded->session);
	seen->messages = json_copy(loaded->messages);
	seen->error = loaded->error != NULL ? xstrdup(loaded->error) : NULL;
}

static struct seen
load(void)
{
	struct seen seen = {0};

	store_sqlite_load(store, on_loaded, &seen);
	run_loop();
	return seen;
}

static void
seen_clear(struct seen *seen)
{
	json_object_put(seen->session);
	json_object_put(seen->messages);
	free(seen->error);
}

static void
restart(void)
{
	store_free(store);
	store = new_store();
}

static void
test_load(void **state)
{
	struct seen seen = load();

	(void)state;
	assert_null(seen.session);
	assert_null(seen.error);
	user("hello");
	give(store_append_assistant, "a", ANSWER("Hi."));
	end();
	restart();
	seen = load();
	assert_string_equal(json_member_text(seen.session, "title", ""), "hello");
	assert_int_equal(json_object_array_length(seen.messages), 2);
	seen_clear(&seen);
	user("again");
	end();
	run_loop();
	assert_string_equal(rows(), "user:hello assistant:Hi. user:again");
	assert_string_equal(value("SELECT title FROM sessions"), "hello");
}

/* A worker that died in a turn: its successor goes on with the same rows. */
static void
test_successor(void **state)
{
	struct seen seen;
	struct json_object *last;

	(void)state;
	user("hello");
	give(store_append_assistant, "a", CALLS);
	started("c1");
	run_loop();
	restart();
	seen = load();
	last = json_object_array_get_idx(seen.messages, 2);
	assert_string_equal(json_member_text(last, "_effect", ""), "unknown");
	assert_string_equal(json_member_text(last, "name", ""), "terminal");
	assert_non_null(strstr(json_member_text(last, "content", ""), "unknown"));
	assert_int_equal(json_object_array_length(seen.messages), 3);
	seen_clear(&seen);
	started("c1"); /* again: still one row */
	started("c2");
	give(store_call_result, "r", RESULT("c2"));
	give(store_save_partial, "p", ANSWER("Half an "));
	run_loop();
	assert_string_equal(rows(),
	    "user:hello assistant:- tool:{\"error\": :unknown tool:done assistant:Half an ");
	restart();
	give(store_append_assistant, "a", ANSWER("Half an answer")); /* without loading first */
	end();
	run_loop();
	assert_string_equal(rows(),
	    "user:hello assistant:- tool:{\"error\": :unknown tool:done assistant:Half an an");
	assert_string_equal(value("SELECT message_count FROM sessions"), "5");
}

static void
test_unfinished_answer_of_an_earlier_turn(void **state)
{
	(void)state;
	user("hello");
	give(store_save_partial, "p", ANSWER("Half"));
	run_loop();
	restart();
	user("next");
	give(store_append_assistant, "a", ANSWER("New"));
	run_loop();
	assert_string_equal(rows(), "user:hello assistant:Half user:next assistant:New");
}

static void
test_turn_of_another_process(void **state)
{
	struct state *one;

	(void)state;
	one = opened();
	state_free(one);
	sql("INSERT INTO session_turn_leases VALUES ('s', 'pid=1:turn=x', 1, 1e11)");
	user("hello");
	run_loop();
	assert_non_null(strstr(buffer_text(&told), "u!session s is in use"));
	assert_string_equal(value("SELECT count(*) FROM messages"), "0");
	assert_string_equal(value("SELECT count(*) FROM sessions"), "0");
	sql("DELETE FROM session_turn_leases");
	buffer_clear(&told);
	user("once more");
	run_loop();
	assert_string_equal(rows(), "user:once more");
}

static void
test_session_that_another_went_on_with(void **state)
{
	struct seen seen;

	(void)state;
	user("hello");
	end();
	run_loop();
	sql("INSERT INTO messages(session_id, role, content, timestamp) VALUES "
	    "('s', 'user', 'from elsewhere', 1)");
	buffer_clear(&told);
	user("mine");
	run_loop();
	assert_non_null(strstr(buffer_text(&told), "load it again"));
	assert_string_equal(rows(), "user:hello user:from elsew");
	seen = load();
	seen_clear(&seen);
	user("mine");
	run_loop();
	assert_string_equal(rows(), "user:hello user:from elsew user:mine");
}

static void
test_deleted_session_stays_away(void **state)
{
	(void)state;
	user("hello");
	end();
	run_loop();
	sql("DELETE FROM messages; DELETE FROM sessions");
	buffer_clear(&told);
	give(store_append_assistant, "a", ANSWER("late"));
	run_loop();
	assert_string_equal(buffer_text(&told), "a!session s was deleted!");
	assert_string_equal(value("SELECT count(*) FROM sessions"), "0");
}

static void
limit_pages(const char *pragma)
{
	assert_int_equal(
	    state_sql_run(state_queue_state(store_sqlite_queue(store))->db, pragma, ""),
	    SQLITE_OK);
}

/* What could not be written is written with the next thing, once and in order. */
static void
test_left_over(void **state)
{
	struct json_object *message = parsed_json(ANSWER("two"));
	char *thoughts = xcalloc(1, 200001);

	(void)state;
	memset(thoughts, 'x', 200000);
	json_set_text(message, "reasoning", thoughts);
	free(thoughts);
	user("one");
	run_loop();
	limit_pages("PRAGMA max_page_count = 1");
	store_append_assistant(store, message, saved, (void *)(uintptr_t) "a");
	store_call_result(store, message, saved, (void *)(uintptr_t) "r");
	json_object_put(message);
	run_loop();
	assert_non_null(strstr(buffer_text(&told), "a!"));
	assert_non_null(strstr(buffer_text(&told), "r!"));
	assert_non_null(strstr(buffer_text(&told), "there is no space left on the disk"));
	assert_string_equal(rows(), "user:one");
	limit_pages("PRAGMA max_page_count = 1000000");
	user("three");
	give(store_append_assistant, "a", ANSWER("four"));
	run_loop();
	assert_string_equal(
	    rows(), "user:one assistant:two assistant:two user:three assistant:four");
	end();
	run_loop();
	assert_string_equal(value("SELECT message_count FROM sessions"), "5");
}

/* Of an answer that could not be written the newest state counts, also when its turn fails. */
static void
test_left_over_partial(void **state)
{
	static const char *const texts[] = {"a", "ab"};
	struct json_object *message;
	char *thoughts = xcalloc(1, 200001);
	size_t i;

	(void)state;
	memset(thoughts, 'x', 200000);
	user("one");
	run_loop();
	limit_pages("PRAGMA max_page_count = 1");
	for (i = 0; i < 2; i++) {
		message = parsed_json("{\"role\": \"assistant\"}");
		json_set_text(message, "content", texts[i]);
		json_set_text(message, "reasoning", thoughts);
		store_save_partial(store, message, saved, (void *)(uintptr_t) "p");
		json_object_put(message);
		run_loop();
	}
	free(thoughts);
	store_turn_end(store, true, saved, (void *)(uintptr_t) "e");
	run_loop();
	assert_string_equal(rows(), "user:one");
	limit_pages("PRAGMA max_page_count = 1000000");
	user("two");
	run_loop();
	assert_string_equal(rows(), "user:one assistant:ab user:two");
}

/* What will never work does not stand in the way of what comes after it. */
static void
test_what_never_works(void **state)
{
	(void)state;
	user("one");
	run_loop();
	sql("CREATE TRIGGER never BEFORE INSERT ON messages WHEN new.content = 'bad' BEGIN "
	    "SELECT raise(ABORT, 'never'); END");
	give(store_append_assistant, "a", ANSWER("bad"));
	give(store_append_assistant, "a", ANSWER("good"));
	run_loop();
	assert_non_null(strstr(buffer_text(&told), "never"));
	assert_string_equal(rows(), "user:one assistant:good");
}

/* A lock for ever: the caller is told in the end, and the next save brings everything. */
static void
test_lock_while_a_turn_runs(void **state)
{
	pid_t pid;

	(void)state;
	user("one");
	run_loop();
	pid = hold_lock(600);
	give(store_append_assistant, "a", ANSWER("two"));
	started("x");
	end();
	run_loop();
	wait_for(pid);
	assert_string_equal(buffer_text(&told), "uace");
	assert_string_equal(rows(), "user:one assistant:two tool:{\"error\": :unknown");
}

static void
test_free_saves(void **state)
{
	(void)state;
	user("one");
	give(store_append_assistant, "a", ANSWER("two"));
	restart();
	assert_int_equal(told.length, 0); /* nobody is called back */
	assert_string_equal(rows(), "user:one assistant:two");
}

static void
test_finish(void **state)
{
	(void)state;
	user("one");
	assert_int_equal(store_sqlite_finish(store, 1000), 0);
	assert_string_equal(buffer_text(&told), "u");
	assert_string_equal(rows(), "user:one");
}

static void
on_titled(const char *title, void *arg)
{
	buffer_printf(arg, "%s", title != NULL ? title : "(none)");
}

static void
test_what_else_is_told(void **state)
{
	struct store_session_info info = {.cwd = "/w/b", .model = "m2"};
	struct store_usage usage = {.model = "m2", .input = 3, .output = 4, .cost = -1};
	struct buffer title = BUFFER_EMPTY;

	(void)state;
	user("one");
	info.config = parsed_json("{\"mode\": \"plan\"}");
	store_sqlite_describe(store, &info, saved, (void *)(uintptr_t) "d");
	json_object_put(info.config);
	store_sqlite_set_title(store, "Mine", "user", on_titled, &title);
	store_sqlite_add_usage(store, &usage);
	run_loop();
	assert_string_equal(buffer_text(&told), "ud");
	assert_string_equal(buffer_text(&title), "Mine");
	assert_string_equal(value("SELECT cwd || model || title || input_tokens || "
				  "json_extract(model_config, '$.mode') FROM sessions"),
	    "/w/bm2Mine3plan");
	buffer_free(&title);
}

static void
test_notice(void **state)
{
	char *said;

	(void)state;
	scratch_put_text(path, "This is no database.");
	user("one");
	run_loop();
	assert_string_equal(buffer_text(&told), "u");
	said = store_sqlite_notice(store);
	assert_non_null(strstr(said, "It was moved to"));
	free(said);
	assert_null(store_sqlite_notice(store));
}

static void
test_no_id(void **state)
{
	struct store_session_info info = {.cwd = "/w"};
	struct buffer error = BUFFER_EMPTY;

	(void)state;
	assert_null(store_sqlite_new(base, home, &info, &error));
	assert_true(error.length > 0);
	buffer_free(&error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_store, tear_down_store)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_turn),
	    TEST(test_partials),
	    TEST(test_load),
	    TEST(test_successor),
	    TEST(test_unfinished_answer_of_an_earlier_turn),
	    TEST(test_turn_of_another_process),
	    TEST(test_session_that_another_went_on_with),
	    TEST(test_deleted_session_stays_away),
	    TEST(test_left_over),
	    TEST(test_left_over_partial),
	    TEST(test_what_never_works),
	    TEST(test_lock_while_a_turn_runs),
	    TEST(test_free_saves),
	    TEST(test_finish),
	    TEST(test_what_else_is_told),
	    TEST(test_notice),
	    TEST(test_no_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
