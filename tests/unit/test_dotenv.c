/*
 * The reader and the editor of .env. They must agree with python-dotenv on every file that
 * it accepts.
 */
#include <config.h>

#include "worker/config/dotenv.h"
#include "worker/config/dotenv_edit.h"

#include "tests/unit/config_home.h"

static int
make_home(void **state)
{
	struct config_home *home = xcalloc(1, sizeof *home);

	config_home_init(home, scratch_new());
	*state = home;
	return 0;
}

static int
remove_home(void **state)
{
	static const char *const names[] = {".env.lock", ".env", NULL};
	struct config_home *home = *state;

	scratch_remove_only(home->folder, names);
	config_home_clear(home);
	free(home);
	return 0;
}

/* The value of `name` in `text`, "(none)" when it has none. */
static void
expect(const char *text, const char *name, const char *value)
{
	struct dotenv dotenv;
	const struct dotenv_entry *entry;

	dotenv_parse(&dotenv, text, "file", NULL);
	entry = dotenv_find(&dotenv, name);
	assert_string_equal(
	    entry != NULL && entry->value != NULL ? entry->value : "(none)", value);
	dotenv_clear(&dotenv);
}

static void
test_values(void **state)
{
	(void)state;
	expect("A=1\nB=2", "B", "2");
	expect("A=1\nA=2", "A", "2");
	expect("export A=b # c", "A", "b");
	expect("A=x#c", "A", "x#c");
	expect("A= spaced out  ", "A", "spaced out");
	expect("A='x # y' # c", "A", "x # y");
	expect("A=\"a\\nb\\\"q\\\\\"", "A", "a\nb\"q\\");
	expect("A='a\\'b\\n'", "A", "a'b\\n");
	expect("A=\"two\nlines\"\nB=2", "A", "two\nlines");
	expect("A=\r\nB=2\r\n", "B", "2");
	expect("A", "A", "(none)");
	expect("  # c\n\n  A\t=\t1", "A", "1");
	expect("", "A", "(none)");
}

static void
test_interpolation(void **state)
{
	(void)state;
	setenv("TEST_DOTENV_OUTER", "outer", 1);
	expect("A=1\nB=${A}x${TEST_DOTENV_OUTER}", "B", "1xouter");
	expect("B=${TEST_DOTENV_NONE:-other}${TEST_DOTENV_NONE}", "B", "other");
	expect("TEST_DOTENV_OUTER=in\nB=${TEST_DOTENV_OUTER}", "B", "in");
	expect("B=$HOME ${", "B", "$HOME ${");
	unsetenv("TEST_DOTENV_OUTER");
}

static void
test_a_bad_line_hides_no_other(void **state)
{
	struct problems problems = {BUFFER_EMPTY, 0};
	struct dotenv dotenv;

	(void)state;
	dotenv_parse(&dotenv, "A=1\nthis is wrong\nB=\"open\nC=3\n=x\n", "file", &problems);
	assert_int_equal(dotenv.count, 2);
	assert_string_equal(dotenv_find(&dotenv, "C")->value, "3");
	assert_int_equal(dotenv_find(&dotenv, "C")->line, 4);
	assert_int_equal(problems.count, 3);
	assert_non_null(strstr(problems.text.data, "file line 2: this is not NAME=value\n"));
	assert_non_null(strstr(problems.text.data, "file line 3: a quote is not closed\n"));
	assert_non_null(strstr(problems.text.data, "file line 5: there is no name"));
	dotenv_clear(&dotenv);
	problems_clear(&problems);
}

static void
test_keys_are_ascii(void **state)
{
	struct problems problems = {BUFFER_EMPTY, 0};
	struct dotenv dotenv;

	(void)state;
	dotenv_parse(&dotenv, "X_API_KEY=sk\xe2\x80\x91one\nNAME=\xc3\xa9", "file", &problems);
	assert_string_equal(dotenv_find(&dotenv, "X_API_KEY")->value, "skone");
	assert_string_equal(dotenv_find(&dotenv, "NAME")->value, "\xc3\xa9");
	assert_int_equal(problems.count, 1);
	assert_null(strstr(problems.text.data, "skone"));
	dotenv_clear(&dotenv);
	problems_clear(&problems);
}

static void
expect_decoded(const char *bytes, size_t length, const char *text)
{
	const char *reason;
	char *decoded = dotenv_decode(bytes, length, &reason);

	assert_non_null(decoded);
	assert_string_equal(decoded, text);
	free(decoded);
}

static void
test_encodings(void **state)
{
	const char *reason;

	(void)state;
	expect_decoded("\xef\xbb\xbf"
		       "A=1",
	    6, "A=1");
	expect_decoded("A=\xe9", 3, "A=\xc3\xa9");
	expect_decoded("A=\0"
		       "1",
	    4, "A=1");
	expect_decoded("\xff\xfe"
		       "A\0=\0\xe9\0",
	    8, "A=\xc3\xa9");
	expect_decoded("\xfe\xff\0A\0=\xd8\x3d\xde\x00", 10, "A=\xf0\x9f\x98\x80");
	expect_decoded("", 0, "");
	assert_null(dotenv_decode("\xff\xfe\0\0A\0\0\0", 8, &reason));
	assert_non_null(strstr(reason, "UTF-32"));
}

static void
test_set(void **state)
{
	struct config_home *home = *state;
	struct buffer error = BUFFER_EMPTY;

	assert_int_equal(dotenv_edit_set(home->folder, "A_KEY", "one", &error), 0);
	config_home_holds(home->dotenv, "A_KEY=one\n");
	scratch_put_text(home->dotenv, "# mine\nA=1 # why\nexport B='x'\nC=3");
	assert_int_equal(dotenv_edit_set(home->folder, "B", "new", &error), 0);
	config_home_holds(home->dotenv, "# mine\nA=1 # why\nexport B=new\nC=3");
	assert_int_equal(dotenv_edit_set(home->folder, "D", "it's # \\ \"all\"", &error), 0);
	config_home_holds(
	    home->dotenv, "# mine\nA=1 # why\nexport B=new\nC=3\nD='it\\'s # \\\\ \"all\"'\n");
	expect("D='it\\'s # \\\\ \"all\"'\n", "D", "it's # \\ \"all\"");
	scratch_put_text(home->dotenv, "A=1\r\n");
	assert_int_equal(dotenv_edit_set(home->folder, "B", "2", &error), 0);
	config_home_holds(home->dotenv, "A=1\r\nB=2\r\n");
	assert_int_equal(error.length, 0);
}

static void
test_set_refuses(void **state)
{
	struct config_home *home = *state;
	struct buffer error = BUFFER_EMPTY;

	scratch_put_text(home->dotenv, "A=1\n");
	assert_int_equal(dotenv_edit_set(home->folder, "B C", "x", &error), -1);
	assert_int_equal(dotenv_edit_set(home->folder, "B", "two\nlines", &error), -1);
	assert_int_equal(dotenv_edit_set(home->folder, "B", "secret${A}", &error), -1);
	assert_null(strstr(error.data, "secret"));
	scratch_put_text(home->dotenv, "A=\xff\n");
	assert_int_equal(dotenv_edit_set(home->folder, "B", "x", &error), -1);
	assert_non_null(strstr(error.data, "is not UTF-8"));
	buffer_free(&error);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_interpolation),
	    cmocka_unit_test(test_a_bad_line_hides_no_other),
	    cmocka_unit_test(test_keys_are_ascii),
	    cmocka_unit_test(test_encodings),
	    cmocka_unit_test_setup_teardown(test_set, make_home, remove_home),
	    cmocka_unit_test_setup_teardown(test_set_refuses, make_home, remove_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
