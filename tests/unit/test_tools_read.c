/*
 * Reading files: pages, long lines, encodings, line ends, what must be refused, what must not
 * block; and the life of a run.
 */
#include <config.h>

#include "worker/tools/fenced_text.h"
#include "worker/tools/file_stamps.h"
#include "worker/tools/grants.h"
#include "worker/tools/text_file.h"
#include "worker/tools/tool_rows.h"

#include "common/alloc.h"
#include "common/monotonic.h"
#include "tests/lib/portable.h"

#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char *folder;
	const char *roots[1];
	struct tool_context context;
	/* The last run. */
	struct tool_run *run;
	struct json_object *result;
	unsigned finished;
	bool failed;
};

static int
set_up(void **state)
{
	char name[] = "/tmp/tools-read-XXXXXX";
	struct fixture *fixture = xcalloc(1, sizeof *fixture);

	assert_non_null(mkdtemp(name));
	fixture->folder = realpath(name, NULL);
	fixture->roots[0] = fixture->folder;
	fixture->context.base = event_base_new();
	fixture->context.cwd = fixture->folder;
	fixture->context.roots = fixture->roots;
	fixture->context.root_count = 1;
	fixture->context.user_home = "/nonexistent";
	fixture->context.home = "/nonexistent/.hermes";
	fixture->context.stamps = file_stamps_new();
	fixture->context.grants = grants_new();
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

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;
	char *command = xasprintf("rm -rf '%s'", fixture->folder);

	forget_run(fixture);
	assert_int_equal(system(command), 0);
	free(command);
	file_stamps_free(fixture->context.stamps);
	grants_free(fixture->context.grants);
	event_base_free(fixture->context.base);
	free(fixture->folder);
	free(fixture);
	return 0;
}

static char *
path_of(const struct fixture *fixture, const char *name)
{
	return xasprintf("%s/%s", fixture->folder, name);
}

static void
put_file(const struct fixture *fixture, const char *name, const char *bytes, size_t length)
{
	char *path = path_of(fixture, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
	free(path);
}

#define PUT(fixture, name, text) put_file(fixture, name, text, sizeof(text) - 1)

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
new_run(struct fixture *fixture, const char *arguments)
{
	const char *reason;
	struct json_object *value = json_parse(arguments, strlen(arguments), &reason);

	forget_run(fixture);
	fixture->run = tool_run_new(
	    &tool_read_file, &fixture->context, "call", value, on_finished, NULL, fixture);
	json_object_put(value);
	tool_run_prepare(fixture->run);
}

/* Runs read_file to its end. */
static void
read_with(struct fixture *fixture, const char *arguments)
{
	int64_t end = monotonic_ms() + 20000;

	new_run(fixture, arguments);
	tool_run_start(fixture->run);
	while (fixture->finished == 0 && monotonic_ms() < end)
		event_base_loop(fixture->context.base, EVLOOP_ONCE);
	assert_int_equal(fixture->finished, 1);
}

static const char *
content(const struct fixture *fixture)
{
	const char *text = json_member_string(fixture->result, "content");

	if (text == NULL)
		fail_msg("no content: %s", json_text(fixture->result, NULL));
	assert_false(fixture->failed);
	return text;
}

static const char *
error_of(const struct fixture *fixture)
{
	const char *text = json_member_string(fixture->result, "error");

	if (text == NULL)
		fail_msg("no error: %s", json_text(fixture->result, NULL));
	assert_true(fixture->failed);
	return text;
}

static int64_t
number_of(const struct fixture *fixture, const char *name)
{
	int64_t number = -1;

	json_member_integer(fixture->result, name, &number);
	return number;
}

static const char *
hint_of(const struct fixture *fixture)
{
	return json_member_text(fixture->result, "hint", "");
}

static void
test_pages(void **state)
{
	struct fixture *fixture = *state;

	PUT(fixture, "a.txt", "one\ntwo\nthree\nfour");
	read_with(fixture, "{\"path\":\"a.txt\"}");
	assert_string_equal(content(fixture), "1|one\n2|two\n3|three\n4|four");
	assert_int_equal(number_of(fixture, "total_lines"), 4);
	assert_int_equal(number_of(fixture, "file_size"), 18);
	assert_false(json_member_boolean(fixture->result, "truncated", true));
	assert_string_equal(hint_of(fixture), "");
	assert_string_equal(fixture->run->card.title, "Read a.txt");
	assert_int_equal(fixture->run->card.location_count, 1);
	assert_int_equal(fixture->run->card.locations[0].line, 1);
	assert_non_null(strstr(fixture->run->shown.items[0].text, "```\none\ntwo\n"));

	read_with(fixture, "{\"path\":\"./a.txt\",\"offset\":2,\"limit\":2}");
	assert_string_equal(content(fixture), "2|two\n3|three");
	assert_true(json_member_boolean(fixture->result, "truncated", false));
	assert_non_null(strstr(hint_of(fixture), "offset=4"));
	assert_int_equal(fixture->run->card.locations[0].line, 2);

	read_with(fixture, "{\"path\":\"a.txt\",\"offset\":\"4\",\"limit\":1000000000}");
	assert_string_equal(content(fixture), "4|four");
	assert_false(json_member_boolean(fixture->result, "truncated", true));
}

static void
test_odd_offsets(void **state)
{
	struct fixture *fixture = *state;

	PUT(fixture, "a.txt", "one\ntwo\n");
	PUT(fixture, "empty", "");
	PUT(fixture, "newline", "\n");
	read_with(fixture, "{\"path\":\"a.txt\",\"offset\":9}");
	assert_string_equal(content(fixture), "");
	assert_non_null(strstr(hint_of(fixture), "2 lines"));
	read_with(fixture, "{\"path\":\"a.txt\",\"offset\":0}");
	assert_string_equal(content(fixture), "1|one\n2|two");
	read_with(fixture, "{\"path\":\"a.txt\",\"offset\":-1}");
	assert_non_null(strstr(error_of(fixture), "2 lines"));
	read_with(fixture, "{\"path\":\"a.txt\",\"limit\":0}");
	assert_non_null(strstr(error_of(fixture), "limit"));
	read_with(fixture, "{\"path\":\"a.txt\",\"offset\":\"x\"}");
	assert_non_null(strstr(error_of(fixture), "offset"));
	read_with(fixture, "{\"path\":\"empty\"}");
	assert_string_equal(content(fixture), "");
	assert_int_equal(number_of(fixture, "total_lines"), 0);
	read_with(fixture, "{\"path\":\"newline\"}");
	assert_string_equal(content(fixture), "1|");
	assert_int_equal(number_of(fixture, "total_lines"), 1);
}

static void
test_bad_arguments(void **state)
{
	struct fixture *fixture = *state;

	read_with(fixture, "{}");
	assert_non_null(strstr(error_of(fixture), "\"path\" is missing"));
	read_with(fixture, "{\"path\":7}");
	assert_non_null(strstr(error_of(fixture), "must be a string"));
	read_with(fixture, "{\"path\":\"\"}");
	assert_non_null(strstr(error_of(fixture), "empty"));
	read_with(fixture, "{\"path\":\"a\\u0000b\"}");
	assert_non_null(strstr(error_of(fixture), "NUL"));
	read_with(fixture, "[]");
	assert_non_null(strstr(error_of(fixture), "object"));
}

static void
test_line_ends(void **state)
{
	struct fixture *fixture = *state;

	PUT(fixture, "crlf", "a = 1\r\nb = 2\r\nc = 3\r\n");
	PUT(fixture, "cr", "a\rb\rc\r");
	PUT(fixture, "mixed", "a\nb\r\nc\n");
	read_with(fixture, "{\"path\":\"crlf\"}");
	assert_string_equal(content(fixture), "1|a = 1\n2|b = 2\n3|c = 3");
	read_with(fixture, "{\"path\":\"cr\"}");
	assert_string_equal(content(fixture), "1|a\n2|b\n3|c");
	read_with(fixture, "{\"path\":\"mixed\"}");
	assert_string_equal(content(fixture), "1|a\n2|b\n3|c");
}

static void
test_encodings(void **state)
{
	struct fixture *fixture = *state;

	PUT(fixture, "bom", "\xef\xbb\xbfhello\n\xe4\xb8\xad\xe6\x96\x87\n");
	PUT(fixture, "le", "\xff\xfeh\0i\0\n\0\x3d\xd8\x00\xde\n\0");
	PUT(fixture, "be", "\xfe\xff\0h\0i");
	PUT(fixture, "latin", "caf\xe9 au lait\nsecond line of it\n");
	PUT(fixture, "late", "x\n");
	read_with(fixture, "{\"path\":\"bom\"}");
	assert_string_equal(content(fixture), "1|hello\n2|\xe4\xb8\xad\xe6\x96\x87");
	read_with(fixture, "{\"path\":\"le\"}");
	assert_string_equal(content(fixture), "1|hi\n2|\xf0\x9f\x98\x80");
	assert_non_null(strstr(hint_of(fixture), "UTF-16"));
	read_with(fixture, "{\"path\":\"be\"}");
	assert_string_equal(content(fixture), "1|hi");
	read_with(fixture, "{\"path\":\"latin\"}");
	assert_string_equal(content(fixture), "1|caf\xef\xbf\xbd au lait\n2|second line of it");
	assert_non_null(strstr(hint_of(fixture), "not UTF-8"));
	/* Bytes that begin like UTF-16 and are not: still valid text in the answer. */
	PUT(fixture, "odd",
	    "\xff\xfe"
	    "A\0B\n");
	read_with(fixture, "{\"path\":\"odd\"}");
	assert_non_null(strstr(content(fixture), "1|A"));
}

static void
test_binary(void **state)
{
	struct fixture *fixture = *state;

	PUT(fixture, "image.txt", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
	PUT(fixture, "nul", "text\0more");
	PUT(fixture, "noise", "\x81\x92\xa3\xb4\xc5\xd6\xe7\xf8\x80\x81\x82 x");
	read_with(fixture, "{\"path\":\"image.txt\"}");
	assert_non_null(strstr(error_of(fixture), "PNG image"));
	read_with(fixture, "{\"path\":\"nul\"}");
	assert_non_null(strstr(error_of(fixture), "binary"));
	read_with(fixture, "{\"path\":\"noise\"}");
	assert_non_null(strstr(error_of(fixture), "binary"));
}

static void
test_missing(void **state)
{
	struct fixture *fixture = *state;
	struct json_object *similar;

	PUT(fixture, "main.c", "");
	PUT(fixture, "Makefile", "");
	PUT(fixture, "other", "");
	read_with(fixture, "{\"path\":\"mian.c\"}");
	assert_non_null(strstr(error_of(fixture), "File not found: mian.c"));
	similar = json_member_array(fixture->result, "similar_files");
	assert_int_equal(json_object_array_length(similar), 1);
	assert_string_equal(
	    json_object_get_string(json_object_array_get_idx(similar, 0)), "main.c");
	read_with(fixture, "{\"path\":\"main.c/x\"}");
	assert_non_null(strstr(error_of(fixture), "File not found"));
	read_with(fixture, "{\"path\":\"no/folder/x\"}");
	assert_non_null(strstr(error_of(fixture), "File not found"));
}

static void
test_not_regular(void **state)
{
	struct fixture *fixture = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char *fifo = path_of(fixture, "fifo"), *name = path_of(fixture, "socket");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(mkfifo(fifo, 0600), 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	read_with(fixture, "{\"path\":\"fifo\"}");
	assert_non_null(strstr(error_of(fixture), "named pipe"));
	read_with(fixture, "{\"path\":\"socket\"}");
	assert_non_null(strstr(error_of(fixture), "socket"));
	read_with(fixture, "{\"path\":\".\"}");
	assert_non_null(strstr(error_of(fixture), "folder"));
	read_with(fixture, "{\"path\":\"/dev/zero\"}");
	assert_non_null(strstr(error_of(fixture), "never read"));
	read_with(fixture, "{\"path\":\"/dev/null\"}");
	assert_non_null(strstr(error_of(fixture), "device"));
	read_with(fixture, "{\"path\":\"/dev/stdin\"}");
	error_of(fixture);
	close(fd);
	free(fifo);
	free(name);
}

static void
test_credentials(void **state)
{
	struct fixture *fixture = *state;
	char *link = path_of(fixture, "link");

	PUT(fixture, ".env", "KEY=value\n");
	PUT(fixture, "id_rsa", "secret\n");
	assert_int_equal(symlink(".env", link), 0);
	read_with(fixture, "{\"path\":\".env\"}");
	assert_non_null(strstr(error_of(fixture), "never read"));
	read_with(fixture, "{\"path\":\"link\"}");
	assert_non_null(strstr(error_of(fixture), "never read"));
	new_run(fixture, "{\"path\":\"id_rsa\"}");
	assert_int_equal(fixture->run->permission.verdict, TOOL_ASK);
	assert_non_null(fixture->run->permission.question);
	grants_add(fixture->context.grants, fixture->run->permission.grant);
	new_run(fixture, "{\"path\":\"id_rsa\"}");
	assert_int_equal(fixture->run->permission.verdict, TOOL_ALLOWED);
	free(link);
}

static void
test_long_lines(void **state)
{
	struct fixture *fixture = *state;
	struct buffer text = BUFFER_EMPTY;
	size_t i;

	for (i = 0; i < 2001; i++)
		buffer_append_text(&text, "\xc3\xa9");
	buffer_append_text(&text, "\nend\n");
	for (i = 0; i < 2000; i++)
		buffer_append_text(&text, "x");
	buffer_append_text(&text, "\r\n");
	put_file(fixture, "long", buffer_text(&text), text.length);
	read_with(fixture, "{\"path\":\"long\"}");
	assert_non_null(strstr(content(fixture), "\xc3\xa9... [truncated]\n2|end\n3|xxx"));
	assert_null(strstr(content(fixture), "x... [truncated]"));
	assert_int_equal(strlen(content(fixture)), 2 + 4000 + 15 + 1 + 5 + 1 + 2 + 2000);
	assert_int_equal(number_of(fixture, "total_lines"), 3);
	assert_int_equal(
	    file_stamps_query(fixture->context.stamps, "x", NULL), FILE_NEVER_SEEN);
	buffer_free(&text);
}

static void
test_size_limit(void **state)
{
	struct fixture *fixture = *state;
	struct buffer text = BUFFER_EMPTY;
	char *arguments;
	int64_t shown;
	int i;

	for (i = 0; i < 1100; i++)
		buffer_printf(&text, "%0150d\n", i);
	put_file(fixture, "big", buffer_text(&text), text.length);
	read_with(fixture, "{\"path\":\"big\"}");
	assert_true(strlen(content(fixture)) <= 100000);
	assert_true(strlen(content(fixture)) > 99000);
	assert_int_equal(number_of(fixture, "total_lines"), 1100);
	assert_int_equal(sscanf(hint_of(fixture), "Use offset=%" SCNd64, &shown), 1);
	arguments = xasprintf("{\"path\":\"big\",\"offset\":%d}", (int)shown);
	read_with(fixture, arguments);
	assert_false(json_member_boolean(fixture->result, "truncated", true));
	assert_int_equal(strtol(content(fixture), NULL, 10), shown);
	free(arguments);
	buffer_free(&text);
}

static void
test_sparse(void **state)
{
	struct fixture *fixture = *state;
	struct buffer text = BUFFER_EMPTY;
	char *path = path_of(fixture, "sparse");
	int64_t begin = monotonic_ms();
	int i;

	for (i = 0; i < 100; i++)
		buffer_append_text(&text, "some line of text\n");
	put_file(fixture, "sparse", buffer_text(&text), text.length);
	buffer_free(&text);
	assert_int_equal(truncate(path, (off_t)5 << 30), 0);
	read_with(fixture, "{\"path\":\"sparse\",\"offset\":1,\"limit\":10}");
	assert_int_equal(strncmp(content(fixture), "1|some line of text\n", 20), 0);
	assert_non_null(strstr(content(fixture), "\n10|some line of text"));
	assert_true(json_member_boolean(fixture->result, "truncated", false));
	assert_int_equal(number_of(fixture, "file_size"), (int64_t)5 << 30);
	/* Bounded by bytes read, not by the clock; the clock only catches a gross fault. */
	assert_true(monotonic_ms() - begin < 5000);
	free(path);
}

static void
test_slices(void **state)
{
	struct fixture *fixture = *state;
	struct buffer text = BUFFER_EMPTY;
	char *path = path_of(fixture, "huge");
	int i, fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (i = 0; i < 50000; i++)
		buffer_printf(&text, "line %d of many lines\n", i);
	for (i = 0; i < 40; i++)
		assert_int_equal(write(fd, text.data, text.length), (ssize_t)text.length);
	close(fd);
	new_run(fixture, "{\"path\":\"huge\",\"offset\":1999999}");
	tool_run_start(fixture->run);
	while (fixture->finished == 0)
		event_base_loop(fixture->context.base, EVLOOP_ONCE);
	assert_string_equal(content(fixture),
	    "1999999|line 49998 of many lines\n2000000|line 49999 of many lines");
	assert_int_equal(number_of(fixture, "total_lines"), 2000000);
	/* A cancel in the middle ends it. */
	new_run(fixture, "{\"path\":\"huge\",\"offset\":1999999}");
	tool_run_start(fixture->run);
	tool_run_cancel(fixture->run);
	assert_int_equal(fixture->finished, 1);
	event_base_loop(fixture->context.base, EVLOOP_NONBLOCK);
	assert_int_equal(fixture->finished, 1);
	buffer_free(&text);
	free(path);
}

static void
test_proc(void **state)
{
	struct fixture *fixture = *state;

	if (access("/proc/self/status", R_OK) != 0)
		LEAVE_OUT("no /proc here");
	read_with(fixture, "{\"path\":\"/proc/self/status\"}");
	assert_int_equal(strncmp(content(fixture), "1|Name:", 7), 0);
	assert_true(number_of(fixture, "total_lines") > 10);
	assert_true(number_of(fixture, "file_size") > 0);
}

static void
test_stamps(void **state)
{
	struct fixture *fixture = *state;
	struct file_stamps *stamps = fixture->context.stamps;
	char *path = path_of(fixture, "a");
	struct stat status;

	PUT(fixture, "a", "one\ntwo\n");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(file_stamps_query(stamps, path, &status), FILE_NEVER_SEEN);
	read_with(fixture, "{\"path\":\"a\",\"limit\":1}");
	assert_int_equal(file_stamps_query(stamps, path, &status), FILE_SEEN_PARTLY);
	read_with(fixture, "{\"path\":\"a\"}");
	assert_int_equal(file_stamps_query(stamps, path, &status), FILE_SEEN);
	read_with(fixture, "{\"path\":\"a\",\"limit\":1}");
	assert_int_equal(file_stamps_query(stamps, path, &status), FILE_SEEN);
	status.st_mtim.tv_nsec ^= 1;
	assert_int_equal(file_stamps_query(stamps, path, &status), FILE_CHANGED);
	assert_int_equal(file_stamps_query(stamps, path, NULL), FILE_CHANGED);
	file_stamps_forget(stamps, path);
	assert_int_equal(file_stamps_query(stamps, path, &status), FILE_NEVER_SEEN);
	free(path);
}

static void
test_stamp_limit(void **state)
{
	struct file_stamps *stamps = file_stamps_new();
	struct stat status = {0};
	char name[32];
	int i;

	(void)state;
	for (i = 0; i <= FILE_STAMPS_MAX; i++) {
		snprintf(name, sizeof name, "/f%d", i);
		file_stamps_record(stamps, name, &status, true);
	}
	assert_int_equal(file_stamps_query(stamps, "/f0", &status), FILE_NEVER_SEEN);
	assert_int_equal(file_stamps_query(stamps, "/f1", &status), FILE_SEEN);
	assert_int_equal(file_stamps_query(stamps, name, &status), FILE_SEEN);
	file_stamps_free(stamps);
}

static void
read_text(const struct fixture *fixture, const char *name, enum text_failure expected,
    struct text_file *file)
{
	struct buffer error = BUFFER_EMPTY;
	char *path = path_of(fixture, name);

	assert_int_equal(text_file_read(path, 1000, file, &error), expected);
	assert_true((expected == TEXT_READ) == (error.length == 0));
	if (expected != TEXT_READ)
		assert_non_null(strstr(buffer_text(&error), name));
	buffer_free(&error);
	free(path);
}

static void
test_text_file(void **state)
{
	struct fixture *fixture = *state;
	struct text_file file;
	char *link = path_of(fixture, "link"), *long_text = xcalloc(1, 2000);

	PUT(fixture, "bom", "\xef\xbb\xbfx\r\ny");
	PUT(fixture, "bad", "x\xff ok all right\n");
	PUT(fixture, "empty", "");
	memset(long_text, 'x', 2000);
	put_file(fixture, "long", long_text, 2000);
	assert_int_equal(symlink("bom", link), 0);
	read_text(fixture, "bom", TEXT_READ, &file);
	assert_string_equal(file.text, "x\r\ny");
	text_file_clear(&file);
	read_text(fixture, "bad", TEXT_READ, &file);
	assert_string_equal(file.text, "x\xff ok all right\n");
	text_file_clear(&file);
	read_text(fixture, "empty", TEXT_READ, &file);
	assert_int_equal(file.length, 0);
	text_file_clear(&file);
	read_text(fixture, "long", TEXT_TOO_BIG, &file);
	read_text(fixture, "link", TEXT_UNREADABLE, &file);
	read_text(fixture, "absent", TEXT_ABSENT, &file);
	read_text(fixture, ".", TEXT_NOT_REGULAR, &file);
	free(long_text);
	free(link);
}

static void
test_endings(void **state)
{
	(void)state;
	assert_int_equal(text_ending_detect("a", 1), TEXT_ENDING_NONE);
	assert_int_equal(text_ending_detect("a\nb\n", 4), TEXT_ENDING_LF);
	assert_int_equal(text_ending_detect("a\r\nb", 4), TEXT_ENDING_CRLF);
	assert_int_equal(text_ending_detect("a\rb\r", 4), TEXT_ENDING_CR);
	assert_int_equal(text_ending_detect("a\r\nb\n", 5), TEXT_ENDING_MIXED);
	assert_int_equal(text_ending_detect("a\rb\n", 4), TEXT_ENDING_MIXED);
}

static void
test_fences(void **state)
{
	struct buffer out = BUFFER_EMPTY;

	(void)state;
	fenced_text_append(&out, "c", "a```b", 5, 100);
	assert_string_equal(buffer_text(&out), "````c\na```b\n````");
	buffer_clear(&out);
	fenced_text_append(&out, "", "abcdef", 6, 4);
	assert_int_equal(strncmp(buffer_text(&out), "```\nabcd\n```\n", 13), 0);
	assert_non_null(strstr(buffer_text(&out), "4 of 6"));
	buffer_free(&out);
}

/* A tool that ends twice, and whose start must not be reached when prepare has ended it. */
static void
bad_prepare(struct tool_run *run)
{
	tool_card_title(run, "%s", "two\nlines\t and  blanks\n");
	if (json_has(run->arguments, "end"))
		tool_finish_error(run, "ended in prepare");
	if (json_has(run->arguments, "refuse")) {
		run->permission.verdict = TOOL_REFUSED;
		run->permission.reason = xstrdup("because");
	}
}

static void
bad_start(struct tool_run *run)
{
	tool_finish(run, json_object_new_object(), false);
	tool_finish(run, json_object_new_object(), true);
	tool_finish_error(run, "again");
}

static const struct tool bad_tool = {.name = "bad", .prepare = bad_prepare, .start = bad_start};

static void
run_bad(struct fixture *fixture, const char *arguments)
{
	const char *reason;
	struct json_object *value = json_parse(arguments, strlen(arguments), &reason);

	forget_run(fixture);
	fixture->run =
	    tool_run_new(&bad_tool, &fixture->context, "x", value, on_finished, NULL, fixture);
	json_object_put(value);
	tool_run_prepare(fixture->run);
	tool_run_start(fixture->run);
	tool_run_start(fixture->run);
	tool_run_cancel(fixture->run);
	assert_int_equal(fixture->finished, 1);
}

static void
test_run_ends_once(void **state)
{
	struct fixture *fixture = *state;

	run_bad(fixture, "{}");
	assert_false(fixture->failed);
	assert_string_equal(fixture->run->card.title, "two lines and blanks");
	run_bad(fixture, "{\"end\":1}");
	assert_string_equal(error_of(fixture), "ended in prepare");
	run_bad(fixture, "{\"refuse\":1}");
	assert_string_equal(error_of(fixture), "because");
}

static void
test_titles(void **state)
{
	struct fixture *fixture = *state;
	char name[400];
	size_t length;

	memset(name, 'x', sizeof name);
	memcpy(name + 195, "\xc3\xa9\xc3\xa9\xc3\xa9", 6);
	name[sizeof name - 1] = '\0';
	run_bad(fixture, "{}");
	tool_card_title(fixture->run, "%s", name);
	length = strlen(fixture->run->card.title);
	assert_true(length <= 200);
	assert_string_equal(fixture->run->card.title + length - 3, "\xe2\x80\xa6");
	tool_card_title(fixture->run, "bad \xff byte");
	assert_string_equal(fixture->run->card.title, "bad \xef\xbf\xbd byte");
}

static void
test_names(void **state)
{
	enum session_mode mode;

	(void)state;
	assert_string_equal(tool_kind_name(TOOL_KIND_EXECUTE), "execute");
	assert_string_equal(session_mode_name(SESSION_MODE_DONT_ASK), "dont_ask");
	assert_true(session_mode_parse("plan", &mode));
	assert_int_equal(mode, SESSION_MODE_PLAN);
	assert_false(session_mode_parse("Plan", &mode));
	assert_false(session_mode_parse(NULL, &mode));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(test_pages),
	    CASE(test_odd_offsets),
	    CASE(test_bad_arguments),
	    CASE(test_line_ends),
	    CASE(test_encodings),
	    CASE(test_binary),
	    CASE(test_missing),
	    CASE(test_not_regular),
	    CASE(test_credentials),
	    CASE(test_long_lines),
	    CASE(test_size_limit),
	    CASE(test_sparse),
	    CASE(test_slices),
	    CASE(test_proc),
	    CASE(test_stamps),
	    cmocka_unit_test(test_stamp_limit),
	    CASE(test_text_file),
	    cmocka_unit_test(test_endings),
	    cmocka_unit_test(test_fences),
	    CASE(test_run_ends_once),
	    CASE(test_titles),
	    cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
