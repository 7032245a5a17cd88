/*
 * The file of the database: its layout, new and found; its rights; what is damaged, foreign,
 * older, newer or not writable.
 */
#include <config.h>

#include "tests/unit/state_fixture.h"
#include "worker/store/state_layout.h"
#include "worker/store/state_schema.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

static const char *notice;

static void
write_file(const char *name, const char *bytes, size_t length, int64_t age)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

/* Opens and closes; the text of the notice stays. */
static void
open_once(void)
{
	static char text[512];
	struct state *state = opened();

	(void)snprintf(text, sizeof text, "%s", buffer_text(&state->notice));
	notice = text;
	state_free(state);
}

static int
count_damaged(void)
{
	struct dirent *entry;
	DIR *directory = opendir(home);
	int count = 0;

	while ((entry = readdir(directory)) != NULL)
		count += strstr(entry->d_name, "state.db.damaged-") == entry->d_name;
	closedir(directory);
	return count;
}

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
test_rights(void **state)
{
	static const mode_t masks[] = {0, 022, 077};
	char folder[96], file[128];
	struct state *one;
	struct stat status;
	struct buffer error = BUFFER_EMPTY;
	mode_t before;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		(void)snprintf(folder, sizeof folder, "%s/deep/home-%zu", home, i);
		before = umask(masks[i]);
		one = state_new(folder);
		one->journal = i == 0 ? STATE_JOURNAL_WAL : STATE_JOURNAL_AUTO;
		assert_int_equal(state_open(one, &error), SQLITE_OK);
		assert_int_equal(state_sql_run(one->db, "BEGIN IMMEDIATE", ""), SQLITE_OK);
		assert_int_equal(
		    state_sql_run(one->db, "INSERT INTO state_meta VALUES ('a', 'b')", ""),
		    SQLITE_OK);
		(void)snprintf(
		    file, sizeof file, "%s/state.db%s", folder, one->wal ? "-wal" : "-journal");
		assert_int_equal(stat(file, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0600);
		assert_int_equal(state_sql_run(one->db, "COMMIT", ""), SQLITE_OK);
		assert_int_equal(stat(one->path, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0600);
		assert_int_equal(stat(folder, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0700);
		umask(before);
		state_free(one);
	}
	buffer_free(&error);
}

static void
test_rights_are_taken(void **state)
{
	struct stat status;

	(void)state;
	open_once();
	assert_int_equal(chmod(path, 0644), 0);
	open_once();
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

static void
test_empty_file(void **state)
{
	char wal[128];

	(void)state;
	(void)snprintf(wal, sizeof wal, "%s-wal", path);
	write_file(path, "", 0, 60);
	write_file(wal, "precious", 8, 60);
	open_once();
	assert_non_null(strstr(notice, "it is empty"));
	assert_non_null(strstr(notice, "state.db.damaged-"));
	assert_int_equal(count_damaged(), 2);
	assert_string_equal(value("SELECT version FROM schema_version"), "30");
	open_once();
	assert_string_equal(notice, "");
	assert_int_equal(count_damaged(), 2);
}

/* One that somebody is just making is not moved away under him. */
static void
test_fresh_empty_file(void **state)
{
	(void)state;
	write_file(path, "", 0, 0);
	open_once();
	assert_int_equal(count_damaged(), 0);
	assert_string_equal(value("SELECT version FROM schema_version"), "30");
}

static void
test_wrong_header(void **state)
{
	static const char zeros[8192];
	int file;

	(void)state;
	write_file(path, "This is a letter and not a database at all.", 43, 60);
	open_once();
	assert_non_null(strstr(notice, "it is not a database"));
	assert_int_equal(count_damaged(), 1);
	file = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(file, zeros, 4096, 0), 4096);
	close(file);
	open_once();
	assert_non_null(strstr(notice, "it is not a database"));
	assert_int_equal(count_damaged(), 2);
	assert_string_equal(value("PRAGMA integrity_check"), "ok");
}

/* A damaged schema is told, and the file stays where it is. */
static void
test_damaged_schema(void **state)
{
	struct state *one;
	struct buffer error = BUFFER_EMPTY;
	char garbage[4096];
	int file;

	(void)state;
	open_once();
	memset(garbage, 0x5a, sizeof garbage);
	file = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(file, garbage, 3996, 100), 3996);
	close(file);
	one = state_new(home);
	assert_int_equal(state_open(one, &error) & 0xff, SQLITE_CORRUPT);
	assert_non_null(strstr(buffer_text(&error), "state.db: it is damaged"));
	assert_int_equal(count_damaged(), 0);
	state_free(one);
	buffer_free(&error);
}

static int
insert_state(struct state *state, void *arg, struct buffer *error)
{
	(void)error;
	return state_sql_run(state->db, arg, "");
}

static int
run_write(struct state *state, const char *text, struct buffer *error)
{
	return state_queue_once(state, true, insert_state, (void *)(uintptr_t)text, error);
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

static void
test_wal_versions(void **state)
{
	static const struct {
		int library;
		bool safe;
	} rows[] = {{3006023, true}, {3007000, false}, {3040001, false}, {3044005, false},
	    {3044006, true}, {3045000, false}, {3050006, false}, {3050007, true},
	    {3051000, false}, {3051002, false}, {3051003, true}, {3052000, true}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_true(state_wal_is_safe(rows[i].library) == rows[i].safe);
}

static void
test_journal_by_version(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one = state_new(home);

	(void)state;
	one->library = 3040001;
	assert_int_equal(state_open(one, &error), SQLITE_OK);
	state_free(one);
	assert_string_equal(value("PRAGMA journal_mode"), "delete");
	one = state_new(home);
	one->library = 3051003;
	assert_int_equal(state_open(one, &error), SQLITE_OK);
	assert_true(one->wal);
	state_free(one);
	assert_string_equal(value("PRAGMA journal_mode"), "wal");
	one = state_new(home);
	one->library = 3040001; /* what is there is kept, and never reset from here */
	assert_int_equal(state_open(one, &error), SQLITE_OK);
	assert_true(one->wal);
	assert_int_equal(
	    run_write(one, "INSERT INTO state_meta VALUES ('k', 'v')", &error), SQLITE_OK);
	state_free(one);
	assert_string_equal(value("PRAGMA journal_mode"), "wal");
	assert_string_equal(value("SELECT value FROM state_meta WHERE key = 'k'"), "v");
	buffer_free(&error);
}

static void
test_replaced_file(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one = opened();
	char other[128];

	(void)state;
	assert_int_equal(one->generation, 1);
	(void)snprintf(other, sizeof other, "%s.old", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(
	    run_write(one, "INSERT INTO state_meta VALUES ('k', 'v')", &error), SQLITE_OK);
	assert_int_equal(one->generation, 2);
	assert_string_equal(value("SELECT value FROM state_meta WHERE key = 'k'"), "v");
	state_free(one);
	buffer_free(&error);
}

/* As another user when root runs the test: root may write everything. */
static void
test_read_only(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one;
	int status, wrong;
	pid_t pid;

	(void)state;
	open_once();
	assert_int_equal(chmod(path, 0400), 0);
	assert_int_equal(chmod(home, 0500), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(chown(home, 65534, 65534), 0);
	}
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setuid(65534) == -1)
			_exit(9);
		one = state_new(home);
		wrong = state_open(one, &error) != SQLITE_OK || one->read_only == NULL;
		wrong |= 2 * ((run_write(one, "DELETE FROM messages", &error) & 0xff) !=
				 SQLITE_READONLY);
		wrong |=
		    4 * (strstr(buffer_text(&error), "state.db: it cannot be written") == NULL);
		state_free(one);
		buffer_free(&error);
		_exit(wrong);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod(home, 0700), 0);
	assert_int_equal(status, 0);
}

static void
test_folder_that_cannot_be_made(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one;
	char folder[128];

	(void)state;
	write_file(path, "x", 1, 0);
	(void)snprintf(folder, sizeof folder, "%s/sub", path);
	one = state_new(folder);
	assert_int_equal(state_open(one, &error), SQLITE_CANTOPEN);
	assert_non_null(strstr(buffer_text(&error), folder));
	assert_non_null(strstr(buffer_text(&error), strerror(ENOTDIR)));
	state_free(one);
	buffer_free(&error);
}

/* Many processes that start at once find one whole database, and move nothing away. */
static void
test_race_of_makers(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one;
	int status, i, code;

	(void)state;
	write_file(path, "garbage that is no database", 27, 60);
	for (i = 0; i < 8; i++) {
		if (fork() != 0)
			continue;
		one = state_new(home);
		do {
			buffer_clear(&error);
			code = state_open(one, &error);
			if (state_sql_is_busy(code))
				(void)usleep(5000);
		} while (state_sql_is_busy(code));
		if (code == SQLITE_OK)
			do
				code = run_write(one,
				    "INSERT INTO state_meta VALUES (hex(randomblob(8)), 'v')",
				    &error);
			while (state_sql_is_busy(code));
		if (code != SQLITE_OK)
			print_error("%d: %s\n", code, buffer_text(&error));
		state_free(one);
		buffer_free(&error);
		_exit(code == SQLITE_OK ? 0 : 1);
	}
	for (i = 0; i < 8; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count_damaged(), 1);
	assert_string_equal(value("SELECT count(*) FROM state_meta WHERE value = 'v'"), "8");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_new_layout),
	    TEST(test_search_follows),
	    TEST(test_display_order),
	    TEST(test_rights),
	    TEST(test_rights_are_taken),
	    TEST(test_empty_file),
	    TEST(test_fresh_empty_file),
	    TEST(test_wrong_header),
	    TEST(test_damaged_schema),
	    TEST(test_older_layout),
	    TEST(test_newer_layout),
	    TEST(test_newer_layout_that_wants_more),
	    TEST(test_legacy_search),
	    TEST(test_foreign_tokenizer),
	    TEST(test_wal_versions),
	    TEST(test_journal_by_version),
	    TEST(test_replaced_file),
	    TEST(test_read_only),
	    TEST(test_folder_that_cannot_be_made),
	    TEST(test_race_of_makers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
