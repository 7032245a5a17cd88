/*
 * Content blocks become the model's message: in their order, none lost, and what cannot be
 * used is named.
 */
#include <config.h>

#include "worker/agent/prompt_content.h"
#include "worker/agent/prompt_file.h"

#include "tests/unit/scratch.h"

static char *folder;

static void
write_file(const char *name, const char *bytes, size_t length)
{
	char *path = xasprintf("%s/%s", folder, name);

	scratch_put(path, bytes, length);
	free(path);
}

static int
set_up(void **state)
{
	char path[256];

	(void)state;
	folder = scratch_new();
	write_file("a.txt", "one\ntwo\nthree\n", 14);
	write_file("a.png", "\x89PNG\r\n\x1a\n\0", 9);
	write_file("binary", "a\0b\0\0\0\xff", 7);
	write_file("latin", "caf\xe9\n", 5);
	snprintf(path, sizeof path, "%s/sub", folder);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/pipe.txt", folder);
	return mkfifo(path, 0600);
}

static int
tear_down(void **state)
{
	static const char *const names[] = {
	    "a.txt", "a.png", "binary", "latin", "pipe.txt", "big.txt", "sub", NULL};

	(void)state;
	scratch_remove_only(folder, names);
	return 0;
}

/* The content as JSON text; NULL when refused, with the reason in `error`. */
static char *
build(const char *blocks, struct buffer *error)
{
	struct json_object *list, *content;
	const char *reason;
	char *text = NULL;

	buffer_clear(error);
	list = json_parse(blocks, strlen(blocks), &reason);
	assert_null(reason);
	content = prompt_content_build(list, folder, error);
	if (content != NULL)
		text = strdup(json_text(content, NULL));
	json_object_put(content);
	json_object_put(list);
	return text;
}

#define T(text) "{\"type\":\"text\",\"text\":\"" text "\"}"

static void
test_text(void **state)
{
	static const struct {
		const char *blocks, *content;
	} rows[] = {
	    {"[" T("a") "]", "\"a\""},
	    {"[" T("a") "," T("b") "]", "\"a\\nb\""},
	    {"[" T("") "," T("a") "]", "\"a\""},
	    {"[" T("a\\u0000b\\ud800") "]", "\"a\\u0000b\xef\xbf\xbd\""},
	    {"[" T("x") ",{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}," T(
		 "y") "]",
		"[{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"image_url\",\"image_url\":{"
		"\"url\":"
		"\"data:image/png;base64,AAAA\"}},{\"type\":\"text\",\"text\":\"y\"}]"},
	    {"[{\"type\":\"image\",\"data\":\"data:image/gif;base64,AA==\",\"mimeType\":"
	     "\"image/gif\"}]",
		"[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
		"gif;base64,AA==\"}}]"},
	    {"[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///x/"
	     "n.c\",\"text\":\"body\"}}]",
		"\"[Attached file: n.c]\\nURI: file:///x/n.c\\nbody\""},
	    {"[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:n\",\"blob\":\"aGk=\"}}]",
		"\"[Attached file: x:n]\\nURI: x:n\\nhi\""},
	    {"[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:n\",\"blob\":\"AAA=\"}}]",
		"\"[Attached file: x:n]\\nURI: x:n\\n[Not included: it is binary]\""},
	    {"[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:n\",\"blob\":\"%%\"}}]",
		"\"[Attached file: x:n]\\nURI: x:n\\n[Not included: its data is not base64]\""},
	    {"[{\"type\":\"resource_link\",\"uri\":\"https://e.org/x\",\"name\":\"x\"}]",
		"\"[Attached link: x]\\nURI: https://e.org/x\\n[Not included: only files of "
		"this "
		"machine are read]\""},
	};
	struct buffer error = BUFFER_EMPTY;
	char *text;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		text = build(rows[i].blocks, &error);
		if (text == NULL)
			fail_msg("%s: %s", rows[i].blocks, buffer_text(&error));
		assert_string_equal(text, rows[i].content);
		free(text);
	}
	buffer_free(&error);
}

static void
test_refused(void **state)
{
	static const char *const rows[][2] = {
	    {"[" T("") "]", "no text in it"},
	    {"[]", "prompt must be an array with at least one block"},
	    {"{}", "prompt must be an array with at least one block"},
	    {"null", "prompt must be an array with at least one block"},
	    {"[1]", "has no type"},
	    {"[null]", "has no type"},
	    {"[{}]", "has no type"},
	    {"[{\"type\":5}]", "has no type"},
	    {"[{\"type\":\"audio\",\"data\":\"AAAA\"}]", "not supported: audio"},
	    {"[{\"type\":\"text\"}]", "text is missing"},
	    {"[{\"type\":\"text\",\"text\":5}]", "text is missing"},
	    {"[{\"type\":\"image\"}]", "it is empty"},
	    {"[{\"type\":\"image\",\"data\":\"A\",\"mimeType\":\"image/png\"}]", "not base64"},
	    {"[{\"type\":\"image\",\"data\":\"AAA=AAA=\",\"mimeType\":\"image/png\"}]",
		"not base64"},
	    {"[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"text/html\"}]", "mimeType"},
	    {"[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png;base64,x\"}]",
		"mimeType"},
	    {"[{\"type\":\"resource_link\"}]", "uri is missing"},
	    {"[{\"type\":\"resource\"}]", "resource.uri is missing"},
	    {"[{\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\"}}]",
		"neither text nor blob"},
	    {"[" T("good") ",{\"type\":\"video\"}]", "not supported: video"},
	};
	struct buffer error = BUFFER_EMPTY;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_null(build(rows[i][0], &error));
		if (strstr(buffer_text(&error), rows[i][1]) == NULL)
			fail_msg("%s gave \"%s\"", rows[i][0], buffer_text(&error));
	}
	buffer_free(&error);
}

static void
expect_link(const char *name, const char *part)
{
	struct buffer error = BUFFER_EMPTY;
	char blocks[400], *text;

	snprintf(blocks, sizeof blocks,
	    "[{\"type\":\"resource_link\",\"uri\":\"file://%s/%s\",\"name\":\"shown\"}]",
	    folder, name);
	text = build(blocks, &error);
	assert_non_null(text);
	assert_non_null(strstr(text, "shown"));
	if (strstr(text, part) == NULL)
		fail_msg("%s: %s has no %s", name, text, part);
	free(text);
	buffer_free(&error);
}

static void
test_links(void **state)
{
	char *big = malloc(PROMPT_FILE_MAX + 100);

	(void)state;
	expect_link("a.txt", "one\\ntwo\\nthree\\n");
	expect_link("a.txt#L2", "2|two\\n");
	expect_link("a.txt#L9", "has only 3 lines");
	expect_link("none.txt", "[Not included: ");
	expect_link("sub", "[Not included: ");
	expect_link("pipe.txt", "[Not included: "); /* and it does not wait for a writer */
	expect_link("binary", "[Not included: ");
	expect_link("a.png", "data:image/png;base64,iVBORw0KGgoA");
	expect_link("latin", "caf");
	assert_non_null(big);
	memset(big, 'x', PROMPT_FILE_MAX + 100);
	memcpy(big + PROMPT_FILE_MAX - 1, "\xc3\xa9", 2);
	write_file("big.txt", big, PROMPT_FILE_MAX + 100);
	expect_link("big.txt", "[Cut here: the file has 524388 bytes.]");
	free(big);
}

static void
test_first_text(void **state)
{
	static const char *const rows[][2] = {
	    {"[" T("/help") "]", "/help"},
	    {"[" T("/help") "," T("x") "]", "/help"},
	    {"[{\"type\":\"image\",\"text\":\"/help\"}]", NULL},
	    {"[{\"text\":\"/help\"}]", NULL},
	    {"[]", NULL},
	    {"{}", NULL},
	    {"[1]", NULL},
	};
	struct json_object *blocks;
	const char *reason, *text;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		blocks = json_parse(rows[i][0], strlen(rows[i][0]), &reason);
		text = prompt_content_first_text(blocks);
		if (rows[i][1] == NULL)
			assert_null(text);
		else
			assert_string_equal(text, rows[i][1]);
		json_object_put(blocks);
	}
	assert_null(prompt_content_first_text(NULL));
}

static void
test_base64(void **state)
{
	static const char *const good[] = {"AA==", "AAA=", "AAAA", "AAA", "AA", "+/09azAZ"};
	static const char *const bad[] = {
	    "", "A", "AAAAA", "A===", "=", "AA=A", "A A=", "AA\n=", "_-AA", "AAAA===="};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof good / sizeof good[0]; i++)
		assert_null(prompt_file_base64_fault(good[i]));
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (prompt_file_base64_fault(bad[i]) == NULL)
			fail_msg("%s", bad[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_links),
	    cmocka_unit_test(test_first_text),
	    cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
