/*
 * file: URIs as clients write them, against files of a private folder.
 */
#include <config.h>

#include "worker/agent/file_uri.h"

#include "tests/unit/scratch.h"

static char *folder;
static const char *const names[] = {
    "plain.c", "with space.c", "per%cent.c", "a#L5", "100%25.c", "\xc3\xa9.c", NULL};

static void
path_of(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", folder, name);
}

static int
set_up(void **state)
{
	char path[256];
	size_t i;

	(void)state;
	folder = scratch_new();
	for (i = 0; names[i] != NULL; i++) {
		path_of(path, sizeof path, names[i]);
		scratch_put_text(path, "");
	}
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	scratch_remove_only(folder, names);
	return 0;
}

/* "@" stands for the folder. */
static char *
expand(const char *text)
{
	struct buffer out = BUFFER_EMPTY;

	for (; *text != '\0'; text++)
		if (*text == '@')
			buffer_append_text(&out, folder);
		else
			buffer_append_byte(&out, *text);
	return buffer_take(&out);
}

static const struct {
	const char *uri, *path; /* NULL = refused */
	size_t first, last;
} rows[] = {
    {"file://@/plain.c", "@/plain.c", 0, 0},
    {"FILE://@/plain.c", "@/plain.c", 0, 0},
    {"file://localhost@/plain.c", "@/plain.c", 0, 0},
    {"file:@/plain.c", "@/plain.c", 0, 0},
    {"@/plain.c", "@/plain.c", 0, 0},
    {"plain.c", "@/plain.c", 0, 0},
    {"./plain.c", "@/./plain.c", 0, 0},
    {"file://@/with%20space.c", "@/with space.c", 0, 0},
    {"file://@/with space.c", "@/with space.c", 0, 0},
    {"file://@/per%cent.c", "@/per%cent.c", 0, 0},
    {"file://@/per%25cent.c", "@/per%cent.c", 0, 0},
    {"file://@/100%25.c", "@/100%25.c", 0, 0}, /* as it stands it is there */
    {"file://@/%C3%A9.c", "@/\xc3\xa9.c", 0, 0},
    {"file://@/a#L5", "@/a#L5", 0, 0}, /* a file of that name */
    {"file://@/a%23L5", "@/a#L5", 0, 0},
    {"file://@/plain.c#L10", "@/plain.c", 10, 10},
    {"file://@/plain.c#L10-20", "@/plain.c", 10, 20},
    {"file://@/plain.c#L10:20", "@/plain.c", 10, 20},
    {"file://@/plain.c#L10-L20", "@/plain.c", 10, 20},
    {"file://@/plain.c#L20-10", "@/plain.c", 0, 0},
    {"file://@/plain.c#L0", "@/plain.c", 0, 0},
    {"file://@/plain.c#heading", "@/plain.c", 0, 0},
    {"file://@/plain.c#", "@/plain.c", 0, 0},
    {"file://@/plain.c#L99999999999999999999999", "@/plain.c", (size_t)-1, (size_t)-1},
    {"file://@/with%20space.c#L3", "@/with space.c", 3, 3},
    {"file://@/none%20here.c", "@/none here.c", 0, 0},
    {"file://@/none%00here", "@/none%00here", 0, 0},
    {"file://@/none%4", "@/none%4", 0, 0},
    {"file://@/none%zz%", "@/none%zz%", 0, 0},
    {"file://other.host/x", NULL, 0, 0},
    {"file://", NULL, 0, 0},
    {"file:", NULL, 0, 0},
    {"", NULL, 0, 0},
    {"http://example.com/x", NULL, 0, 0},
    {"zed:///agent/x", NULL, 0, 0},
    {"data:text/plain,x", NULL, 0, 0},
};

static void
test_parse(void **state)
{
	struct file_uri uri;
	char *text, *path;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		text = expand(rows[i].uri);
		if (file_uri_parse(text, folder, &uri) != (rows[i].path != NULL))
			fail_msg("%s", text);
		if (rows[i].path != NULL) {
			path = expand(rows[i].path);
			assert_string_equal(uri.path, path);
			assert_int_equal(uri.first_line, rows[i].first);
			assert_int_equal(uri.last_line, rows[i].last);
			free(path);
		}
		file_uri_clear(&uri);
		assert_null(uri.path);
		free(text);
	}
}

static void
test_lines(void **state)
{
	static const struct {
		const char *text;
		size_t first, last;
		const char *out;
	} lines[] = {
	    {"a\nb\nc\n", 2, 2, "2|b\n"},
	    {"a\nb\nc\n", 1, 3, "1|a\n2|b\n3|c\n"},
	    {"a\nb\nc", 3, 9, "3|c\n"},
	    {"a\nb\nc\n", 4, 5, "[The file has only 3 lines.]"},
	    {"a\nb\nc\n", 9, 9, "[The file has only 3 lines.]"},
	    {"\n\n", 1, 2, "1|\n2|\n"},
	    {"", 1, 1, "[The file has only 0 lines.]"},
	};
	struct file_uri uri = {0};
	struct buffer out = BUFFER_EMPTY;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		buffer_clear(&out);
		uri.first_line = lines[i].first;
		uri.last_line = lines[i].last;
		file_uri_append_lines(&uri, lines[i].text, strlen(lines[i].text), &out);
		assert_string_equal(buffer_text(&out), lines[i].out);
	}
	buffer_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parse),
	    cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
