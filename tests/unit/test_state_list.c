/*
 * The list of sessions: what is shown, in which order, page by page, and how long it takes.
 */
#include <config.h>

#include "tests/unit/state_database.h"
#include "worker/store/state_cursor.h"
#include "worker/store/state_folder.h"
#include "worker/store/state_list.h"
#include "worker/store/state_preview.h"

static struct json_object *
list(const char *cwd, const char *cursor)
{
	struct json_object *page;

	assert_int_equal(state_list(database, cwd, cursor, false, &page, &error), SQLITE_OK);
	return page;
}

/* The ids of a page, separated by spaces, in a buffer of this function. */
static const char *
ids(struct json_object *page)
{
	static struct buffer text;
	struct json_object *sessions = json_member_array(page, "sessions");
	size_t i;

	buffer_clear(&text);
	for (i = 0; i < json_object_array_length(sessions); i++)
		buffer_printf(&text, "%s%s", i > 0 ? " " : "",
		    json_member_text(json_object_array_get_idx(sessions, i), "sessionId", ""));
	buffer_append_byte(&text, '\0');
	return text.data;
}

static void
list_is(const char *cwd, const char *expected)
{
	struct json_object *page = list(cwd, NULL);

	assert_string_equal(ids(page), expected);
	json_object_put(page);
}

static void
add(const char *id, const char *columns, const char *values, const char *content, double when)
{
	char *text = sqlite3_mprintf("INSERT INTO sessions(id, source, started_at%s) VALUES "
				     "('%s', 'acp', %f%s)",
	    columns, id, when, values);

	sql(text);
	sqlite3_free(text);
	if (content == NULL)
		return;
	text =
	    sqlite3_mprintf("INSERT INTO messages(session_id, role, content, timestamp) VALUES "
			    "(%Q, 'user', %Q, %f)",
		id, content, when);
	sql(text);
	sqlite3_free(text);
}

static void
test_what_is_shown(void **state)
{
	(void)state;
	add("plain", "", "", "hello", 10);
	add("empty", "", "", NULL, 11);
	add("archived", ", archived", ", 1", "hello", 12);
	add("hidden", ", hidden", ", 1", "hello", 13);
	add("branch", ", parent_session_id, model_config",
	    ", 'plain', '{\"_branched_from\": \"plain\"}'", "hello", 14);
	add("helper", ", parent_session_id, model_config",
	    ", 'plain', '{\"_delegate_from\": \"plain\"}'", "hello", 15);
	add("root", ", ended_at, end_reason", ", 17, 'compression'", "hello", 16);
	add("tip", ", parent_session_id", ", 'root'", "hello", 18);
	sql("INSERT INTO sessions(id, source, started_at) VALUES ('cli', 'cli', 20); INSERT "
	    "INTO "
	    "messages(session_id, role, content, timestamp) VALUES ('cli', 'user', 'x', 20)");
	list_is(NULL, "tip branch plain");
}

static void
test_entries(void **state)
{
	struct json_object *page, *entry;

	(void)state;
	add("s", ", cwd, title", ", '/w/a', 'A title'", "hello", 1767323045.678);
	add("t", ", cwd, last_activity_at", ", '/w/b', 1767323046.5",
	    "  \n Please look at this rather long text\nthat goes on and on and on and on", 5);
	add("u", ", model_config, last_activity_at", ", '{\"cwd\": \"/w/c\"}', 5e246", " \n",
	    7);
	page = list(NULL, NULL);
	assert_string_equal(ids(page), "t s u");
	assert_false(json_has(page, "nextCursor"));
	entry = json_object_array_get_idx(json_member(page, "sessions"), 0);
	assert_string_equal(json_member_text(entry, "title", ""),
	    "Please look at this rather long text that goes on and on and...");
	assert_string_equal(
	    json_member_text(entry, "updatedAt", ""), "2026-01-02T03:04:06.500Z");
	entry = json_object_array_get_idx(json_member(page, "sessions"), 1);
	assert_string_equal(json_member_text(entry, "title", ""), "A title");
	assert_string_equal(json_member_text(entry, "cwd", ""), "/w/a");
	assert_string_equal(
	    json_member_text(entry, "updatedAt", ""), "2026-01-02T03:04:05.678Z");
	entry = json_object_array_get_idx(json_member(page, "sessions"), 2);
	assert_string_equal(json_member_text(entry, "title", ""), "c");
	assert_string_equal(json_member_text(entry, "cwd", ""), "/w/c");
	assert_string_equal(
	    json_member_text(entry, "updatedAt", ""), "1970-01-01T00:00:07.000Z");
	json_object_put(page);
}

static void
test_preview_skips(void **state)
{
	char *preview;

	(void)state;
	add("s", "", "", "a summary", 1);
	sql("UPDATE messages SET _compressed_summary = 1; INSERT INTO messages(session_id, "
	    "role, "
	    "content, timestamp, display_kind) VALUES ('s', 'user', 'scaffold', 2, 'hidden'), "
	    "('s', 'user', ' ', 3, NULL), ('s', 'user', 'the prompt', 4, NULL)");
	assert_int_equal(state_preview(database, "s", &preview), SQLITE_OK);
	assert_string_equal(preview, "the prompt");
	free(preview);
	assert_int_equal(state_preview(database, "none", &preview), SQLITE_OK);
	assert_null(preview);
}

static void
test_folders(void **state)
{
	char real[96], linked[96], text[128];

	(void)state;
	(void)snprintf(real, sizeof real, "%s/real", home);
	(void)snprintf(linked, sizeof linked, "%s/linked", home);
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink(real, linked), 0);
	(void)snprintf(text, sizeof text, ", '%s'", real);
	add("a", ", cwd", text, "x", 1);
	(void)snprintf(text, sizeof text, ", '%s/'", linked);
	add("b", ", cwd", text, "x", 2);
	add("c", ", cwd", ", '/gone//away/./now/../'", "x", 3);
	add("d", ", cwd", ", '/gone/away2'", "x", 4);
	list_is(real, "b a");
	list_is(linked, "b a");
	list_is("/gone/away", "c");
	list_is("/gone/away/", "c");
	list_is("/gone", "");
	list_is(NULL, "d c b a");
}

/* 120 sessions, many at the same time; pages neither lose nor repeat one, whatever happens. */
static void
test_pages(void **state)
{
	struct json_object *page;
	char id[16], *cursor, *next;
	int i;

	(void)state;
	sqlite3_exec(database->db, "BEGIN", NULL, NULL, NULL);
	for (i = 0; i < 120; i++) {
		(void)snprintf(id, sizeof id, "s%03d", i);
		assert_int_equal(state_sql_run(database->db,
				     "INSERT INTO sessions(id, source, started_at, cwd) VALUES "
				     "(?, 'acp', ?, '/w')",
				     "tr", id, (double)(i / 40)),
		    SQLITE_OK);
		assert_int_equal(
		    state_sql_run(database->db,
			"INSERT INTO messages(session_id, role, content, timestamp) "
			"VALUES (?, 'user', 'x', ?)",
			"tr", id, (double)(i / 40)),
		    SQLITE_OK);
	}
	sqlite3_exec(database->db, "COMMIT", NULL, NULL, NULL);
	page = list("/w", NULL);
	assert_int_equal(strncmp(ids(page), "s119 s118 ", 10), 0);
	assert_non_null(strstr(ids(page), " s070"));
	cursor = xstrdup(json_member_text(page, "nextCursor", ""));
	json_object_put(page);
	/* The session at the cursor goes, one of the first page and one to come move to the
	 * top, and a new one appears. */
	sql("DELETE FROM messages WHERE session_id = 's070'; DELETE FROM sessions WHERE id = "
	    "'s070';"
	    "UPDATE sessions SET last_activity_at = 100 WHERE id IN ('s100', 's010')");
	add("new", ", cwd", ", '/w'", "x", 50);
	page = list("/w", cursor);
	assert_int_equal(strncmp(ids(page), "s069 s068 ", 10), 0);
	assert_null(strstr(ids(page), "s100"));
	next = xstrdup(json_member_text(page, "nextCursor", ""));
	json_object_put(page);
	page = list("/w", next);
	assert_int_equal(strncmp(ids(page), "s019 ", 5), 0);
	assert_int_equal(json_object_array_length(json_member(page, "sessions")), 19);
	assert_false(json_has(page, "nextCursor"));
	json_object_put(page);
	free(cursor);
	free(next);
	page = list("/w", NULL);
	assert_int_equal(strncmp(ids(page), "s100 s010 new s119 ", 19), 0);
	json_object_put(page);
}

static void
test_exactly_one_page(void **state)
{
	struct json_object *page;
	char id[16];
	int i;

	(void)state;
	for (i = 0; i < STATE_LIST_PAGE; i++) {
		(void)snprintf(id, sizeof id, "s%d", i);
		add(id, "", "", "x", i);
	}
	page = list(NULL, NULL);
	assert_int_equal(
	    json_object_array_length(json_member(page, "sessions")), STATE_LIST_PAGE);
	assert_false(json_has(page, "nextCursor"));
	json_object_put(page);
}

static void
test_wrong_cursors(void **state)
{
	static const char *const cursors[] = {"", "x", "1.", "1.4059000000000000",
	    "1.4059000000000000.", "2.4059000000000000.s", "1.405900000000000.s",
	    "1.40590000000000000.s", "1.7ff0000000000000.s", "1.7ff8000000000000.s",
	    "1.405900000000000G.s", "1.4059000000000000.\xff"};
	struct json_object *page;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cursors / sizeof cursors[0]; i++) {
		assert_int_equal(
		    state_list(database, NULL, cursors[i], false, &page, &error), STATE_REFUSED);
		assert_null(page);
	}
	assert_non_null(strstr(buffer_text(&error), "cursor is not one"));
}

static void
test_cursor_round_trip(void **state)
{
	struct buffer text = BUFFER_EMPTY;
	const char *id;
	double active;

	(void)state;
	state_cursor_append(&text, 1767323045.678901, "20260102_030405_abc.def");
	assert_int_equal(state_cursor_read(buffer_text(&text), &active, &id), 0);
	assert_true(active > 1767323045.6789 && active < 1767323045.6790);
	assert_string_equal(id, "20260102_030405_abc.def");
	buffer_free(&text);
}

/* Printed, not judged: 5,000 sessions with 10 messages each. */
static void
test_many_sessions(void **state)
{
	struct json_object *page;
	char id[32], cwd[32];
	int64_t start;
	int i, n;

	(void)state;
	sqlite3_exec(database->db, "BEGIN", NULL, NULL, NULL);
	for (i = 0; i < 5000; i++) {
		(void)snprintf(id, sizeof id, "s%04d", i);
		(void)snprintf(cwd, sizeof cwd, "/w/project-%d", i % 40);
		(void)state_sql_run(database->db,
		    "INSERT INTO sessions(id, source, started_at, cwd) VALUES (?, 'acp', ?, ?)",
		    "trt", id, (double)i, cwd);
		for (n = 0; n < 10; n++)
			(void)state_sql_run(database->db,
			    "INSERT INTO messages(session_id, role, content, timestamp) VALUES "
			    "(?, 'user', 'x', ?)",
			    "tr", id, (double)(i + n));
	}
	sqlite3_exec(database->db, "COMMIT", NULL, NULL, NULL);
	start = monotonic_ms();
	page = list(NULL, NULL);
	print_message("a page of 5,000 sessions: %d ms\n", (int)(monotonic_ms() - start));
	json_object_put(page);
	start = monotonic_ms();
	page = list("/w/project-7", NULL);
	print_message(
	    "a page of one folder of 5,000 sessions: %d ms\n", (int)(monotonic_ms() - start));
	assert_int_equal(
	    json_object_array_length(json_member(page, "sessions")), STATE_LIST_PAGE);
	json_object_put(page);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    DATABASE_CASE(test_what_is_shown),
	    DATABASE_CASE(test_entries),
	    DATABASE_CASE(test_preview_skips),
	    DATABASE_CASE(test_folders),
	    DATABASE_CASE(test_pages),
	    DATABASE_CASE(test_exactly_one_page),
	    DATABASE_CASE(test_wrong_cursors),
	    DATABASE_CASE(test_cursor_round_trip),
	    DATABASE_CASE(test_many_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
