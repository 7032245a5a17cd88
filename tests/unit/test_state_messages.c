/*
 * Rows of messages: what is stored byte by byte, what comes back, counters, unfinished
 * answers, rows that cannot be read.
 */
#include <config.h>

#include "tests/unit/state_database.h"
#include "worker/store/state_hash.h"
#include "worker/store/state_json.h"
#include "worker/store/state_messages.h"
#include "worker/store/state_preview.h"
#include "worker/store/state_session.h"

static double stamp;

static int
set_up_session(void **state)
{
	struct store_session_info info = {.session_id = "s", .cwd = "/w"};

	if (set_up_database(state) == -1)
		return -1;
	stamp = 0;
	assert_int_equal(state_session_create(database, &info, &error), SQLITE_OK);
	return 0;
}

static int64_t
append(const char *json)
{
	struct json_object *message = parsed_json(json);
	int64_t id = 0;

	assert_int_equal(
	    state_messages_append(database, "s", message, 0, &stamp, &id), SQLITE_OK);
	json_object_put(message);
	assert_true(id > 0);
	return id;
}

static struct json_object *
load(void)
{
	struct json_object *messages;

	assert_int_equal(state_messages_load(database, "s", &messages), SQLITE_OK);
	return messages;
}

static void
message_is(struct json_object *messages, size_t index, const char *expected)
{
	struct json_object *message = json_copy(json_object_array_get_idx(messages, index));
	struct json_object *wanted = parsed_json(expected);
	struct buffer found = BUFFER_EMPTY, text = BUFFER_EMPTY;

	assert_true(json_has(message, "_id"));
	assert_true(json_has(message, "_timestamp"));
	json_object_object_del(message, "_id");
	json_object_object_del(message, "_timestamp");
	json_append_sorted(&found, message);
	json_append_sorted(&text, wanted);
	assert_string_equal(buffer_text(&found), buffer_text(&text));
	buffer_free(&found);
	buffer_free(&text);
	json_object_put(message);
	json_object_put(wanted);
}

static void
test_round_trip(void **state)
{
	static const char *const rows[] = {
	    "{\"role\": \"user\", \"content\": \"What is in gr\xc3\xbc\xc3\x9f.txt?\\n\\n  two "
	    " "
	    "\"}",
	    "{\"role\": \"assistant\", \"content\": null, \"reasoning\": \"hm\", "
	    "\"reasoning_details\": [{\"type\": \"x\", \"data\": \"\xf0\x9f\x98\x80\"}], "
	    "\"tool_calls\": [{\"id\": \"c1\", \"type\": \"function\", \"function\": "
	    "{\"name\": "
	    "\"read_file\", \"arguments\": \"{\\\"path\\\": \\\"a\\\"}\"}}], "
	    "\"finish_reason\": \"tool_calls\"}",
	    "{\"role\": \"tool\", \"tool_call_id\": \"c1\", \"name\": \"read_file\", "
	    "\"content\": \"{\\\"content\\\": \\\"x\\\"}\", \"_display\": {\"diff\": [1, "
	    "\"two\"]}}",
	    "{\"role\": \"assistant\", \"content\": \"Done.\", \"reasoning_content\": \"r\", "
	    "\"codex_reasoning_items\": [{\"id\": 1}], \"_api_content\": \"Done!\", "
	    "\"_display_kind\": \"hidden\", \"finish_reason\": \"stop\"}",
	};
	struct json_object *messages;
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		(void)append(rows[i]);
	messages = load();
	assert_int_equal(json_object_array_length(messages), 4);
	for (i = 0; i < 4; i++)
		message_is(messages, i, rows[i]);
	json_object_put(messages);
	assert_string_equal(
	    value("SELECT message_count || ' ' || tool_call_count FROM sessions"), "4 1");
	assert_string_equal(value("SELECT count(DISTINCT timestamp) FROM messages"), "4");
	assert_string_equal(value("SELECT last_activity_at = (SELECT max(timestamp) FROM "
				  "messages) FROM sessions"),
	    "1");
	assert_string_equal(value("SELECT tool_calls FROM messages WHERE id = 2"),
	    "[{\"id\": \"c1\", \"type\": \"function\", \"function\": {\"name\": \"read_file\", "
	    "\"arguments\": \"{\\\"path\\\": \\\"a\\\"}\"}}]");
	assert_string_equal(value("SELECT reasoning_details FROM messages WHERE id = 2"),
	    "[{\"type\": \"x\", \"data\": \"\\ud83d\\ude00\"}]");
}

static void
test_parts(void **state)
{
	static const char parts[] =
	    "{\"role\": \"user\", \"content\": [{\"type\": \"text\", "
	    "\"text\": \"Look: \xc3\xa9\"}, {\"type\": \"image_url\", "
	    "\"image_url\": {\"url\": \"data:image/png;base64,AAAA\"}}]}";
	struct json_object *messages;
	char *preview;

	(void)state;
	(void)append(parts);
	assert_string_equal(
	    value("SELECT hex(substr(CAST(content AS BLOB), 1, 6)) FROM messages"),
	    "006A736F6E3A");
	assert_string_equal(value("SELECT CAST(substr(CAST(content AS BLOB), 7) AS TEXT) FROM "
				  "messages"),
	    "[{\"type\": \"text\", \"text\": \"Look: \\u00e9\"}, {\"type\": \"image_url\", "
	    "\"image_url\": {\"url\": \"data:image/png;base64,AAAA\"}}]");
	messages = load();
	message_is(messages, 0, parts);
	json_object_put(messages);
	assert_int_equal(state_preview(database, "s", &preview), SQLITE_OK);
	assert_string_equal(preview, "Look: \xc3\xa9");
	free(preview);
	sql("INSERT INTO messages_fts(messages_fts, rank) VALUES ('integrity-check', 1); "
	    "DELETE FROM messages; INSERT INTO messages_fts(messages_fts, rank) VALUES "
	    "('integrity-check', 1)");
}

/* Stores a message of the user with these bytes, whatever they are. */
static void
append_bytes(const char *bytes, int length)
{
	struct json_object *message = json_object_new_object();
	int64_t id;

	json_set_text(message, "role", "user");
	json_set(message, "content", json_object_new_string_len(bytes, length));
	assert_int_equal(
	    state_messages_append(database, "s", message, 0, &stamp, &id), SQLITE_OK);
	json_object_put(message);
}

/* Text that only looks like a list must not come back as one. */
static void
test_text_that_looks_like_parts(void **state)
{
	struct json_object *messages;

	(void)state;
	append_bytes("\0json:[1]", 9);
	messages = load();
	message_is(messages, 0, "{\"role\": \"user\", \"content\": \"\xef\xbf\xbdjson:[1]\"}");
	json_object_put(messages);
}

static void
test_bytes_that_are_no_text(void **state)
{
	struct json_object *messages;

	(void)state;
	append_bytes("a\xed\xa0\x80z", 5);
	messages = load();
	assert_int_equal(json_object_array_length(messages), 1);
	assert_non_null(
	    strstr(json_member_text(json_object_array_get_idx(messages, 0), "content", ""),
		"\xef\xbf\xbd"));
	json_object_put(messages);
}

static void
test_rows_that_cannot_be_read(void **state)
{
	struct json_object *messages;

	(void)state;
	(void)append("{\"role\": \"user\", \"content\": \"one\"}");
	sql("INSERT INTO messages(session_id, role, content, timestamp, tool_calls, "
	    "display_metadata, reasoning_details) VALUES "
	    "('s', 'user', CAST(x'006a736f6e3a5b7b' AS TEXT), 1, NULL, NULL, NULL), "
	    "('s', 'assistant', 'x', 1, '[{\"id\":', NULL, NULL), "
	    "('s', 'assistant', 'x', 1, '{\"id\": 1}', NULL, NULL), "
	    "('s', 'wizard', 'x', 1, NULL, NULL, NULL), "
	    "('s', 'assistant', 'two', 1, NULL, '{broken', 'plain words'), "
	    "('s', 'assistant', CAST(x'ff41' AS TEXT), 1, NULL, NULL, NULL)");
	messages = load();
	assert_int_equal(json_object_array_length(messages), 3);
	message_is(messages, 0, "{\"role\": \"user\", \"content\": \"one\"}");
	message_is(messages, 1,
	    "{\"role\": \"assistant\", \"content\": \"two\", \"reasoning_details\": "
	    "\"plain words\"}");
	message_is(messages, 2,
	    "{\"role\": \"assistant\", \"content\": \"\xef\xbf\xbd"
	    "A\"}");
	json_object_put(messages);
}

static void
test_only_rows_in_use(void **state)
{
	struct json_object *messages;

	(void)state;
	(void)append("{\"role\": \"user\", \"content\": \"gone\"}");
	(void)append("{\"role\": \"user\", \"content\": \"here\"}");
	sql("UPDATE messages SET active = 0, compacted = 1 WHERE id = 1");
	messages = load();
	assert_int_equal(json_object_array_length(messages), 1);
	message_is(messages, 0, "{\"role\": \"user\", \"content\": \"here\"}");
	json_object_put(messages);
}

/* Results are stored as they come and read in the order of the calls. */
static void
test_order_of_results(void **state)
{
	static const char *const wanted[] = {"a", "b", "c", "stray"};
	struct json_object *messages;
	size_t i;

	(void)state;
	(void)append("{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": "
		     "\"a\"}, {\"id\": \"b\"}, {\"id\": \"c\"}]}");
	(void)append("{\"role\": \"tool\", \"tool_call_id\": \"stray\", \"content\": \"0\"}");
	(void)append("{\"role\": \"tool\", \"tool_call_id\": \"c\", \"content\": \"3\"}");
	(void)append("{\"role\": \"tool\", \"tool_call_id\": \"a\", \"content\": \"1\"}");
	(void)append("{\"role\": \"tool\", \"tool_call_id\": \"b\", \"content\": \"2\"}");
	messages = load();
	for (i = 0; i < 4; i++)
		assert_string_equal(json_member_text(json_object_array_get_idx(messages, i + 1),
					"tool_call_id", ""),
		    wanted[i]);
	json_object_put(messages);
}

static void
test_partial(void **state)
{
	struct json_object *message =
	    parsed_json("{\"role\": \"assistant\", \"content\": \"Hel\", "
			"\"_display\": {\"id\": \"m1\"}}");
	struct json_object *messages;
	int64_t id, last;
	bool partial;

	(void)state;
	assert_int_equal(
	    state_messages_append(database, "s", message, STATE_PARTIAL, &stamp, &id),
	    SQLITE_OK);
	assert_int_equal(state_messages_last(database, "s", &last, &partial), SQLITE_OK);
	assert_int_equal(last, id);
	assert_true(partial);
	messages = load();
	message_is(messages, 0,
	    "{\"role\": \"assistant\", \"content\": \"Hel\", \"_display\": {\"id\": \"m1\"}, "
	    "\"_partial\": true}");
	json_object_put(messages);
	json_set_text(message, "content", "Hello");
	assert_int_equal(
	    state_messages_replace(database, "s", id, message, 0, &stamp), SQLITE_OK);
	json_object_put(message);
	messages = load();
	assert_int_equal(json_object_array_length(messages), 1);
	message_is(messages, 0,
	    "{\"role\": \"assistant\", \"content\": \"Hello\", \"_display\": {\"id\": "
	    "\"m1\"}}");
	json_object_put(messages);
	assert_string_equal(value("SELECT message_count FROM sessions"), "1");
	assert_string_equal(value("SELECT rowid FROM messages_fts WHERE messages_fts MATCH "
				  "'hello'"),
	    "1");
}

static int
commit(const char *texts, int64_t first)
{
	struct json_object *pieces = parsed_json(texts);
	int code = state_messages_commit_tail(database, "s", pieces, first);

	json_object_put(pieces);
	return code;
}

static void
test_commit_tail(void **state)
{
	struct json_object *message = parsed_json(
	    "{\"role\": \"assistant\", \"content\": \"One \", \"reasoning\": \"r\"}");
	struct json_object *messages;
	int64_t id;

	(void)state;
	assert_int_equal(commit("[]", 0), SQLITE_OK);
	assert_int_equal(state_messages_end_partial(database, "s"), SQLITE_OK);
	assert_string_equal(value("SELECT count(*) FROM messages"), "0");
	assert_int_equal(
	    state_messages_append(database, "s", message, STATE_PARTIAL, &stamp, &id),
	    SQLITE_OK);
	json_object_put(message);
	assert_int_equal(commit("[\"t\", \"\", \"wo\"]", 0), SQLITE_OK);
	messages = load();
	message_is(messages, 0,
	    "{\"role\": \"assistant\", \"content\": \"One two\", \"reasoning\": \"r\"}");
	json_object_put(messages);
	assert_int_equal(commit("[\"three\"]", 3), SQLITE_OK);
	assert_string_equal(
	    value("SELECT group_concat(content, '|') FROM messages"), "One two|three");
	assert_string_equal(value("SELECT message_count FROM sessions"), "2");
}

/* The worker died between a save and telling it: what the answer holds is not added again. */
static void
test_commit_saved_tail(void **state)
{
	(void)state;
	(void)append("{\"role\": \"user\", \"content\": \"go\"}");
	(void)append("{\"role\": \"assistant\", \"content\": \"One two \", \"_display\": "
		     "{\"texts\": 5}}");
	assert_int_equal(commit("[\"One \", \"two \"]", 3), SQLITE_OK);
	assert_string_equal(value("SELECT count(*) FROM messages"), "2");
	(void)append(
	    "{\"role\": \"user\", \"content\": \"on\", \"_display\": {\"hidden\": true}}");
	assert_int_equal(commit("[\"two \", \"three\"]", 4), SQLITE_OK);
	assert_string_equal(
	    value("SELECT group_concat(content, '|') FROM messages"), "go|One two |on|three");
	/* The count is one of this turn. */
	(void)append(
	    "{\"role\": \"assistant\", \"content\": \"x\", \"_display\": {\"texts\": 9}}");
	(void)append("{\"role\": \"user\", \"content\": \"next\"}");
	assert_int_equal(commit("[\"four\"]", 0), SQLITE_OK);
	assert_string_equal(
	    value("SELECT content FROM messages ORDER BY id DESC LIMIT 1"), "four");
}

/* As seen by this connection, and by another one. */
static void
test_loading_writes_nothing(void **state)
{
	int64_t before = 0, after = 0;
	int changes, i;
	sqlite3 *other;

	(void)state;
	(void)append("{\"role\": \"user\", \"content\": \"one\"}");
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(
	    state_sql_integer(other, &before, "PRAGMA data_version", ""), SQLITE_ROW);
	changes = sqlite3_total_changes(database->db);
	for (i = 0; i < 3; i++)
		json_object_put(load());
	assert_int_equal(sqlite3_total_changes(database->db), changes);
	assert_int_equal(
	    state_sql_integer(other, &after, "PRAGMA data_version", ""), SQLITE_ROW);
	assert_int_equal(after, before);
	sqlite3_close(other);
}

static void
test_json_form(void **state)
{
	struct json_object *object =
	    parsed_json("{\"a\":[1,2.5,true,null,{}],\"b\\\"\":\"\\u0001\\n\\t/"
			"\\u007f\xe2\x82\xac\xf0\x9f\x98\x80\",\"c\":[]}");
	struct buffer text = BUFFER_EMPTY;

	(void)state;
	state_json_append(&text, object);
	assert_string_equal(buffer_text(&text),
	    "{\"a\": [1, 2.5, true, null, {}], \"b\\\"\": \"\\u0001\\n\\t/\\u007f\\u20ac"
	    "\\ud83d\\ude00\", \"c\": []}");
	json_object_put(object);
	buffer_free(&text);
}

/* The examples of FIPS 180-4, and lengths around a block. */
static void
test_hash(void **state)
{
	char hash[STATE_HASH_SIZE], text[120];

	(void)state;
	state_hash("", 0, hash);
	assert_string_equal(
	    hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	state_hash("abc", 3, hash);
	assert_string_equal(
	    hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	state_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hash);
	assert_string_equal(
	    hash, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(text, 'a', sizeof text);
	state_hash(text, 119, hash);
	assert_string_equal(
	    hash, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_database)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_round_trip),
	    TEST(test_parts),
	    TEST(test_text_that_looks_like_parts),
	    TEST(test_bytes_that_are_no_text),
	    TEST(test_rows_that_cannot_be_read),
	    TEST(test_only_rows_in_use),
	    TEST(test_order_of_results),
	    TEST(test_partial),
	    TEST(test_commit_tail),
	    TEST(test_commit_saved_tail),
	    TEST(test_loading_writes_nothing),
	    TEST(test_json_form),
	    TEST(test_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
