/*
 * Searching: patterns of names, ignore files, the programs' output taken apart, and the tool
 * itself with and without ripgrep. HERMES_ACP_GUARD names the guard.
 */
#include <config.h>

#include "worker/tools/glob_match.h"
#include "worker/tools/ignore_rules.h"
#include "worker/tools/search_command.h"
#include "worker/tools/search_output.h"
#include "worker/tools/tool_rows.h"

#include "common/alloc.h"
#include "common/monotonic.h"
#include "tests/lib/portable.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char *folder, *project, *programs, *guard, *path;
	const char *roots[1];
	struct tool_context context;
	struct tool_run *run;
	struct json_object *result;
	unsigned finished;
	bool failed;
};

static char *
find_guard(void)
{
	const char *named = getenv("HERMES_ACP_GUARD");

	return realpath(named != NULL ? named : "./hermes-acp-guard", NULL);
}

/* A folder with find, grep and xargs but without ripgrep. */
static void
link_programs(struct fixture *fixture)
{
	static const char *const names[] = {"find", "grep", "xargs"};
	char *from, *to;
	size_t i;

	assert_int_equal(mkdir(fixture->programs, 0700), 0);
	for (i = 0; i < sizeof names / sizeof *names; i++) {
		from = xasprintf("/usr/bin/%s", names[i]);
		if (access(from, X_OK) != 0) {
			free(from);
			from = xasprintf("/bin/%s", names[i]);
		}
		to = xasprintf("%s/%s", fixture->programs, names[i]);
		assert_int_equal(symlink(from, to), 0);
		free(from);
		free(to);
	}
}

static int
set_up(void **state)
{
	char name[] = "/tmp/search-XXXXXX";
	struct fixture *fixture = xcalloc(1, sizeof *fixture);

	assert_non_null(mkdtemp(name));
	fixture->folder = realpath(name, NULL);
	fixture->project = xasprintf("%s/.hid/project", fixture->folder);
	fixture->programs = xasprintf("%s/bin", fixture->folder);
	fixture->guard = find_guard();
	fixture->path = xstrdup(getenv("PATH"));
	link_programs(fixture);
	fixture->roots[0] = fixture->project;
	fixture->context.base = event_base_new();
	fixture->context.cwd = fixture->project;
	fixture->context.roots = fixture->roots;
	fixture->context.root_count = 1;
	fixture->context.user_home = "/nonexistent";
	fixture->context.home = "/nonexistent/.hermes";
	fixture->context.guard = fixture->guard;
	*state = fixture;
	return 0;
}

static void
forget_run(struct fixture *fixture)
{
	tool_run_free(fixture->run);
	json_object_put(fixture->result);
	fixture->run = NULL;
	fixture->result = NULL;
	fixture->finished = 0;
}

/* Lets the guards of freed processes end. */
static void
settle(struct fixture *fixture)
{
	struct event_base *base = fixture->context.base;
	int64_t end = monotonic_ms() + 5000;

	while (
	    event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED) > 0 && monotonic_ms() < end)
		event_base_loop(base, EVLOOP_ONCE);
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;
	char *command = xasprintf("rm -rf '%s'", fixture->folder);

	forget_run(fixture);
	setenv("PATH", fixture->path, 1);
	assert_int_equal(system(command), 0);
	free(command);
	event_base_free(fixture->context.base);
	free(fixture->folder);
	free(fixture->project);
	free(fixture->programs);
	free(fixture->guard);
	free(fixture->path);
	free(fixture);
	return 0;
}

static void
put_file(const struct fixture *fixture, const char *name, const char *bytes, size_t length)
{
	char *path = xasprintf("%s/%s", fixture->project, name), *slash;
	FILE *file;

	for (slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
	free(path);
}

#define PUT(fixture, name, text) put_file(fixture, name, text, sizeof(text) - 1)

static void
set_time(const struct fixture *fixture, const char *name, time_t seconds)
{
	const struct timeval times[2] = {{seconds, 0}, {seconds, 0}};
	char *path = xasprintf("%s/%s", fixture->project, name);

	assert_int_equal(utimes(path, times), 0);
	free(path);
}

static void
on_finished(struct tool_run *run, struct json_object *result, bool failed, void *arg)
{
	struct fixture *fixture = arg;

	(void)run;
	fixture->finished++;
	fixture->failed = failed;
	fixture->result = json_object_get(result);
}

static void
prepare_search(struct fixture *fixture, const char *arguments)
{
	const char *reason;
	struct json_object *value = json_parse(arguments, strlen(arguments), &reason);

	if (value == NULL)
		fail_msg("%s: %s", arguments, reason);
	forget_run(fixture);
	fixture->run = tool_run_new(
	    &tool_search_files, &fixture->context, "call", value, on_finished, NULL, fixture);
	json_object_put(value);
	tool_run_prepare(fixture->run);
}

static void
start_search(struct fixture *fixture, const char *arguments)
{
	prepare_search(fixture, arguments);
	tool_run_start(fixture->run);
}

static void
search(struct fixture *fixture, const char *arguments)
{
	int64_t end = monotonic_ms() + 20000;

	start_search(fixture, arguments);
	while (fixture->finished == 0 && monotonic_ms() < end)
		event_base_loop(fixture->context.base, EVLOOP_ONCE);
	assert_int_equal(fixture->finished, 1);
}

/* Runs `check` with ripgrep, when it is installed, and without. */
static void
with_both(struct fixture *fixture, void (*check)(struct fixture *fixture))
{
	char *ripgrep = search_command_ripgrep();

	if (fixture->guard == NULL) {
		free(ripgrep);
		LEAVE_OUT("the guard is not built");
	}
	if (ripgrep != NULL)
		check(fixture);
	free(ripgrep);
	setenv("PATH", fixture->programs, 1);
	check(fixture);
	settle(fixture);
}

/* Asserts that the member of the result is this JSON. */
static void
result_is(const struct fixture *fixture, const char *member, const char *expected)
{
	struct json_object *value = json_member(fixture->result, member);
	const char *text = value != NULL ? json_text(value, NULL) : "nothing";

	if (fixture->failed || strcmp(text, expected) != 0)
		fail_msg("%s is %s, not %s\n%s", member, text, expected,
		    json_text(fixture->result, NULL));
}

static void
error_has(const struct fixture *fixture, const char *text)
{
	const char *error = json_member_text(fixture->result, "error", "");

	if (!fixture->failed || strstr(error, text) == NULL)
		fail_msg("no \"%s\" in %s", text, json_text(fixture->result, NULL));
}

static bool
glob(const char *pattern, const char *path)
{
	struct buffer error = BUFFER_EMPTY;
	struct glob *compiled = glob_new(pattern, &error);
	bool matches;

	if (compiled == NULL)
		fail_msg("%s: %s", pattern, buffer_text(&error));
	matches = glob_matches(compiled, path);
	glob_free(compiled);
	return matches;
}

static void
test_globs(void **state)
{
	(void)state;
	assert_true(glob("*.c", "a/b/x.c"));
	assert_false(glob("*.c", "x.cc"));
	assert_true(glob("**/*.c", "x.c"));
	assert_true(glob("**/*.c", "a/b/x.c"));
	assert_true(glob("src/*.c", "src/x.c"));
	assert_false(glob("src/*.c", "src/a/x.c"));
	assert_false(glob("src/*.c", "a/src/x.c"));
	assert_true(glob("src/**", "src/a/x.c"));
	assert_false(glob("src/**", "src"));
	assert_true(glob("a/**/b", "a/b"));
	assert_true(glob("a/**/b", "a/x/y/b"));
	assert_true(glob("*.{ts,tsx}", "x.tsx"));
	assert_true(glob("{a,b{c,d}}.x", "bd.x"));
	assert_false(glob("*.{ts,tsx}", "x.t"));
	assert_true(glob("[a-c]?[!x].\\*", "bz1.*"));
	assert_false(glob("[a-c]?[!x]", "bzx"));
	assert_true(glob("[]x]", "]"));
	assert_true(glob("?", "\xc3\xa9"));
	assert_true(glob("/a.c", "a.c"));
	assert_false(glob("/a.c", "b/a.c"));
	assert_true(glob("./src/*.c", "src/x.c"));
}

static void
test_bad_globs(void **state)
{
	static const char *const patterns[] = {"", "[", "a[b", "x\\", "{a,b"};
	struct buffer error = BUFFER_EMPTY;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		buffer_clear(&error);
		assert_null(glob_new(patterns[i], &error));
		assert_true(error.length > 0);
	}
	assert_null(glob_new("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", &error));
	/* A pattern made to take for ever with naive backtracking. */
	assert_false(glob("*a*a*a*a*a*a*a*a*a*a*a*a*b",
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
	buffer_free(&error);
}

static bool
ignored(struct ignore_rules *rules, const struct fixture *fixture, const char *name)
{
	char *path = xasprintf("%s/%s", fixture->project, name);
	bool answer = ignore_rules_match(rules, path);

	free(path);
	return answer;
}

static void
test_ignore_files(void **state)
{
	struct fixture *fixture = *state;
	struct ignore_rules *rules;

	PUT(fixture, ".git/HEAD", "");
	PUT(fixture, ".git/info/exclude", "excluded\n");
	PUT(fixture, ".gitignore",
	    "# comment\n*.log\n!keep.log\n/top\nbuild/\nsub/deep/x\n\ntrail  \n\\#odd\n");
	PUT(fixture, "sub/.gitignore", "!again.log\nlocal\r\n");
	PUT(fixture, ".ignore", "plain\n");
	rules = ignore_rules_new(fixture->project);
	assert_true(ignored(rules, fixture, "a.log"));
	assert_false(ignored(rules, fixture, "keep.log"));
	assert_true(ignored(rules, fixture, "top"));
	assert_false(ignored(rules, fixture, "build"));
	assert_true(ignored(rules, fixture, "build/deep/file"));
	assert_true(ignored(rules, fixture, "sub/b.log"));
	assert_false(ignored(rules, fixture, "sub/again.log"));
	assert_false(ignored(rules, fixture, "sub/top"));
	assert_true(ignored(rules, fixture, "sub/local"));
	assert_true(ignored(rules, fixture, "sub/deep/x"));
	assert_false(ignored(rules, fixture, "local"));
	assert_true(ignored(rules, fixture, "plain"));
	assert_true(ignored(rules, fixture, "excluded"));
	assert_true(ignored(rules, fixture, "trail"));
	assert_true(ignored(rules, fixture, "#odd"));
	assert_false(ignored(rules, fixture, "normal"));
	ignore_rules_free(rules);
}

struct seen {
	struct buffer text;
};

static void
note_record(const struct search_record *record, void *arg)
{
	struct seen *seen = arg;

	buffer_printf(&seen->text, "<%s %d%s %s>", record->path, (int)record->number,
	    record->context ? "c" : "", record->text);
}

/* Feeds the bytes in pieces of every size up to 9 and compares what comes out. */
static void
output_gives(enum search_form form, const char *bytes, size_t length, const char *expected)
{
	size_t piece, at, size;

	for (piece = 1; piece < 10; piece++) {
		struct seen seen = {BUFFER_EMPTY};
		struct search_output output = {
		    .form = form, .record = note_record, .arg = &seen};

		for (at = 0; at < length; at += size) {
			size = length - at < piece ? length - at : piece;
			search_output_feed(&output, bytes + at, size);
		}
		assert_string_equal(buffer_text(&seen.text), expected);
		search_output_clear(&output);
		buffer_free(&seen.text);
	}
}

#define GIVES(form, bytes, expected) output_gives(form, bytes, sizeof(bytes) - 1, expected)

static void
test_output(void **state)
{
	(void)state;
	GIVES(SEARCH_PATHS, "/a\0/b\nc\0", "</a 0 ></b\nc 0 >");
	GIVES(SEARCH_COUNTS,
	    "/a\0"
	    "12\n/b\0"
	    "0\n",
	    "</a 12 ></b 0 >");
	GIVES(SEARCH_LINES,
	    "/a\0"
	    "3:2:xfoo\r\n/a\0"
	    "4-next: 1\n",
	    "</a 3 xfoo></a 4c next: 1>");
	GIVES(SEARCH_LINES,
	    "/a: binary file matches (found \"\\0\" byte around offset 7)\n/b\0"
	    "1:1:x\n",
	    "</b 1 x>");
	GIVES(SEARCH_MARKED,
	    "/a\0"
	    "3:x\033[1mfoo\033[m \033[1mfoo\033[m\n/a\0"
	    "4-y\n",
	    "</a 3 xfoo foo></a 4c y>");
	GIVES(SEARCH_LINES,
	    "rg: trouble\n/a\0"
	    "1:1:\xff\n",
	    "</a 1 \xef\xbf\xbd>");
}

static void
test_output_long_line(void **state)
{
	struct seen seen = {BUFFER_EMPTY};
	struct search_output output = {
	    .form = SEARCH_LINES, .record = note_record, .arg = &seen};
	char *filler = xcalloc(1, 100000);
	int i;

	(void)state;
	memset(filler, 'a', 100000);
	search_output_feed(&output,
	    "/f\0"
	    "1:3000001:",
	    13);
	for (i = 0; i < 30; i++)
		search_output_feed(&output, filler, 100000);
	search_output_feed(&output, "HERE", 4);
	for (i = 0; i < 30; i++)
		search_output_feed(&output, filler, 100000);
	search_output_feed(&output, "\n", 1);
	assert_true(seen.text.length < 520);
	assert_non_null(strstr(seen.text.data, "</f 1 ...aaaa"));
	assert_non_null(strstr(seen.text.data, "aHEREa"));
	assert_non_null(strstr(seen.text.data, "a...>"));
	assert_true(output.text.capacity < 100000);
	search_output_clear(&output);
	buffer_free(&seen.text);
	free(filler);
}

static void
check_content(struct fixture *fixture)
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
	search(fixture, "{\"pattern\":\"crlf$\",\"file_glob\":\"*.{h,hh}\"}");
	result_is(fixture, "total_count", "1");
	search(fixture, "{\"pattern\":\"foo\",\"file_glob\":\"sub/*.h\"}");
	result_is(fixture, "total_count", "1");
	search(fixture, "{\"pattern\":\"foo\",\"path\":\"a.c\"}");
	result_is(fixture, "total_count", "2");
	search(fixture, "{\"pattern\":\"foo\",\"path\":\"link\"}");
	result_is(fixture, "total_count", "1");
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
	struct fixture *fixture = *state;
	char *link = xasprintf("%s/link", fixture->project);

	PUT(fixture, "a.c", "foo one\nbar\n  foo\n");
	PUT(fixture, "sub/b.h", "foo crlf\r\n");
	PUT(fixture, ".hidden", "foo\n");
	PUT(fixture, ".git/HEAD", "foo\n");
	PUT(fixture, ".gitignore", "ignored.c\n");
	PUT(fixture, "ignored.c", "foo\n");
	PUT(fixture, "binary", "\0\1foo\n");
	assert_int_equal(symlink("sub", link), 0);
	free(link);
	with_both(fixture, check_content);
}

/* A folder that became a link after the path was judged leads to what was not judged. */
static void
test_link_put_in_between(void **state)
{
	struct fixture *fixture = *state;
	char *folder = xasprintf("%s/a", fixture->project);
	char *moved = xasprintf("%s/b", fixture->project);
	char *outside = xasprintf("%s/outside", fixture->folder);

	PUT(fixture, "a/sub/x", "foo\n");
	PUT(fixture, "../../outside/sub/x", "foo secret\n");
	prepare_search(fixture, "{\"pattern\":\"foo\",\"path\":\"a/sub\"}");
	assert_int_equal(rename(folder, moved), 0);
	assert_int_equal(symlink(outside, folder), 0);
	tool_run_start(fixture->run);
	assert_int_equal(fixture->finished, 1);
	error_has(fixture, "was replaced by a link");
	free(folder);
	free(moved);
	free(outside);
}

static void
check_patterns(struct fixture *fixture)
{
	search(fixture, "{\"pattern\":\"-77\"}");
	result_is(fixture, "total_count", "1");
	search(fixture, "{\"pattern\":\"--pdf-engine\"}");
	result_is(fixture, "total_count", "1");
	search(fixture, "{\"pattern\":\"- \\\\[ \\\\]\"}");
	result_is(fixture, "total_count", "1");
	search(fixture, "{\"pattern\":\"->\"}");
	result_is(fixture, "total_count", "1");
	search(fixture, "{\"pattern\":\"\\\\bword\\\\b\"}");
	result_is(fixture, "total_count", "1");
	search(fixture, "{\"pattern\":\"foo(\"}");
	error_has(fixture, "The search failed");
	search(fixture, "{\"pattern\":\"\"}");
	error_has(fixture, "empty");
	search(fixture, "{\"pattern\":\"a\\nb\"}");
	error_has(fixture, "newline");
	search(fixture, "{\"pattern\":\"a\\\\nb\"}");
	error_has(fixture, "newline");
	search(fixture, "{\"pattern\":\"a\\\\\\\\nb\"}");
	result_is(fixture, "total_count", "1");
	search(fixture, "{\"pattern\":\"x\",\"file_glob\":\"[\"}");
	error_has(fixture, "file_glob");
	search(fixture, "{\"pattern\":\"x\",\"path\":\"nothere\"}");
	error_has(fixture, "Path not found: nothere");
	search(fixture, "{\"pattern\":\"x\",\"path\":\"/dev/null\"}");
	error_has(fixture, "neither");
	search(fixture, "{\"pattern\":\"x\",\"target\":\"other\"}");
	error_has(fixture, "target");
	search(fixture, "{\"pattern\":\"x\",\"limit\":0}");
	error_has(fixture, "limit");
	search(fixture, "{\"pattern\":\"x\",\"offset\":-1}");
	error_has(fixture, "offset");
}

static void
test_patterns(void **state)
{
	struct fixture *fixture = *state;

	PUT(fixture, "f",
	    "a -77 b\n--pdf-engine=x\n- [ ] task\np->q\na word here\nswords\na\\nb\n");
	with_both(fixture, check_patterns);
}

static void
check_context(struct fixture *fixture)
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
	struct fixture *fixture = *state;

	PUT(fixture, "f", "a\nhit one\nhit two\nb\nc\nhit three\n");
	with_both(fixture, check_context);
}

static void
check_names(struct fixture *fixture)
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
	search(fixture, "{\"pattern\":\"line\",\"path\":\"odd\\\\xff\\\\x0aname\"}");
	result_is(fixture, "total_count", "1");
	search(fixture, "{\"pattern\":\"a line\"}");
	result_is(fixture, "matches",
	    "[{\"path\":\"odd\\\\xff\\\\x0aname\",\"line\":1,\"content\":\"a line\"}]");
	search(fixture, "{\"pattern\":\"[\",\"target\":\"files\"}");
	error_has(fixture, "not a file name pattern");
	search(fixture, "{\"pattern\":\"*.zz\",\"target\":\"files\"}");
	result_is(fixture, "files", "[]");
}

static void
test_names(void **state)
{
	struct fixture *fixture = *state;

	PUT(fixture, "old.c", "");
	PUT(fixture, "new.c", "");
	PUT(fixture, "sub/middle.c", "");
	PUT(fixture, "odd\xff\nname", "a line\n");
	set_time(fixture, "old.c", 1000);
	set_time(fixture, "sub/middle.c", 2000);
	set_time(fixture, "new.c", 3000);
	with_both(fixture, check_names);
}

static void
check_secrets(struct fixture *fixture)
{
	search(fixture, "{\"pattern\":\"token\"}");
	result_is(fixture, "total_count", "1");
	result_is(fixture, "_omitted", "2");
	assert_null(strstr(json_text(fixture->result, NULL), "SECRET"));
	search(fixture, "{\"pattern\":\"token\",\"path\":\".env\"}");
	result_is(fixture, "matches", "[]");
	result_is(fixture, "_omitted", "1");
}

static void
test_secrets(void **state)
{
	struct fixture *fixture = *state;

	PUT(fixture, "code.c", "token\n");
	PUT(fixture, "server.pem", "token SECRET\ntoken\n");
	PUT(fixture, "id_rsa", "token SECRET\n");
	PUT(fixture, ".env", "token=SECRET\n");
	with_both(fixture, check_secrets);
}

static void
check_long_line(struct fixture *fixture)
{
	const char *content;
	struct json_object *match;

	search(fixture, "{\"pattern\":\"NEEDLE\"}");
	match = json_object_array_get_idx(json_member_array(fixture->result, "matches"), 0);
	content = json_member_text(match, "content", "");
	assert_non_null(strstr(content, "NEEDLE"));
	assert_int_equal(strncmp(content, "...", 3), 0);
	assert_true(strlen(content) <= 506);
}

static void
test_long_line(void **state)
{
	struct fixture *fixture = *state;
	const size_t size = 4000000;
	char *text = xcalloc(1, size);

	memset(text, 'x', size);
	memcpy(text + 3000000, "NEEDLE", 6);
	text[size - 1] = '\n';
	put_file(fixture, "minified.js", text, size);
	free(text);
	with_both(fixture, check_long_line);
}

static void
check_many(struct fixture *fixture)
{
	search(fixture, "{\"pattern\":\"n\",\"limit\":3}");
	result_is(fixture, "total_count", "1000");
	result_is(fixture, "total_count_is_lower_bound", "true");
	result_is(fixture, "matches",
	    "[{\"path\":\"many\",\"line\":1,\"content\":\"n\"},"
	    "{\"path\":\"many\",\"line\":2,\"content\":\"n\"},"
	    "{\"path\":\"many\",\"line\":3,\"content\":\"n\"}]");
	search(fixture, "{\"pattern\":\"n\",\"output_mode\":\"count\"}");
	result_is(fixture, "counts", "{\"many\":3000}");
}

static void
test_many(void **state)
{
	struct fixture *fixture = *state;
	char text[6000];
	size_t i;

	for (i = 0; i < sizeof text; i++)
		text[i] = i % 2 == 0 ? 'n' : '\n';
	put_file(fixture, "many", text, sizeof text);
	with_both(fixture, check_many);
}

static void
check_cancel(struct fixture *fixture)
{
	start_search(fixture, "{\"pattern\":\"x\"}");
	tool_run_cancel(fixture->run);
	assert_int_equal(fixture->finished, 1);
	assert_true(fixture->failed);
}

static void
test_cancel(void **state)
{
	struct fixture *fixture = *state;

	PUT(fixture, "f", "x\n");
	with_both(fixture, check_cancel);
}

static void
test_no_programs(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->guard == NULL)
		LEAVE_OUT("the guard is not built");
	PUT(fixture, "f", "x\n");
	setenv("PATH", "/nonexistent", 1);
	search(fixture, "{\"pattern\":\"x\"}");
	error_has(fixture, "cannot start find");
	settle(fixture);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_globs),
	    cmocka_unit_test(test_bad_globs),
	    CASE(test_ignore_files),
	    cmocka_unit_test(test_output),
	    cmocka_unit_test(test_output_long_line),
	    CASE(test_content),
	    CASE(test_link_put_in_between),
	    CASE(test_patterns),
	    CASE(test_context),
	    CASE(test_names),
	    CASE(test_secrets),
	    CASE(test_long_line),
	    CASE(test_many),
	    CASE(test_cancel),
	    CASE(test_no_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
