/*
 * The reader and the editor of .env. They must agree with python-dotenv on every file that
 * it accepts.
 */
#include <config.h>

#include "worker/config/dotenv.h"
#include "worker/config/dotenv_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct home {
	char path[64];
	char file[80];
};

static int
make_home(void **state)
{
	struct home *home = calloc(1, sizeof *home);

	strcpy(home->path, "/tmp/test-dotenv-XXXXXX");
	if (mkdtemp(home->path) == NULL)
		return -1;
	snprintf(home->file, sizeof home->file, "%s/.env", home->path);
	*state = home;
	return 0;
}

static int
remove_home(void **state)
{
	struct home *home = *state;
	char lock[96];

	snprintf(lock, sizeof lock, "%s/.env.lock", home->path);
	unlink(lock);
	unlink(home->file);
	assert_int_equal(rmdir(home->path), 0);
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
put(const struct home *home, const char *text)
{
	FILE *file = fopen(home->file, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void
expect_file(const struct home *home, const char *text)
{
	char bytes[512] = "";
	struct stat status;
	FILE *file = fopen(home->file, "r");

	assert_non_null(file);
	bytes[fread(bytes, 1, sizeof bytes - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(bytes, text);
	assert_int_equal(stat(home->file, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void
test_set(void **state)
{
	struct home *home = *state;
	struct buffer error = BUFFER_EMPTY;

	assert_int_equal(dotenv_edit_set(home->path, "A_KEY", "one", &error), 0);
	expect_file(home, "A_KEY=one\n");
	put(home, "# mine\nA=1 # why\nexport B='x'\nC=3");
	assert_int_equal(dotenv_edit_set(home->path, "B", "new", &error), 0);
	expect_file(home, "# mine\nA=1 # why\nexport B=new\nC=3");
	assert_int_equal(dotenv_edit_set(home->path, "D", "it's # \\ \"all\"", &error), 0);
	expect_file(home, "# mine\nA=1 # why\nexport B=new\nC=3\nD='it\\'s # \\\\ \"all\"'\n");
	expect("D='it\\'s # \\\\ \"all\"'\n", "D", "it's # \\ \"all\"");
	put(home, "A=1\r\n");
	assert_int_equal(dotenv_edit_set(home->path, "B", "2", &error), 0);
	expect_file(home, "A=1\r\nB=2\r\n");
	assert_int_equal(error.length, 0);
}

static void
test_set_refuses(void **state)
{
	struct home *home = *state;
	struct buffer error = BUFFER_EMPTY;

	put(home, "A=1\n");
	assert_int_equal(dotenv_edit_set(home->path, "B C", "x", &error), -1);
	assert_int_equal(dotenv_edit_set(home->path, "B", "two\nlines", &error), -1);
	assert_int_equal(dotenv_edit_set(home->path, "B", "secret${A}", &error), -1);
	assert_null(strstr(error.data, "secret"));
	put(home, "A=\xff\n");
	assert_int_equal(dotenv_edit_set(home->path, "B", "x", &error), -1);
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
