/*
 * What a search text becomes: whatever it is, FTS5 takes the expression.
 */
#include <config.h>

#include "worker/store/state_query.h"

#include "common/alloc.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
expression_is(const char *text, size_t length, const char *expected)
{
	struct state_query query;
	struct buffer expression = BUFFER_EMPTY;

	state_query_parse(&query, text, length);
	state_query_match(&query, &expression);
	assert_string_equal(buffer_text(&expression), expected);
	state_query_clear(&query);
	buffer_free(&expression);
}

static void
test_expressions(void **state)
{
	static const struct {
		const char *text, *expression;
	} cases[] = {
	    {"", ""},
	    {" \t\n", ""},
	    {"one", "\"one\""},
	    {"one two", "\"one\" AND \"two\""},
	    {"one OR two", "\"one\" OR \"two\""},
	    {"one AND NOT two", "\"one\" NOT \"two\""},
	    {"NOT one OR", "\"one\""},
	    {"AND OR NOT", ""},
	    {"one or two", "\"one\" AND \"or\" AND \"two\""},
	    {"\"a phrase\" word", "\"a phrase\" AND \"word\""},
	    {"\"not closed", "\"not\" AND \"closed\""},
	    {"\"\" \"\"", ""},
	    {"deploy*", "\"deploy\"*"},
	    {"* ** *a", "\"a\""},
	    {"chat-send state.db snake_case",
		"\"chat-send\" AND \"state.db\" AND \"snake_case\""},
	    {"content:secret", "\"content\" AND \"secret\""},
	    {"NEAR(one two, 5)", "\"NEAR\" AND \"one\" AND \"two\" AND \"5\""},
	    {"^one + {two}", "\"one\" AND \"two\""},
	    {"- -- ... ---", ""},
	    {"'; DROP TABLE messages; --", "\"DROP\" AND \"TABLE\" AND \"messages\""},
	    {"\xf0\x9f\x9a\x80 launch", "\"launch\""},
	    {"na\xc3\xafve", "\"na\xc3\xafve\""},
	    {"bad\xff"
	     "byte",
		"\"bad\" AND \"byte\""},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
		expression_is(cases[i].text, strlen(cases[i].text), cases[i].expression);
	expression_is("one\0two", 7, "\"one\" AND \"two\"");
}

static void
test_limits(void **state)
{
	struct buffer text = BUFFER_EMPTY;
	struct state_query query;
	int i;

	(void)state;
	for (i = 0; i < 200000; i++)
		buffer_printf(&text, "w%d ", i);
	state_query_parse(&query, buffer_text(&text), text.length);
	assert_int_equal(query.count, STATE_QUERY_TERMS);
	state_query_clear(&query);
	buffer_free(&text);
}

static void
test_scripts(void **state)
{
	static const struct {
		const char *text;
		bool cjk, trigrams;
	} cases[] = {
	    {"word", false, true},
	    {"go", false, false},
	    {"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", true, true},
	    {"\xe6\x97\xa5\xe6\x9c\xac", true, false},
	    {"word \xed\x95\x9c\xea\xb5\xad\xec\x96\xb4", true, true},
	};
	struct state_query query;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		state_query_parse(&query, cases[i].text, strlen(cases[i].text));
		assert_int_equal(query.cjk, cases[i].cjk);
		assert_int_equal(state_query_fits_trigrams(&query), cases[i].trigrams);
		state_query_clear(&query);
	}
}

static void
test_snippets(void **state)
{
	static const struct {
		const char *query, *text, *snippet;
	} cases[] = {
	    {"needle", "a Needle in\na", "a >>>Needle<<< in a"},
	    {"needle", "0123456789 needle 0123456789", "...56789 >>>needle<<< 01234..."},
	    {"other", "no such word in this text", "no suc..."},
	    {"other", "", ""},
	    {"\xe6\x97\xa5", "\xe6\x97\xa5\xe6\x9c\xac", ">>>\xe6\x97\xa5<<<\xe6\x9c\xac"},
	};
	struct state_query query;
	char *snippet;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		state_query_parse(&query, cases[i].query, strlen(cases[i].query));
		snippet = state_query_snippet(&query, cases[i].text, strlen(cases[i].text), 12);
		assert_string_equal(snippet, cases[i].snippet);
		free(snippet);
		state_query_clear(&query);
	}
}

/* Random texts of what FTS5 could trip over, against FTS5 itself and LIKE. */
static void
test_random(void **state)
{
	static const char *const pieces[] = {"\"", "*", "AND", "OR", "NOT", "NEAR", "(", ")",
	    "-", ":", "^", "+", "{", "}", "a", "bc", " ", ",", "'", "\\", "%", "_", ".",
	    "\xe6\x97\xa5", "\xff", "\xe2\x80\x94", "content", "\n", "--", "/*", "$1", "?"};
	static const char *const tables[] = {
	    "CREATE VIRTUAL TABLE words USING fts5(content, tool_name)",
	    "CREATE VIRTUAL TABLE parts USING fts5(content, tokenize='trigram')"};
	static const char *const matches[] = {"SELECT count(*) FROM words WHERE words MATCH ?",
	    "SELECT count(*) FROM parts WHERE parts MATCH ?"};
	struct buffer text = BUFFER_EMPTY, expression = BUFFER_EMPTY, sql = BUFFER_EMPTY;
	struct state_query query;
	sqlite3_stmt *statement;
	sqlite3 *db;
	int i, j;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (i = 0; i < 2; i++)
		assert_int_equal(sqlite3_exec(db, tables[i], NULL, NULL, NULL), SQLITE_OK);
	srandom(7);
	for (i = 0; i < 4000; i++) {
		buffer_clear(&text);
		for (j = (int)(random() % 12); j >= 0; j--)
			buffer_append_text(&text,
			    pieces[(size_t)random() % (sizeof pieces / sizeof pieces[0])]);
		state_query_parse(&query, buffer_text(&text), text.length);
		buffer_clear(&expression);
		state_query_match(&query, &expression);
		for (j = 0; j < 2 && query.count > 0; j++) {
			assert_int_equal(
			    sqlite3_prepare_v2(db, matches[j], -1, &statement, NULL),
			    SQLITE_OK);
			sqlite3_bind_text(
			    statement, 1, buffer_text(&expression), -1, SQLITE_STATIC);
			if (sqlite3_step(statement) != SQLITE_ROW)
				fail_msg(
				    "%s: %s", buffer_text(&expression), sqlite3_errmsg(db));
			sqlite3_finalize(statement);
		}
		if (query.count > 0) {
			buffer_clear(&sql);
			buffer_append_text(&sql, "SELECT ");
			state_query_condition(&query, "'text'", 1, &sql);
			assert_int_equal(
			    sqlite3_prepare_v2(db, buffer_text(&sql), -1, &statement, NULL),
			    SQLITE_OK);
			sqlite3_finalize(statement);
		}
		state_query_clear(&query);
	}
	sqlite3_close(db);
	buffer_free(&text);
	buffer_free(&expression);
	buffer_free(&sql);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_expressions),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_scripts),
	    cmocka_unit_test(test_snippets),
	    cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
