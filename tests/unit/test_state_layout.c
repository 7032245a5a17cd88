/*
 * The layout of the database: the new one and what its triggers keep; older and newer ones,
 * and tables of others.
 */
#include <config.h>

#include "tests/unit/state_fixture.h"
#include "worker/store/state_layout.h"

static void
test_new_layout(void **state)
{
	const struct state_layout_table *table;
	char text[256];

	(void)state;
	open_once();
	assert_string_equal(notice, "");
	assert_string_equal(value("SELECT version FROM schema_version"), "30");
	assert_string_equal(value("SELECT value FROM state_meta WHERE key = "
				  "'fts_storage_version'"),
	    "3");
	assert_string_equal(value("PRAGMA integrity_check"), "ok");
	for (table = state_layout_tables; table->name != NULL; table++) {
		(void)snprintf(text, sizeof text, "SELECT count(*) FROM %s", table->name);
		(void)value(text);
	}
	assert_string_equal(value("SELECT group_concat(name, ' ') FROM (SELECT name FROM "
				  "sqlite_master WHERE type = 'trigger' ORDER BY name)"),
	    "messages_display_identity_delete messages_display_identity_update "
	    "messages_display_order_insert messages_display_visibility_update "
	    "messages_fts_delete messages_fts_insert messages_fts_trigram_delete "
	    "messages_fts_trigram_insert messages_fts_trigram_update messages_fts_update");
	assert_string_equal(value("SELECT count(*) FROM pragma_table_info('sessions')"), "61");
	assert_string_equal(value("SELECT count(*) FROM pragma_table_info('messages')"), "26");
	assert_int_equal(access(path, F_OK), 0);
	(void)snprintf(text, sizeof text, "%s.new", path);
	assert_int_equal(access(text, F_OK), -1);
}

static void
test_search_follows(void **state)
{
	(void)state;
	open_once();
	sql("INSERT INTO sessions(id, source, started_at) VALUES ('a', 'acp', 1), "
	    "('c', 'cron', 1); INSERT INTO messages(session_id, role, content, timestamp) "
	    "VALUES "
	    "('a', 'user', 'the quick brown fox', 1), ('a', 'tool', 'zebra', 2), "
	    "('c', 'user', 'nightly zebra', 3)");
	assert_string_equal(value("SELECT rowid FROM messages_fts WHERE messages_fts MATCH "
				  "'quick'"),
	    "1");
	assert_string_equal(value("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH "
				  "'zebra'"),
	    "2");
	assert_string_equal(value("SELECT count(*) FROM messages_fts_trigram WHERE "
				  "messages_fts_trigram MATCH 'ebr'"),
	    "0");
	assert_string_equal(value("SELECT group_concat(display_order) FROM messages"), "1,2,3");
	sql("UPDATE messages SET content = 'slow' WHERE id = 1; DELETE FROM messages WHERE id "
	    "= 2");
	assert_string_equal(value("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH "
				  "'quick OR zebra'"),
	    "1");
	sql("INSERT INTO messages_fts(messages_fts, rank) VALUES ('integrity-check', 1); "
	    "INSERT INTO messages_fts_trigram(messages_fts_trigram, rank) VALUES "
	    "('integrity-check', 1)");
}

static void
test_display_order(void **state)
{
	(void)state;
	open_once();
	sql("INSERT INTO sessions(id, source, started_at) VALUES ('a', 'acp', 1); INSERT INTO "
	    "messages(session_id, role, content, timestamp, display_identity) VALUES "
	    "('a', 'user', 'x', 1, x'01'), ('a', 'user', 'y', 2, x'02'), "
	    "('a', 'user', 'x', 1, x'01')");
	assert_string_equal(value("SELECT group_concat(display_order) FROM messages"), "1,2,1");
	sql("UPDATE messages SET active = 0 WHERE id = 1");
	assert_string_equal(value("SELECT display_order FROM messages WHERE id = 3"), "3");
	sql("UPDATE messages SET active = 1 WHERE id = 1");
	assert_string_equal(value("SELECT group_concat(display_order) FROM messages"), "1,2,1");
	sql("DELETE FROM messages WHERE id = 1");
	assert_string_equal(value("SELECT display_order FROM messages WHERE id = 3"), "3");
	sql("UPDATE messages SET content = 'z' WHERE id = 3");
	assert_string_equal(value("SELECT display_identity IS NULL AND display_order IS NULL "
				  "FROM messages WHERE id = 3"),
	    "1");
}

static void
test_older_layout(void **state)
{
	(void)state;
	sql("CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO "
	    "schema_version "
	    "VALUES (3); CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, "
	    "started_at REAL NOT NULL, title TEXT); CREATE TABLE messages (id INTEGER PRIMARY "
	    "KEY "
	    "AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT, "
	    "timestamp REAL NOT NULL, note TEXT); INSERT INTO sessions VALUES ('old', 'acp', "
	    "5, "
	    "'Kept'); INSERT INTO messages(session_id, role, content, timestamp, note) VALUES "
	    "('old', 'user', 'hello', 6, 'n')");
	open_once();
	assert_string_equal(value("SELECT version FROM schema_version"), "3");
	assert_string_equal(value("SELECT active || tool_calls IS NULL FROM messages"), "1");
	assert_string_equal(value("SELECT note FROM messages"), "n");
	assert_string_equal(value("SELECT hidden || title FROM sessions"), "0Kept");
	assert_string_equal(value("SELECT count(*) FROM sqlite_master WHERE name = "
				  "'session_turn_leases'"),
	    "1");
	assert_string_equal(value("SELECT count(*) FROM sqlite_master WHERE name LIKE "
				  "'messages_fts%' OR name = 'gateway_routing'"),
	    "0");
}

static void
test_newer_layout(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one;

	(void)state;
	open_once();
	sql("UPDATE schema_version SET version = 99; ALTER TABLE messages ADD COLUMN mood "
	    "TEXT; "
	    "ALTER TABLE sessions ADD COLUMN weather TEXT NOT NULL DEFAULT 'fine'");
	one = opened();
	assert_int_equal(one->version, 99);
	assert_null(one->read_only);
	assert_int_equal(
	    run_write(one, "INSERT INTO state_meta VALUES ('k', 'v')", &error), SQLITE_OK);
	state_free(one);
	assert_string_equal(value("SELECT version FROM schema_version"), "99");
	buffer_free(&error);
}

static void
test_newer_layout_that_wants_more(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one;

	(void)state;
	open_once();
	sql("PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, "
	    "'display_order INTEGER', 'display_order INTEGER, signature TEXT NOT NULL') WHERE "
	    "name = 'messages'; UPDATE schema_version SET version = 40");
	one = opened();
	assert_non_null(one->read_only);
	assert_int_equal(run_write(one, "DELETE FROM messages", &error), SQLITE_READONLY);
	assert_non_null(strstr(buffer_text(&error), "column messages.signature"));
	state_free(one);
	buffer_free(&error);
}

static void
test_legacy_search(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one;

	(void)state;
	open_once();
	sql("DROP TRIGGER messages_fts_insert; DROP TRIGGER messages_fts_delete; "
	    "DROP TRIGGER messages_fts_update; DROP TABLE messages_fts; DROP VIEW "
	    "messages_fts_src; DELETE FROM state_meta; UPDATE schema_version SET version = 22; "
	    "CREATE VIRTUAL TABLE messages_fts USING fts5(content); CREATE TRIGGER "
	    "messages_fts_insert AFTER INSERT ON messages BEGIN INSERT INTO "
	    "messages_fts(rowid, "
	    "content) VALUES (new.id, coalesce(new.content, '') || ' ' || "
	    "coalesce(new.tool_name, '') || ' ' || coalesce(new.tool_calls, '')); END; "
	    "CREATE TRIGGER messages_fts_update AFTER UPDATE OF content ON messages BEGIN "
	    "DELETE "
	    "FROM messages_fts WHERE rowid = old.id; INSERT INTO messages_fts(rowid, content) "
	    "VALUES (new.id, new.content); END; INSERT INTO sessions(id, source, started_at) "
	    "VALUES ('a', 'acp', 1)");
	one = opened();
	assert_int_equal(
	    run_write(one,
		"INSERT INTO messages(session_id, role, content, timestamp) VALUES "
		"('a', 'user', 'walrus', 1)",
		&error),
	    SQLITE_OK);
	state_free(one);
	assert_string_equal(value("SELECT rowid FROM messages_fts WHERE messages_fts MATCH "
				  "'walrus'"),
	    "1");
	assert_string_equal(value("SELECT version FROM schema_version"), "22");
	assert_string_equal(value("SELECT count(*) FROM state_meta WHERE key = "
				  "'fts_storage_version'"),
	    "0");
	buffer_free(&error);
}

/* The table as Hermes makes it with its own extension, which no test has. */
static void
make_foreign_table(void)
{
	sql("CREATE VIRTUAL TABLE messages_fts_cjk USING fts5(content, tokenize='unicode61'); "
	    "CREATE TRIGGER messages_fts_cjk_insert AFTER INSERT ON messages BEGIN INSERT INTO "
	    "messages_fts_cjk(rowid, content) VALUES (new.id, new.content); END; CREATE "
	    "TRIGGER "
	    "messages_fts_cjk_delete AFTER DELETE ON messages BEGIN DELETE FROM "
	    "messages_fts_cjk "
	    "WHERE rowid = old.id; END; INSERT INTO sessions(id, source, started_at) VALUES "
	    "('a', 'acp', 1); PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = "
	    "replace(sql, 'unicode61', 'cjk_unicode61') WHERE name = 'messages_fts_cjk'");
}

static void
test_foreign_tokenizer(void **state)
{
	static const char insert[] =
	    "INSERT INTO messages(session_id, role, content, timestamp) VALUES "
	    "('a', 'user', 'walrus', 1)";
	struct buffer error = BUFFER_EMPTY;
	struct state *one;
	sqlite3 *db;

	(void)state;
	open_once();
	make_foreign_table();
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, insert, NULL, NULL, NULL), SQLITE_ERROR);
	sqlite3_close(db);
	open_once();
	assert_string_equal(value("SELECT count(*) FROM sqlite_master WHERE name LIKE "
				  "'messages_fts_cjk_%' AND type = 'trigger'"),
	    "2"); /* opening alone writes nothing */
	one = opened();
	assert_int_equal(run_write(one, insert, &error), SQLITE_OK);
	state_free(one);
	assert_string_equal(value("SELECT count(*) FROM sqlite_master WHERE name LIKE "
				  "'messages_fts_cjk_%' AND type = 'trigger'"),
	    "0");
	assert_string_equal(value("SELECT count(*) FROM sqlite_master WHERE name = "
				  "'messages_fts_cjk'"),
	    "1");
	assert_string_equal(
	    value("SELECT value FROM state_meta WHERE key = 'fts_cjk_stale'"), "1");
	assert_string_equal(value("SELECT rowid FROM messages_fts WHERE messages_fts MATCH "
				  "'walrus'"),
	    "1");
	buffer_free(&error);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    STATE_CASE(test_new_layout),
	    STATE_CASE(test_search_follows),
	    STATE_CASE(test_display_order),
	    STATE_CASE(test_older_layout),
	    STATE_CASE(test_newer_layout),
	    STATE_CASE(test_newer_layout_that_wants_more),
	    STATE_CASE(test_legacy_search),
	    STATE_CASE(test_foreign_tokenizer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
