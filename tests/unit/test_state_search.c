/*
 * Looking into stored sessions: what is found, in which order, what is left out, and what
 * happens without indexes, under a lock and with wrong requests.
 */
#include <config.h>

#include "tests/unit/state_fixture.h"
#include "worker/store/state_search.h"

#include <event2/event.h>

static struct event_base *base;
static struct state *database;
static struct state_queue *queue;
static struct json_object *result, *talk; /* roles */
static char *problem;
static unsigned told;

static int
set_up_queue(void **state)
{
	assert_int_equal(set_up(state), 0);
	base = event_base_new();
	database = opened();
	queue = state_queue_new(base, database);
	talk = parsed_json("[\"user\",\"assistant\"]");
	return 0;
}

static void
forget(void)
{
	json_object_put(result);
	free(problem);
	result = NULL;
	problem = NULL;
	told = 0;
}

static int
tear_down_queue(void **state)
{
	forget();
	json_object_put(talk);
	state_queue_free(queue);
	state_free(database);
	event_base_free(base);
	return tear_down(state);
}

static void
on_done(struct json_object *found, const char *error, void *arg)
{
	(void)arg;
	assert_true((found == NULL) == (error != NULL));
	told++;
	json_object_put(result);
	free(problem);
	result = json_object_get(found);
	problem = error != NULL ? xstrdup(error) : NULL;
}

static void
look(const struct state_search_request *request)
{
	forget();
	(void)state_search_start(queue, request, on_done, NULL);
	assert_int_equal(told, 0);
	while (told == 0)
		event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(told, 1);
}

static struct state_search_request
request_for(const char *query)
{
	struct state_search_request request = {.mode = STATE_SEARCH_DISCOVER,
	    .link = "@session:default/",
	    .query = query,
	    .query_length = strlen(query),
	    .limit = 10};

	request.roles = talk;
	return request;
}

static void
discover(const char *query)
{
	struct state_search_request request = request_for(query);

	look(&request);
	if (problem != NULL)
		fail_msg("%s: %s", query, problem);
}

static struct json_object *
hit(size_t index)
{
	return json_object_array_get_idx(json_member_array(result, "results"), index);
}

/* The session ids of the hits, with blanks between them. */
static void
hits_are(const char *expected)
{
	struct buffer ids = BUFFER_EMPTY;
	size_t i;

	for (i = 0; i < json_object_array_length(json_member_array(result, "results")); i++)
		buffer_printf(&ids, "%s%s", i > 0 ? " " : "",
		    json_member_text(hit(i), "session_id", "?"));
	assert_string_equal(buffer_text(&ids), expected);
	buffer_free(&ids);
}

static void
add_session(const char *id, const char *more)
{
	char *text = xasprintf("INSERT INTO sessions(id, source, started_at, title) VALUES "
			       "('%s', 'acp', 1000, 'Title of %s'); %s",
	    id, id, more);

	sql(text);
	free(text);
}

static void
add_message(const char *session, const char *role, const char *text)
{
	char *statement = sqlite3_mprintf(
	    "INSERT INTO messages(session_id, role, content, timestamp) VALUES (%Q, %Q, %Q, "
	    "(SELECT 1000 + count(*) FROM messages))",
	    session, role, text);

	sql(statement);
	sqlite3_free(statement);
}

static void
test_discover(void **state)
{
	struct json_object *first;

	(void)state;
	add_session("one", "");
	add_session("two", "");
	add_message("one", "user", "please fix the parser of dates");
	add_message("one", "assistant", "the parser is fixed");
	add_message("one", "tool", "parser.c");
	add_message("two", "user", "what is a monad, and a parser of parser of parser");
	discover("parser");
	assert_int_equal(json_object_array_length(json_member_array(result, "results")), 2);
	discover("dates parser");
	hits_are("one");
	first = hit(0);
	assert_string_equal(json_member_text(first, "title", ""), "Title of one");
	assert_string_equal(json_member_text(first, "link", ""), "@session:default/one");
	assert_string_equal(json_member_text(first, "detail", ""), "full");
	assert_string_equal(json_member_text(first, "matched_role", ""), "user");
	assert_non_null(strstr(json_member_text(first, "snippet", ""), ">>>parser<<<"));
	assert_int_equal(json_object_array_length(json_member_array(first, "messages")), 2);
	assert_int_equal(
	    json_object_array_length(json_member_array(first, "bookend_start")), 2);
	assert_true(json_member_boolean(
	    json_object_array_get_idx(json_member_array(first, "messages"), 0), "anchor",
	    false));
	discover("nothing of that");
	hits_are("");
	assert_non_null(json_member_string(result, "message"));
	assert_true(json_member_boolean(result, "success", false));
	discover("monad OR dates");
	assert_int_equal(json_object_array_length(json_member_array(result, "results")), 2);
	/* The second has its message only. */
	assert_string_equal(json_member_text(hit(1), "detail", ""), "compact");
	assert_int_equal(json_object_array_length(json_member_array(hit(1), "messages")), 1);
	assert_int_equal(json_object_array_length(json_member_array(hit(1), "bookend_end")), 0);
}

static void
test_order(void **state)
{
	struct state_search_request request = request_for("word");

	(void)state;
	add_session("old", "");
	add_session("best", "");
	add_session("cron", "UPDATE sessions SET source = 'cron' WHERE id = 'cron'");
	add_session("new", "");
	add_message("old", "user", "a word among many others that make it less of a hit");
	add_message("best", "user", "word");
	add_message("cron", "user", "word word word");
	add_message("new", "user", "a word among many others that make it less of a hit");
	discover("word");
	hits_are("best new old cron");
	request.sort = STATE_HITS_NEWEST;
	look(&request);
	hits_are("new best old cron");
	request.sort = STATE_HITS_OLDEST;
	look(&request);
	hits_are("old best new cron");
	request.limit = 1;
	look(&request);
	hits_are("old");
}

static void
test_left_out(void **state)
{
	struct state_search_request request = request_for("word");

	(void)state;
	add_session("seen", "");
	add_message("seen", "user", "word");
	add_session("taken", "");
	add_message("taken", "user", "word");
	sql("UPDATE messages SET active = 0 WHERE session_id = 'taken'");
	add_session("hidden", "");
	add_message("hidden", "user", "word");
	sql("UPDATE messages SET display_kind = 'hidden' WHERE session_id = 'hidden'");
	add_session("helper", "UPDATE sessions SET source = 'subagent' WHERE id = 'helper'");
	add_message("helper", "user", "word");
	add_session("tool", "");
	add_message("tool", "tool", "word");
	discover("word");
	hits_are("seen");
	/* What a summary stands for is found. */
	sql("UPDATE messages SET compacted = 1 WHERE session_id = 'taken'");
	discover("word");
	hits_are("taken seen");
	request.roles = parsed_json("[\"tool\"]");
	look(&request);
	hits_are("tool");
	json_object_put(request.roles);
}

/* The conversation that asks is not found, but for what is no longer in its context. */
static void
test_current(void **state)
{
	struct state_search_request request = request_for("word");

	(void)state;
	add_session("root", "UPDATE sessions SET end_reason = 'branched' WHERE id = 'root'");
	add_session("now", "UPDATE sessions SET parent_session_id = 'root' WHERE id = 'now'");
	add_session("other", "");
	add_message("root", "user", "word");
	add_message("now", "user", "word");
	add_message("other", "user", "word");
	request.current = "now";
	look(&request);
	hits_are("other");
	sql("UPDATE sessions SET end_reason = 'compression' WHERE id = 'root'");
	look(&request);
	hits_are("other root");
	sql("UPDATE messages SET active = 0, compacted = 1 WHERE session_id = 'now'");
	sql("UPDATE sessions SET end_reason = NULL WHERE id = 'root'");
	look(&request);
	hits_are("other now");
	assert_string_equal(json_member_text(hit(1), "parent_session_id", ""), "root");
	/* From elsewhere a conversation is found once. */
	request.current = NULL;
	sql("UPDATE messages SET active = 1, compacted = 0");
	look(&request);
	hits_are("other now");
}

static void
test_scripts(void **state)
{
	(void)state;
	add_session("one", "");
	add_message(
	    "one", "user", "\xe6\x9d\xb1\xe4\xba\xac\xe3\x81\xae\xe5\xa4\xa9\xe6\xb0\x97");
	/* Three letters: the trigrams; two: every text is looked at. */
	discover("\xe4\xba\xac\xe3\x81\xae\xe5\xa4\xa9");
	hits_are("one");
	discover("\xe5\xa4\xa9\xe6\xb0\x97");
	hits_are("one");
	assert_non_null(strstr(json_member_text(hit(0), "snippet", ""), ">>>\xe5\xa4\xa9"));
	discover("\xe5\xa4\xa9\xe5\xa4\xa9");
	hits_are("");
	/* A part of a word. */
	add_message("one", "assistant", "redeployment");
	discover("deploy");
	hits_are("one");
	discover("redeploy*");
	hits_are("one");
}

static void
test_without_indexes(void **state)
{
	(void)state;
	add_session("one", "");
	add_message("one", "user", "fix the 100% parser_x");
	add_message("one", "user", "another");
	sql("DROP TRIGGER messages_fts_insert; DROP TRIGGER messages_fts_delete; "
	    "DROP TRIGGER messages_fts_update; DROP TABLE messages_fts; "
	    "DROP TABLE messages_fts_trigram; DROP TRIGGER messages_fts_trigram_insert; "
	    "DROP TRIGGER messages_fts_trigram_delete; DROP TRIGGER "
	    "messages_fts_trigram_update");
	discover("PARSER_X fix");
	hits_are("one");
	assert_non_null(strstr(json_member_text(hit(0), "snippet", ""), ">>>parser_x<<<"));
	discover("parserZx");
	hits_are("");
	discover("parser_x NOT fix");
	hits_are("");
	discover("nothing OR another");
	hits_are("one");
	discover("\xe5\xa4\xa9");
	hits_are("");
}

static void
test_damaged_index(void **state)
{
	(void)state;
	add_session("one", "");
	add_message("one", "user", "fix the parser");
	sql("UPDATE messages_fts_data SET block = x'00ff00ff'");
	discover("parser");
	hits_are("one");
}

static void
test_read(void **state)
{
	struct state_search_request request = {
	    .mode = STATE_SEARCH_READ, .link = "@session:default/", .session = "one"};
	struct json_object *messages;
	int64_t count = 0;
	int i;

	(void)state;
	look(&request);
	assert_string_equal(problem, "session_id not found: one");
	add_session("one", "UPDATE sessions SET model = 'm' WHERE id = 'one'");
	look(&request);
	assert_int_equal(json_object_array_length(json_member_array(result, "messages")), 0);
	for (i = 1; i <= 40; i++)
		add_message("one", i % 2 == 1 ? "user" : "assistant", "text");
	look(&request);
	messages = json_member_array(result, "messages");
	assert_int_equal(json_object_array_length(messages), 30);
	assert_true(json_member_boolean(result, "truncated", false));
	json_member_integer(result, "message_count", &count);
	assert_int_equal(count, 40);
	json_member_integer(json_object_array_get_idx(messages, 29), "id", &count);
	assert_int_equal(count, 40);
	json_member_integer(json_object_array_get_idx(messages, 20), "id", &count);
	assert_int_equal(count, 31);
	assert_string_equal(
	    json_member_text(json_member_object(result, "session_meta"), "model", ""), "m");
}

/* However much was said, a result stays below what a model gets. */
static void
test_size(void **state)
{
	struct state_search_request request = {
	    .mode = STATE_SEARCH_READ, .link = "@session:default/", .session = "one"};
	char *big = xcalloc(1, 50001);
	struct json_object *message;
	size_t length, i;

	(void)state;
	memset(big, '\n', 50000);
	memcpy(big, "word", 4);
	add_session("one", "");
	for (i = 0; i < 12; i++)
		add_message("one", "user", big);
	sql("UPDATE messages SET tool_calls = '[{\"id\":\"c\",\"function\":{\"name\":\"f\","
	    "\"arguments\":\"' || replace(hex(zeroblob(20000)), '00', 'x') || '\"}}]'");
	look(&request);
	json_text(result, &length);
	assert_true(length <= STATE_SEARCH_RESULT_MAX);
	assert_true(length > STATE_SEARCH_RESULT_MAX / 8);
	message = json_object_array_get_idx(json_member_array(result, "messages"), 0);
	assert_true(json_member_boolean(message, "content_truncated", false));
	request = request_for("word");
	request.full = true;
	look(&request);
	json_text(result, &length);
	assert_true(length <= STATE_SEARCH_RESULT_MAX);
	free(big);
}

static void
test_scroll(void **state)
{
	struct state_search_request request = {.mode = STATE_SEARCH_SCROLL,
	    .link = "@session:default/",
	    .session = "one",
	    .around = 3,
	    .window = 2};
	int64_t count = -1;
	int i;

	(void)state;
	look(&request);
	assert_string_equal(problem, "session_id not found: one");
	add_session("one", "");
	add_session("two", "UPDATE sessions SET parent_session_id = 'one' WHERE id = 'two'");
	for (i = 1; i <= 4; i++)
		add_message("one", "tool", "text");
	look(&request);
	assert_int_equal(json_object_array_length(json_member_array(result, "messages")), 4);
	json_member_integer(result, "messages_before", &count);
	assert_int_equal(count, 2);
	json_member_integer(result, "messages_after", &count);
	assert_int_equal(count, 1);
	request.around = 99;
	look(&request);
	assert_non_null(strstr(problem, "99 not in session_id one"));
	/* A message of a later part of the conversation. */
	add_message("two", "user", "later");
	request.around = 5;
	look(&request);
	assert_string_equal(json_member_text(result, "session_id", ""), "two");
	assert_non_null(json_member_string(result, "warning"));
	request.current = "two";
	look(&request);
	assert_non_null(strstr(problem, "scroll rejected"));
	sql("UPDATE messages SET active = 0, compacted = 1 WHERE id = 5");
	look(&request);
	assert_null(problem);
}

static void
test_browse(void **state)
{
	struct state_search_request request = {
	    .mode = STATE_SEARCH_BROWSE, .link = "@session:default/", .limit = 2};

	(void)state;
	look(&request);
	hits_are("");
	add_session("one", "");
	add_session("empty", "");
	add_session("two", "UPDATE sessions SET source = 'cli' WHERE id = 'two'");
	add_session("helper", "UPDATE sessions SET source = 'subagent' WHERE id = 'helper'");
	add_session("three", "");
	add_message("one", "user", "the first prompt");
	add_message("two", "user", "another");
	add_message("helper", "user", "another");
	add_message("three", "user", "another");
	look(&request);
	hits_are("three two");
	request.current = "three";
	look(&request);
	hits_are("two one");
	assert_string_equal(json_member_text(hit(1), "preview", ""), "the first prompt");
	assert_string_equal(json_member_text(hit(0), "source", ""), "cli");
}

/* Content with parts, with NUL, with nothing. */
static void
test_odd_content(void **state)
{
	struct state_search_request request = {
	    .mode = STATE_SEARCH_READ, .link = "@session:default/", .session = "one"};
	struct json_object *messages;

	(void)state;
	add_session("one", "");
	sql("INSERT INTO messages(session_id, role, content, timestamp) VALUES "
	    "('one', 'user', CAST(x'00' AS TEXT) || 'json:[{\"type\": \"text\", \"text\": "
	    "\"see "
	    "this\"}, {\"type\": \"image_url\"}]', 1), ('one', 'assistant', NULL, 2), "
	    "('one', 'user', CAST(x'00' AS TEXT) || 'json:{', 3), "
	    "('one', 'user', CAST(x'61ff62' AS TEXT), 1e300)");
	look(&request);
	messages = json_member_array(result, "messages");
	assert_int_equal(json_object_array_length(messages), 4);
	assert_string_equal(
	    json_member_text(json_object_array_get_idx(messages, 0), "content", ""),
	    "see this\n[image_url]");
	assert_string_equal(
	    json_member_text(json_object_array_get_idx(messages, 3), "content", ""),
	    "a\xef\xbf\xbd"
	    "b");
	sql("UPDATE sessions SET started_at = 1e300");
	look(&request);
	assert_string_equal(
	    json_member_text(json_member_object(result, "session_meta"), "when", ""),
	    "unknown");
}

static void
test_circle(void **state)
{
	struct state_search_request request = request_for("word");

	(void)state;
	add_session("one", "");
	add_session("two", "UPDATE sessions SET parent_session_id = 'one' WHERE id = 'two'; "
			   "UPDATE sessions SET parent_session_id = 'two' WHERE id = 'one'");
	add_message("one", "user", "word");
	request.current = "two";
	look(&request);
	assert_null(problem);
}

/* A database that is locked for a while, and one that cannot be read. */
static void
test_lock(void **state)
{
	struct state_search_request request = request_for("word");
	pid_t holder;

	(void)state;
	add_session("one", "");
	add_message("one", "user", "word");
	holder = hold_lock(300);
	look(&request);
	hits_are("one");
	wait_for(holder);
	request.database = "/nonexistent/state.db";
	look(&request);
	assert_non_null(strstr(problem, "/nonexistent/state.db"));
	request.database = path;
	look(&request);
	hits_are("one");
}

static void
test_cancel(void **state)
{
	struct state_search_request request = request_for("word");

	(void)state;
	forget();
	state_search_cancel(state_search_start(queue, &request, on_done, NULL));
	(void)state_search_start(queue, &request, on_done, NULL);
	while (told == 0)
		event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(told, 1);
	assert_int_equal(state_queue_length(queue), 0);
	/* The end of the process tells those that wait. */
	(void)state_search_start(queue, &request, on_done, NULL);
	state_queue_free(queue);
	assert_int_equal(told, 2);
	queue = state_queue_new(base, database);
}

/* Many messages: several slices, and common words. */
static void
test_many(void **state)
{
	struct state_search_request request = request_for("rare");
	unsigned sort;

	(void)state;
	add_session("one", "");
	add_session("two", "");
	sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
	    "INSERT INTO messages(session_id, role, content, timestamp) SELECT "
	    "CASE i % 2 WHEN 0 THEN 'one' ELSE 'two' END, 'user', CASE i WHEN 1 THEN 'rare "
	    "common' "
	    "ELSE 'common word ' || i END, 1000 + i FROM n");
	for (sort = STATE_HITS_BEST; sort <= STATE_HITS_OLDEST; sort++) {
		request = request_for("rare");
		request.sort = (enum state_hits_sort)sort;
		look(&request);
		hits_are("two");
		request = request_for("common");
		request.sort = (enum state_hits_sort)sort;
		look(&request);
		assert_int_equal(
		    json_object_array_length(json_member_array(result, "results")), 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_discover, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_order, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_left_out, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_current, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_scripts, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(
		test_without_indexes, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_damaged_index, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_read, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_size, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_scroll, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_browse, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_odd_content, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_circle, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_lock, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_cancel, set_up_queue, tear_down_queue),
	    cmocka_unit_test_setup_teardown(test_many, set_up_queue, tear_down_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
