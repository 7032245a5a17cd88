/*
 * What search_files finds, with and without ripgrep: the same results from either.
 */
#include <config.h>

#include "tests/unit/search_fixture.h"

#include <sys/time.h>

static void
set_time(const struct search_fixture *fixture, const char *name, time_t seconds)
{
	const struct timeval times[2] = {{seconds, 0}, {seconds, 0}};
	char *path = tool_fixture_path(&fixture->tool, name);

	assert_int_equal(utimes(path, times), 0);
	free(path);
}

static void
check_content(struct tool_fixture *fixture)
{
	search(fixture, "{\"pattern\":\"foo\"}");
	result_is(fixture, "matches",
	    "[{\"path\":\"a.c\",\"line\":1,\"content\":\"foo one\"},"
	    "{\"path\":\"a.c\",\"line\":3,\"content\":\"  foo\"},"
	    "{\"path\":\"sub/b.h\",\"line\":1,\"content\":\"foo crlf\"}]");
	result_is(fixture, "total_count", "3");
	result_is(fixture, "truncated", "false");
	assert_string_equal(fixture->run->card.title, "Search \"foo\" in .");
	assert_true(fixture->run->shown.count == 1);
	search(fixture, "{\"pattern\":\"foo\",\"limit\":1,\"offset\":1}");
	result_is(fixture, "matches", "[{\"path\":\"a.c\",\"line\":3,\"content\":\"  foo\"}]");
	result_is(fixture, "truncated", "true");
	assert_non_null(strstr(json_member_text(fixture->result, "hint", ""), "offset=2"));
	finds(fixture, "{\"pattern\":\"crlf$\",\"file_glob\":\"*.{h,hh}\"}", "1");
	finds(fixture, "{\"pattern\":\"foo\",\"file_glob\":\"sub/*.h\"}", "1");
	finds(fixture, "{\"pattern\":\"foo\",\"path\":\"a.c\"}", "2");
	finds(fixture, "{\"pattern\":\"foo\",\"path\":\"link\"}", "1");
	search(fixture, "{\"pattern\":\"foo\",\"output_mode\":\"files_only\"}");
	result_is(fixture, "files", "[\"a.c\",\"sub/b.h\"]");
	search(fixture, "{\"pattern\":\"foo\",\"output_mode\":\"count\"}");
	result_is(fixture, "counts", "{\"a.c\":2,\"sub/b.h\":1}");
	search(fixture, "{\"pattern\":\"absent\"}");
	result_is(fixture, "matches", "[]");
	result_is(fixture, "total_count", "0");
}

static void
test_content(void **state)
{
	struct search_fixture *fixture = *state;

	PUT(&fixture->tool, "a.c", "foo one\nbar\n  foo\n");
	PUT(&fixture->tool, "sub/b.h", "foo crlf\r\n");
	PUT(&fixture->tool, ".hidden", "foo\n");
	PUT(&fixture->tool, ".git/HEAD", "foo\n");
	PUT(&fixture->tool, ".gitignore", "ignored.c\n");
	PUT(&fixture->tool, "ignored.c", "foo\n");
	PUT(&fixture->tool, "binary", "\0\1foo\n");
	tool_fixture_link(&fixture->tool, "sub", "link");
	with_both(fixture, check_content);
}

/* A folder that became a link after the path was judged leads to what was not judged. */
static void
test_link_put_in_between(void **state)
{
	struct search_fixture *fixture = *state;
	char *folder = tool_fixture_path(&fixture->tool, "a");
	char *moved = tool_fixture_path(&fixture->tool, "b");
	char *outside = xasprintf("%s/outside", fixture->tool.folder);

	PUT(&fixture->tool, "a/sub/x", "foo\n");
	PUT(&fixture->tool, "../../outside/sub/x", "foo secret\n");
	tool_fixture_prepare(&fixture->tool, &tool_search_files,
	    parsed_json("{\"pattern\":\"foo\",\"path\":\"a/sub\"}"));
	assert_int_equal(rename(folder, moved), 0);
	assert_int_equal(symlink(outside, folder), 0);
	tool_run_start(fixture->tool.run);
	assert_true(fixture->tool.finished);
	assert_true(fixture->tool.failed);
	assert_non_null(strstr(
	    json_member_text(fixture->tool.result, "error", ""), "was replaced by a link"));
	free(folder);
	free(moved);
	free(outside);
}

static void
check_patterns(struct tool_fixture *fixture)
{
	finds(fixture, "{\"pattern\":\"-77\"}", "1");
	finds(fixture, "{\"pattern\":\"--pdf-engine\"}", "1");
	finds(fixture, "{\"pattern\":\"- \\\\[ \\\\]\"}", "1");
	finds(fixture, "{\"pattern\":\"->\"}", "1");
	finds(fixture, "{\"pattern\":\"\\\\bword\\\\b\"}", "1");
	refuses(fixture, "{\"pattern\":\"foo(\"}", "The search failed");
	refuses(fixture, "{\"pattern\":\"\"}", "empty");
	refuses(fixture, "{\"pattern\":\"a\\nb\"}", "newline");
	refuses(fixture, "{\"pattern\":\"a\\\\nb\"}", "newline");
	finds(fixture, "{\"pattern\":\"a\\\\\\\\nb\"}", "1");
	refuses(fixture, "{\"pattern\":\"x\",\"file_glob\":\"[\"}", "file_glob");
	refuses(fixture, "{\"pattern\":\"x\",\"path\":\"nothere\"}", "Path not found: nothere");
	refuses(fixture, "{\"pattern\":\"x\",\"path\":\"/dev/null\"}", "neither");
	refuses(fixture, "{\"pattern\":\"x\",\"target\":\"other\"}", "target");
	refuses(fixture, "{\"pattern\":\"x\",\"limit\":0}", "limit");
	refuses(fixture, "{\"pattern\":\"x\",\"offset\":-1}", "offset");
}

static void
test_patterns(void **state)
{
	struct search_fixture *fixture = *state;

	PUT(&fixture->tool, "f",
	    "a -77 b\n--pdf-engine=x\n- [ ] task\np->q\na word here\nswords\na\\nb\n");
	with_both(fixture, check_patterns);
}

static void
check_context(struct tool_fixture *fixture)
{
	search(fixture, "{\"pattern\":\"hit\",\"context\":1}");
	result_is(fixture, "matches",
	    "[{\"path\":\"f\",\"line\":2,\"content\":\"hit one\",\"before\":[\"a\"],"
	    "\"after\":[\"hit two\"]},"
	    "{\"path\":\"f\",\"line\":3,\"content\":\"hit two\",\"before\":[\"hit one\"],"
	    "\"after\":[\"b\"]},"
	    "{\"path\":\"f\",\"line\":6,\"content\":\"hit three\",\"before\":[\"c\"]}]");
}

static void
test_context(void **state)
{
	struct search_fixture *fixture = *state;

	PUT(&fixture->tool, "f", "a\nhit one\nhit two\nb\nc\nhit three\n");
	with_both(fixture, check_context);
}

static void
check_names(struct tool_fixture *fixture)
{
	search(fixture, "{\"pattern\":\"*.c\",\"target\":\"files\"}");
	result_is(fixture, "files", "[\"new.c\",\"sub/middle.c\",\"old.c\"]");
	search(fixture, "{\"pattern\":\"**/*.c\",\"target\":\"find\",\"limit\":2}");
	result_is(fixture, "files", "[\"new.c\",\"sub/middle.c\"]");
	result_is(fixture, "total_count", "3");
	result_is(fixture, "truncated", "true");
	search(fixture, "{\"pattern\":\"middle\",\"target\":\"files\"}");
	result_is(fixture, "files", "[\"sub/middle.c\"]");
	search(fixture, "{\"pattern\":\"sub/*\",\"target\":\"files\"}");
	result_is(fixture, "files", "[\"sub/middle.c\"]");
	search(fixture, "{\"pattern\":\"*odd*\",\"target\":\"files\"}");
	result_is(fixture, "files", "[\"odd\\\\xff\\\\x0aname\"]");
	finds(fixture, "{\"pattern\":\"line\",\"path\":\"odd\\\\xff\\\\x0aname\"}", "1");
	search(fixture, "{\"pattern\":\"a line\"}");
	result_is(fixture, "matches",
	    "[{\"path\":\"odd\\\\xff\\\\x0aname\",\"line\":1,\"content\":\"a line\"}]");
	refuses(fixture, "{\"pattern\":\"[\",\"target\":\"files\"}", "not a file name pattern");
	search(fixture, "{\"pattern\":\"*.zz\",\"target\":\"files\"}");
	result_is(fixture, "files", "[]");
}

static void
test_names(void **state)
{
	struct search_fixture *fixture = *state;

	PUT(&fixture->tool, "old.c", "");
	PUT(&fixture->tool, "new.c", "");
	PUT(&fixture->tool, "sub/middle.c", "");
	PUT(&fixture->tool, "odd\xff\nname", "a line\n");
	set_time(fixture, "old.c", 1000);
	set_time(fixture, "sub/middle.c", 2000);
	set_time(fixture, "new.c", 3000);
	with_both(fixture, check_names);
}

static void
check_secrets(struct tool_fixture *fixture)
{
	finds(fixture, "{\"pattern\":\"token\"}", "1");
	result_is(fixture, "_omitted", "2");
	assert_null(strstr(json_text(fixture->result, NULL), "SECRET"));
	search(fixture, "{\"pattern\":\"token\",\"path\":\".env\"}");
	result_is(fixture, "matches", "[]");
	result_is(fixture, "_omitted", "1");
}

static void
test_secrets(void **state)
{
	struct search_fixture *fixture = *state;

	PUT(&fixture->tool, "code.c", "token\n");
	PUT(&fixture->tool, "server.pem", "token SECRET\ntoken\n");
	PUT(&fixture->tool, "id_rsa", "token SECRET\n");
	PUT(&fixture->tool, ".env", "token=SECRET\n");
	with_both(fixture, check_secrets);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    SEARCH_CASE(test_content),
	    SEARCH_CASE(test_link_put_in_between),
	    SEARCH_CASE(test_patterns),
	    SEARCH_CASE(test_context),
	    SEARCH_CASE(test_names),
	    SEARCH_CASE(test_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
