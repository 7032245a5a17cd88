/*
 * The editor of config.yaml: one value changes, every other byte stays, and what cannot be
 * changed safely is refused with the file as it was.
 */
#include <config.h>

#include "worker/config/config_edit.h"

#include "tests/unit/scratch.h"

#include <sys/file.h>

struct home {
	char *path, *file, *lock;
	struct buffer error;
};

static int
make_home(void **state)
{
	struct home *home = xcalloc(1, sizeof *home);

	home->path = scratch_new();
	home->file = xasprintf("%s/config.yaml", home->path);
	home->lock = xasprintf("%s/config.yaml.lock", home->path);
	*state = home;
	return 0;
}

static int
remove_home(void **state)
{
	static const char *const names[] = {"config.yaml.lock", "config.yaml", NULL};
	struct home *home = *state;

	scratch_remove_only(home->path, names);
	buffer_free(&home->error);
	free(home->lock);
	free(home->file);
	free(home);
	return 0;
}

static int
edit_value(const char *home, const char *section, const char *key, const char *value,
    struct buffer *error)
{
	struct yaml_edit edit = {.section = section, .key = key, .value = value};

	return config_edit_apply(home, &edit, 1, error);
}

static void
set(struct home *home, const char *before, const char *key, const char *value,
    const char *after)
{
	if (before != NULL)
		scratch_put_text(home->file, before);
	assert_int_equal(edit_value(home->path, "model", key, value, &home->error), 0);
	assert_string_equal(buffer_text(&home->error), "");
	scratch_holds(home->file, after);
}

static void
test_set(void **state)
{
	struct home *home = *state;

	set(home, NULL, "default", "a/b:free", "model:\n  default: a/b:free\n");
	assert_int_equal(scratch_mode(home->file) & 0777, 0600);
	set(home, "# top\nmodel:\n  # inner\n  default: old # why\n  x: 1\nend: [1,   2]\n",
	    "default", "new",
	    "# top\nmodel:\n  # inner\n  default: new # why\n  x: 1\nend: [1,   2]\n");
	set(home, "model: # c\n    default: a\nz: 1", "provider", "yes",
	    "model: # c\n    provider: \"yes\"\n    default: a\nz: 1");
	set(home, "model: gpt 5 # mine\n", "provider", "zai",
	    "model:\n  default: gpt 5\n  provider: zai # mine\n");
	set(home, "model: gpt-5\n", "default", "gpt-6", "model:\n  default: gpt-6\n");
	set(home, "model:\nz: 1\n", "default", "m", "model:\n  default: m\nz: 1\n");
	set(home, "model: {default: a, x: 1}\n", "default", "b", "model: {default: b, x: 1}\n");
	set(home, "model: {}\n", "default", "b", "model: {default: b}\n");
	set(home, "model:\n  default:\n  x: ''\n", "default", "m",
	    "model:\n  default: m\n  x: ''\n");
	set(home, "a: 1\r\nmodel:\r\n  default: x\r\n", "provider", "p",
	    "a: 1\r\nmodel:\r\n  provider: p\r\n  default: x\r\n");
	set(home, "a: 1", "base_url", "http://127.0.0.1:1/v1",
	    "a: 1\nmodel:\n  base_url: http://127.0.0.1:1/v1\n");
	set(home, "\xef\xbb\xbf# \xc3\xa9\nmodel:\n  default: \xc3\xa9 # \xc3\xa9\n", "default",
	    "x", "\xef\xbb\xbf# \xc3\xa9\nmodel:\n  default: x # \xc3\xa9\n");
	set(home, "model:\n  default: x\n", "default", "x", "model:\n  default: x\n");
}

static void
test_set_refuses(void **state)
{
	static const char *const texts[] = {"model: [a]\n", "model:\n  default: |\n    a\n",
	    "model: &m\n  default: a\nother: *m\n", "a: b: c\n", "- a\n", "{a: 1}\n",
	    "a: |\n  text"};
	struct home *home = *state;
	size_t i;

	for (i = 0; i < sizeof texts / sizeof *texts; i++) {
		scratch_put_text(home->file, texts[i]);
		buffer_clear(&home->error);
		assert_int_equal(
		    edit_value(home->path, "model", "default", "new", &home->error), -1);
		assert_non_null(strstr(buffer_text(&home->error), home->file));
		scratch_holds(home->file, texts[i]);
	}
	scratch_put_text(home->file, "a: b: c\n");
	edit_value(home->path, "model", "default", "new", &home->error);
	assert_non_null(
	    strstr(buffer_text(&home->error), "config.yaml line 1: mapping values"));
	scratch_put_text(home->file, "a: 1\n");
	assert_int_equal(
	    edit_value(home->path, "model", "default", "two\nlines", &home->error), -1);
}

static void
test_remove(void **state)
{
	const struct yaml_edit edit = {"model", "api_key", NULL};
	struct home *home = *state;

	scratch_put_text(home->file, "model:\n  default: a\n  api_key: old # c\n  # d\nz: 1\n");
	assert_int_equal(config_edit_apply(home->path, &edit, 1, &home->error), 0);
	scratch_holds(home->file, "model:\n  default: a\n  # d\nz: 1\n");
	scratch_put_text(home->file, "model: {default: a, api_key: old}\n");
	assert_int_equal(config_edit_apply(home->path, &edit, 1, &home->error), 0);
	scratch_holds(home->file, "model: {default: a, api_key: \"\"}\n");
}

static void
append(struct home *home, const char *before, const char *after)
{
	scratch_put_text(home->file, before);
	assert_int_equal(config_edit_append(
			     home->path, "command_allowlist", "recursive delete", &home->error),
	    0);
	scratch_holds(home->file, after);
}

static void
test_append(void **state)
{
	struct home *home = *state;

	append(home, "", "command_allowlist:\n  - \"recursive delete\"\n");
	append(home, "command_allowlist: []\n", "command_allowlist: [\"recursive delete\"]\n");
	append(home, "command_allowlist: [a, b]\n",
	    "command_allowlist: [a, b, \"recursive delete\"]\n");
	append(home, "command_allowlist:\n- a # c\n\nz: 1\n",
	    "command_allowlist:\n- a # c\n- \"recursive delete\"\n\nz: 1\n");
	append(home, "command_allowlist:\n  - a",
	    "command_allowlist:\n  - a\n  - \"recursive "
	    "delete\"\n");
	append(home, "command_allowlist:\n- recursive delete\n",
	    "command_allowlist:\n- recursive delete\n");
	scratch_put_text(home->file, "command_allowlist: word\n");
	assert_int_equal(
	    config_edit_append(home->path, "command_allowlist", "x", &home->error), -1);
	scratch_holds(home->file, "command_allowlist: word\n");
}

static void
test_all_or_none(void **state)
{
	const struct yaml_edit edits[] = {
	    {"model", "default", "m"}, {"terminal", "timeout", "5"}};
	struct home *home = *state;

	scratch_put_text(home->file, "terminal: [1]\n");
	assert_int_equal(config_edit_apply(home->path, edits, 2, &home->error), -1);
	scratch_holds(home->file, "terminal: [1]\n");
}

static void
test_lock(void **state)
{
	struct home *home = *state;
	int fd = open(home->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(edit_value(home->path, "model", "default", "x", &home->error), -1);
	assert_non_null(strstr(buffer_text(&home->error), "being changed by another program"));
	close(fd);
	assert_int_equal(edit_value(home->path, "model", "default", "x", &home->error), 0);
}

static void
test_new_folder_and_link(void **state)
{
	struct home *home = *state;
	char inner[128], file[160], lock[160];
	struct stat status;

	snprintf(inner, sizeof inner, "%s/a/b", home->path);
	snprintf(file, sizeof file, "%s/config.yaml", inner);
	snprintf(lock, sizeof lock, "%s/config.yaml.lock", inner);
	assert_int_equal(edit_value(inner, "model", "default", "x", &home->error), 0);
	assert_int_equal(scratch_mode(inner) & 0777, 0700);
	/* A link stays a link, the file behind it changes. */
	assert_int_equal(symlink(file, home->file), 0);
	assert_int_equal(edit_value(home->path, "model", "default", "y", &home->error), 0);
	assert_int_equal(lstat(home->file, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	scratch_holds(home->file, "model:\n  default: y\n");
	unlink(file);
	unlink(lock);
	rmdir(inner);
	*strrchr(inner, '/') = '\0';
	rmdir(inner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_set, make_home, remove_home),
	    cmocka_unit_test_setup_teardown(test_set_refuses, make_home, remove_home),
	    cmocka_unit_test_setup_teardown(test_remove, make_home, remove_home),
	    cmocka_unit_test_setup_teardown(test_append, make_home, remove_home),
	    cmocka_unit_test_setup_teardown(test_all_or_none, make_home, remove_home),
	    cmocka_unit_test_setup_teardown(test_lock, make_home, remove_home),
	    cmocka_unit_test_setup_teardown(test_new_folder_and_link, make_home, remove_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
