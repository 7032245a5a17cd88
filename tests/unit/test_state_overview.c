/*
 * What an operator asks the database: sessions of which source and age, by the beginning of an
 * id, the whole conversation, removing, and a database that must be there.
 */
#include <config.h>

#include "tests/unit/state_fixture.h"
#include "worker/store/state_messages.h"
#include "worker/store/state_overview.h"
#include "worker/store/state_session.h"

static struct state *database;
static struct buffer error;

static int
set_up_database(void **state)
{
	if (set_up(state) == -1)
		return -1;
	database = opened();
	buffer_clear(&error);
	return 0;
}

static int
tear_down_database(void **state)
{
	state_free(database);
	buffer_free(&error);
	return tear_down(state);
}

/* A session that was last active at `when`, with one message unless `bare`. */
static void
add(const char *id, const char *source, double when, bool bare)
{
	char *text = sqlite3_mprintf("INSERT INTO sessions(id, source, started_at, cwd) VALUES "
				     "(%Q, %Q, %f, '/w')",
	    id, source, when);

	sql(text);
	sqlite3_free(text);
	if (bare)
		return;
	text = sqlite3_mprintf("INSERT INTO messages(session_id, role, content, timestamp) "
			       "VALUES (%Q, 'user', 'prompt of %q', %f)",
	    id, id, when);
	sql(text);
	sqlite3_free(text);
}

/* Texts of a member, separated by blanks, in a buffer of this function. */
static const char *
members(struct json_object *array, const char *member)
{
	static struct buffer text;
	size_t i;

	buffer_clear(&text);
	for (i = 0; i < json_object_array_length(array); i++)
		buffer_printf(&text, "%s%s", i > 0 ? " " : "",
		    json_member_text(json_object_array_get_idx(array, i), member, "-"));
	buffer_append_byte(&text, '\0');
	return text.data;
}

static void
overview_is(const struct state_overview_query *query, const char *member, const char *expected)
{
	struct json_object *sessions;

	assert_int_equal(state_overview(database, query, &sessions), SQLITE_OK);
	assert_string_equal(members(sessions, member), expected);
	json_object_put(sessions);
}

static void
found_is(const char *text, const char *source, const char *expected)
{
	struct json_object *found;

	assert_int_equal(state_overview_find(database, text, source, &found), SQLITE_OK);
	assert_string_equal(members(found, "sessionId"), expected);
	json_object_put(found);
}

static void
test_sources_and_limits(void **state)
{
	struct state_overview_query query = {.source = "acp"};

	(void)state;
	add("a", "acp", 1000, false);
	add("b", "cli", 2000, false);
	add("c", "acp", 3000, false);
	add("d", "acp", 4000, true); /* never prompted */
	overview_is(&query, "sessionId", "c a");
	query.limit = 1;
	overview_is(&query, "title", "prompt of c");
	query.limit = 0;
	query.cwd = "/elsewhere";
	overview_is(&query, "sessionId", "");
	query.cwd = "/w/";
	query.source = NULL;
	overview_is(&query, "sessionId", "c b a");
	overview_is(&query, "source", "acp cli acp");
	overview_is(&query, "updatedAt",
	    "1970-01-01T00:50:00.000Z 1970-01-01T00:33:20.000Z 1970-01-01T00:16:40.000Z");
}

static void
test_idle(void **state)
{
	struct state_overview_query query = {.source = "acp", .idle_since = 2500};

	(void)state;
	add("a", "acp", 1000, false);
	add("b", "acp", 2000, true);
	add("c", "acp", 3000, false);
	add("d", "acp", 1000, false);
	add("e", "cli", 1000, false);
	sql("UPDATE sessions SET pinned = 1 WHERE id = 'd'");
	overview_is(&query, "sessionId", "b a");
	query.session = "a";
	overview_is(&query, "sessionId", "a");
	query.session = "c";
	overview_is(&query, "sessionId", "");
	sql("UPDATE sessions SET last_activity_at = 2600 WHERE id = 'a'");
	query.session = "a";
	overview_is(&query, "sessionId", "");
}

/* Parts of a whole that is listed are not for deleting by age. */
static void
test_chains(void **state)
{
	struct state_overview_query query = {.source = "acp", .idle_since = 9000};

	(void)state;
	add("one", "acp", 1000, false);
	add("two", "acp", 2000, false);
	add("helper", "acp", 2000, false);
	sql("UPDATE sessions SET ended_at = 1500, end_reason = 'compression' WHERE id = 'one'; "
	    "UPDATE sessions SET parent_session_id = 'one' WHERE id = 'two'; UPDATE sessions "
	    "SET parent_session_id = 'two', model_config = '{\"_delegate_from\": \"two\"}' "
	    "WHERE id = 'helper'");
	overview_is(&query, "sessionId", "two");
	query.idle_since = 0;
	overview_is(&query, "sessionId", "two");
}

static void
test_short_ids(void **state)
{
	struct state_overview_query query = {.source = "acp"};

	(void)state;
	add("0123456789abcdef", "acp", 5000, false);
	add("0123456789abxxxx", "cli", 4000, false);
	add("short", "acp", 3000, false);
	add("zzzzzzzz\xc3\xa4\xc3\xa4z", "acp", 2000, false);
	add("zzzzzzzz\xc3\xb6", "acp", 1000, false);
	overview_is(&query, "_short", "0123456789abc short zzzzzzzz\xc3\xa4 zzzzzzzz\xc3\xb6");
}

static void
test_find(void **state)
{
	struct json_object *entry;

	(void)state;
	add("abcdefgh-1", "acp", 1000, false);
	add("abcdefgh-12", "acp", 1000, true);
	add("abcdefgh-3", "cli", 1000, false);
	add("ABCDEFGH", "acp", 1000, false);
	found_is("abcdefgh", "acp", "abcdefgh-1 abcdefgh-12");
	found_is("abcdefgh", NULL, "abcdefgh-1 abcdefgh-12 abcdefgh-3");
	found_is("abcdefgh-1", "acp", "abcdefgh-1");
	found_is("abcdefgh-3", "acp", "");
	found_is("abcdefgh-4", NULL, "");
	found_is("abcdefg_", NULL, "");
	found_is("%", NULL, "");
	assert_int_equal(state_overview_one(database, "abcdefgh-12", &entry), SQLITE_OK);
	assert_string_equal(json_member_text(entry, "cwd", ""), "/w");
	json_object_put(entry);
	assert_int_equal(state_overview_one(database, "abcdefgh", &entry), SQLITE_NOTFOUND);
	assert_null(entry);
}

static void
test_read_and_delete_any(void **state)
{
	struct json_object *session;
	bool removed;

	(void)state;
	add("ours", "acp", 3000, false);
	add("theirs", "cli", 1000, false);
	sql("UPDATE sessions SET ended_at = 1500, end_reason = 'compression' WHERE id = "
	    "'theirs'; UPDATE sessions SET parent_session_id = 'theirs' WHERE id = 'ours'");
	assert_int_equal(state_session_read_any(database, "theirs", &session), SQLITE_OK);
	assert_string_equal(json_member_text(session, "source", ""), "cli");
	json_object_put(session);
	assert_int_equal(
	    state_session_delete(database, "theirs", "me", &removed, &error), SQLITE_OK);
	assert_false(removed);
	/* What it continues is of another program and stays. */
	assert_int_equal(
	    state_session_delete(database, "ours", "me", &removed, &error), SQLITE_OK);
	assert_true(removed);
	assert_string_equal(value("SELECT group_concat(id) FROM sessions"), "theirs");
	assert_int_equal(
	    state_session_delete_any(database, "theirs", "me", &removed, &error), SQLITE_OK);
	assert_true(removed);
	assert_string_equal(value("SELECT count(*) FROM messages"), "0");
}

static void
test_whole_conversation(void **state)
{
	struct json_object *messages;

	(void)state;
	add("s", "acp", 1000, true);
	sql("INSERT INTO messages(id, session_id, role, content, timestamp, active, compacted, "
	    "_compressed_summary, display_order) VALUES "
	    "(1, 's', 'user', 'first', 1, 0, 1, 0, 1), (2, 's', 'user', 'kept', 2, 0, 1, 0, "
	    "2), "
	    "(3, 's', 'user', 'undone', 3, 0, 0, 0, 3), (4, 's', 'user', 'summary', 4, 1, 0, "
	    "1, "
	    "4), (5, 's', 'user', 'kept', 5, 1, 0, 0, 2), (6, 's', 'user', 'last', 6, 1, 0, 0, "
	    "NULL)");
	assert_int_equal(state_messages_load(database, "s", &messages), SQLITE_OK);
	assert_string_equal(members(messages, "content"), "summary kept last");
	json_object_put(messages);
	assert_int_equal(state_messages_load_whole(database, "s", &messages), SQLITE_OK);
	assert_string_equal(members(messages, "content"), "first kept summary last");
	assert_true(
	    json_member_boolean(json_object_array_get_idx(messages, 2), "_summary", false));
	assert_false(json_has(json_object_array_get_idx(messages, 1), "_summary"));
	json_object_put(messages);
}

static void
existing_is_refused(const char *reason)
{
	struct state *one = state_new(home);

	one->existing = true;
	buffer_clear(&error);
	assert_int_not_equal(state_open(one, &error), SQLITE_OK);
	assert_non_null(strstr(buffer_text(&error), path));
	assert_non_null(strstr(buffer_text(&error), reason));
	state_free(one);
}

/* A database that must be there is neither made nor moved away. */
static void
test_existing(void **state)
{
	struct stat status;
	FILE *file;

	(void)state;
	existing_is_refused("No such file");
	assert_int_equal(stat(path, &status), -1);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs("no database, but long enough to be looked at", file) >= 0);
	fclose(file);
	existing_is_refused("not a database");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, 44);
	assert_int_equal(unlink(path), 0);
	sql("CREATE TABLE recipes(name)");
	existing_is_refused("not a database of sessions");
	assert_string_equal(value("SELECT count(*) FROM sqlite_master"), "1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_database, tear_down_database)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_sources_and_limits),
	    TEST(test_idle),
	    TEST(test_chains),
	    TEST(test_short_ids),
	    TEST(test_find),
	    TEST(test_read_and_delete_any),
	    TEST(test_whole_conversation),
	    cmocka_unit_test_setup_teardown(test_existing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
