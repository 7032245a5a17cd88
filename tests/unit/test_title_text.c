/*
 * Titles in a model's answers, and what it is asked.
 */
#include <config.h>

#include "worker/agent/title_text.h"
#include "common/alloc.h"
#include "common/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEN "0123456789"
#define SEVENTY TEN TEN TEN TEN TEN TEN TEN

static const struct {
	const char *answer, *title; /* NULL = none */
} rows[] = {
    {"Fix the parser", "Fix the parser"},
    {"  Fix the parser.\n", "Fix the parser"},
    {"\n\n\"Fix the parser\"\nThis title says what", "Fix the parser"},
    {"**Fix the parser**", "Fix the parser"},
    {"# Title: `Fix` the parser!", "Fix` the parser"},
    {"Title:Fix the parser", "Fix the parser"},
    {"\xe2\x80\x9e"
     "Z\xc3\xa4hler\xe2\x80\x9c",
	"Z\xc3\xa4hler"},
    {"Fix\t the \x1b[31mparser\r", "Fix the [31mparser"},
    {"What is this?", "What is this?"},
    {"{\"title\": \"Fix the parser.\"}", "Fix the parser"},
    {"```json\n{\"title\":\"Fix\\nthe parser\"}\n```", "Fix"},
    {"{\"name\": 7}", "{\"name\": 7}"},
    {"a b c d e f g h i j k l", "a b c d e f g h i j k l"},
    {"a b c d e f g h i j k l m", NULL},
    {SEVENTY TEN, SEVENTY TEN},
    {SEVENTY TEN "x", SEVENTY "0123456..."},
    {"", NULL},
    {" \n\t\n", NULL},
    {"\"...\"", NULL},
    {"\xe3\x83\x91\xe3\x83\xbc\xe3\x82\xb5\xe3\x80\x82",
	"\xe3\x83\x91\xe3\x83\xbc\xe3\x82\xb5"},
};

static void
test_clean(void **state)
{
	char *title;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		title = title_text_clean(rows[i].answer, strlen(rows[i].answer));
		if (rows[i].title == NULL)
			assert_null(title);
		else
			assert_string_equal(title, rows[i].title);
		free(title);
	}
}

/* The first 1000 characters, not bytes, and what the user wishes. */
static void
test_messages(void **state)
{
	struct json_object *messages;
	struct buffer prompt = BUFFER_EMPTY;
	const char *text;
	size_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		buffer_append_text(&prompt, "\xc3\xa4");
	buffer_append_text(&prompt, "OVER");
	messages = title_text_messages(buffer_text(&prompt), "Finnish", "Be brief.");
	assert_int_equal(json_object_array_length(messages), 2);
	text = json_member_string(json_object_array_get_idx(messages, 0), "content");
	assert_non_null(strstr(text, "Finnish"));
	assert_non_null(strstr(text, "Be brief."));
	text = json_member_string(json_object_array_get_idx(messages, 1), "content");
	assert_non_null(strstr(text, "\xc3\xa4\n</message>"));
	assert_null(strstr(text, "OVER"));
	json_object_put(messages);
	messages = title_text_messages("hello", "", "");
	text = json_member_string(json_object_array_get_idx(messages, 0), "content");
	assert_null(strstr(text, "Write it"));
	json_object_put(messages);
	buffer_free(&prompt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_clean),
	    cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
