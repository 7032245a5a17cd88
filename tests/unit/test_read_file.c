/*
 * read_file: pages, arguments, what is missing or must be refused, and what it notes about
 * files that have been read.
 */
#include <config.h>

#include "tests/unit/read_fixture.h"

#include <sys/socket.h>
#include <sys/un.h>

static void
test_pages(void **state)
{
	struct tool_fixture *fixture = *state;

	PUT(fixture, "a.txt", "one\ntwo\nthree\nfour");
	reads(fixture, "{\"path\":\"a.txt\"}", "1|one\n2|two\n3|three\n4|four");
	assert_int_equal(number_of(fixture, "total_lines"), 4);
	assert_int_equal(number_of(fixture, "file_size"), 18);
	assert_false(json_member_boolean(fixture->result, "truncated", true));
	assert_string_equal(hint_of(fixture), "");
	assert_string_equal(fixture->run->card.title, "Read a.txt");
	assert_int_equal(fixture->run->card.location_count, 1);
	assert_int_equal(fixture->run->card.locations[0].line, 1);
	assert_non_null(strstr(fixture->run->shown.items[0].text, "```\none\ntwo\n"));

	reads(fixture, "{\"path\":\"./a.txt\",\"offset\":2,\"limit\":2}", "2|two\n3|three");
	assert_true(json_member_boolean(fixture->result, "truncated", false));
	assert_non_null(strstr(hint_of(fixture), "offset=4"));
	assert_int_equal(fixture->run->card.locations[0].line, 2);

	reads(fixture, "{\"path\":\"a.txt\",\"offset\":\"4\",\"limit\":1000000000}", "4|four");
	assert_false(json_member_boolean(fixture->result, "truncated", true));
}

static void
test_odd_offsets(void **state)
{
	struct tool_fixture *fixture = *state;

	PUT(fixture, "a.txt", "one\ntwo\n");
	PUT(fixture, "empty", "");
	PUT(fixture, "newline", "\n");
	reads(fixture, "{\"path\":\"a.txt\",\"offset\":9}", "");
	assert_non_null(strstr(hint_of(fixture), "2 lines"));
	reads(fixture, "{\"path\":\"a.txt\",\"offset\":0}", "1|one\n2|two");
	refuses(fixture, "{\"path\":\"a.txt\",\"offset\":-1}", "2 lines");
	refuses(fixture, "{\"path\":\"a.txt\",\"limit\":0}", "limit");
	refuses(fixture, "{\"path\":\"a.txt\",\"offset\":\"x\"}", "offset");
	reads(fixture, "{\"path\":\"empty\"}", "");
	assert_int_equal(number_of(fixture, "total_lines"), 0);
	reads(fixture, "{\"path\":\"newline\"}", "1|");
	assert_int_equal(number_of(fixture, "total_lines"), 1);
}

static void
test_bad_arguments(void **state)
{
	struct tool_fixture *fixture = *state;

	refuses(fixture, "{}", "\"path\" is missing");
	refuses(fixture, "{\"path\":7}", "must be a string");
	refuses(fixture, "{\"path\":\"\"}", "empty");
	refuses(fixture, "{\"path\":\"a\\u0000b\"}", "NUL");
	refuses(fixture, "[]", "object");
}

static void
test_missing(void **state)
{
	struct tool_fixture *fixture = *state;
	struct json_object *similar;

	PUT(fixture, "main.c", "");
	PUT(fixture, "Makefile", "");
	PUT(fixture, "other", "");
	refuses(fixture, "{\"path\":\"mian.c\"}", "File not found: mian.c");
	similar = json_member_array(fixture->result, "similar_files");
	assert_int_equal(json_object_array_length(similar), 1);
	assert_string_equal(
	    json_object_get_string(json_object_array_get_idx(similar, 0)), "main.c");
	refuses(fixture, "{\"path\":\"main.c/x\"}", "File not found");
	refuses(fixture, "{\"path\":\"no/folder/x\"}", "File not found");
}

static void
test_not_regular(void **state)
{
	struct tool_fixture *fixture = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char *fifo = tool_fixture_path(fixture, "fifo");
	char *name = tool_fixture_path(fixture, "socket");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(mkfifo(fifo, 0600), 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	refuses(fixture, "{\"path\":\"fifo\"}", "named pipe");
	refuses(fixture, "{\"path\":\"socket\"}", "socket");
	refuses(fixture, "{\"path\":\".\"}", "folder");
	refuses(fixture, "{\"path\":\"/dev/zero\"}", "never read");
	refuses(fixture, "{\"path\":\"/dev/null\"}", "device");
	refuses(fixture, "{\"path\":\"/dev/stdin\"}", "");
	close(fd);
	free(fifo);
	free(name);
}

static void
test_credentials(void **state)
{
	struct tool_fixture *fixture = *state;

	PUT(fixture, ".env", "KEY=value\n");
	PUT(fixture, "id_rsa", "secret\n");
	tool_fixture_link(fixture, ".env", "link");
	refuses(fixture, "{\"path\":\".env\"}", "never read");
	refuses(fixture, "{\"path\":\"link\"}", "never read");
	tool_fixture_prepare(fixture, &tool_read_file, parsed_json("{\"path\":\"id_rsa\"}"));
	assert_int_equal(fixture->run->permission.verdict, TOOL_ASK);
	assert_non_null(fixture->run->permission.question);
	grants_add(fixture->context.grants, fixture->run->permission.grant);
	tool_fixture_prepare(fixture, &tool_read_file, parsed_json("{\"path\":\"id_rsa\"}"));
	assert_int_equal(fixture->run->permission.verdict, TOOL_ALLOWED);
}

static void
test_stamps(void **state)
{
	struct tool_fixture *fixture = *state;
	struct file_stamps *stamps = fixture->context.stamps;
	char *path = tool_fixture_path(fixture, "a");
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TOOL_CASE(test_pages),
	    TOOL_CASE(test_odd_offsets),
	    TOOL_CASE(test_bad_arguments),
	    TOOL_CASE(test_missing),
	    TOOL_CASE(test_not_regular),
	    TOOL_CASE(test_credentials),
	    TOOL_CASE(test_stamps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
