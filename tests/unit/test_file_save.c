/*
 * Saving files: content, mode, links, and what is left after a failure.
 */
#include <config.h>

#include "worker/tools/file_save.h"

#include "tests/lib/portable.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#ifdef HERMES_LINUX
#include <sys/xattr.h>
#endif

static char *folder, *path; /* path is the one file in it */

static int
set_up(void **state)
{
	(void)state;
	folder = scratch_new();
	path = xasprintf("%s/file", folder);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	(void)umask(022);
	scratch_remove(folder);
	free(path);
	return 0;
}

static void
put(const char *text, mode_t mode)
{
	scratch_put_text(path, text);
	assert_int_equal(chmod(path, mode), 0);
}

static size_t
entries(void)
{
	DIR *directory = opendir(folder);
	size_t count = 0;

	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count - 2;
}

static int
save(const char *where, const char *text, struct buffer *error, size_t *folders)
{
	struct file_save job = {.path = where,
	    .shown = "the-file",
	    .bytes = text,
	    .length = strlen(text),
	    .mode = FILE_SAVE_DEFAULT_MODE};
	int result = file_save_write(&job, error);

	if (folders != NULL)
		*folders = job.folders;
	if (result == 0)
		assert_int_equal(job.done.st_size, strlen(text));
	return result;
}

static void
saves(const char *where, const char *text)
{
	struct buffer error = BUFFER_EMPTY;

	if (save(where, text, &error, NULL) == -1)
		fail_msg("%s", buffer_text(&error));
	scratch_holds(where, text);
	buffer_free(&error);
}

static void
refuses(const char *where, const char *says)
{
	struct buffer error = BUFFER_EMPTY;

	assert_int_equal(save(where, "new", &error, NULL), -1);
	assert_non_null(strstr(buffer_text(&error), says));
	assert_null(strstr(buffer_text(&error), "hermes-tmp"));
	buffer_free(&error);
}

static void
test_modes(void **state)
{
	static const mode_t modes[] = {0755, 0600, 0644, 0664, 04755};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		put("old", modes[i]);
		(void)umask(i % 2 == 0 ? 077 : 022);
		saves(path, "new");
		assert_int_equal(scratch_mode(path), modes[i]);
	}
	assert_int_equal(entries(), 1);
}

static void
test_new_file(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	char deep[160];
	size_t folders;

	(void)state;
	(void)umask(022);
	saves(path, "x");
	assert_int_equal(scratch_mode(path), 0644);
	(void)umask(077);
	(void)snprintf(deep, sizeof deep, "%s/a/b/file", folder);
	assert_int_equal(save(deep, "", &error, &folders), 0);
	assert_int_equal(folders, 2);
	assert_int_equal(scratch_mode(deep), 0600);
	assert_int_equal(file_save_remove(deep, "deep", &error), 0);
	file_save_remove_folders(deep, folders);
	assert_int_equal(entries(), 1);
	buffer_free(&error);
}

static void
test_refusals(void **state)
{
	char other[160];

	(void)state;
	put("old", 0444);
	refuses(path, "read-only");
	scratch_holds(path, "old");
	assert_int_equal(scratch_mode(path), 0444);
	(void)snprintf(other, sizeof other, "%s/pipe", folder);
	assert_int_equal(mkfifo(other, 0600), 0);
	refuses(other, "named pipe");
	refuses(folder, "folder");
	(void)snprintf(other, sizeof other, "%s/file/below", folder);
	refuses(other, "not a folder");
	(void)snprintf(other, sizeof other, "%s/link", folder);
	assert_int_equal(symlink(path, other), 0);
	refuses(other, "symbolic link");
	/* A link in the middle of the path is not followed either. */
	(void)snprintf(other, sizeof other, "%s/sub", folder);
	assert_int_equal(symlink("/tmp", other), 0);
	(void)snprintf(other, sizeof other, "%s/sub/escaped-file", folder);
	refuses(other, "not a folder");
	assert_int_equal(access("/tmp/escaped-file", F_OK), -1);
	(void)chmod(path, 0600);
}

static void
test_hard_link(void **state)
{
	char other[160];
	struct stat status;

	(void)state;
	put("old and long", 0640);
	(void)snprintf(other, sizeof other, "%s/other", folder);
	assert_int_equal(link(path, other), 0);
	saves(path, "new");
	scratch_holds(other, "new");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_nlink, 2);
	assert_int_equal(status.st_mode & 07777, 0640);
}

static void
test_group_folder(void **state)
{
	(void)state;
	assert_int_equal(chmod(folder, 02770), 0);
	put("old", 0660);
	saves(path, "new");
	assert_int_equal(scratch_mode(path), 0660);
	assert_int_equal(scratch_mode(folder), 02770);
}

#ifdef HERMES_LINUX
static void
test_attributes(void **state)
{
	char value[16] = "";

	(void)state;
	put("old", 0600);
	if (setxattr(path, "user.note", "kept", 4, 0) == -1)
		LEAVE_OUT("no extended attributes here");
	saves(path, "new");
	assert_int_equal(getxattr(path, "user.note", value, sizeof value), 4);
	assert_string_equal(value, "kept");
}
#endif

/* A write that fails in the middle: the limit on file sizes stands for a full disk. */
static void
test_failure(void **state)
{
	struct rlimit before, small;
	char other[160];
	char *big = malloc(20001);

	(void)state;
	assert_non_null(big);
	memset(big, 'x', 20000);
	big[20000] = '\0';
	put("old", 0600);
	(void)snprintf(other, sizeof other, "%s/other", folder);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 8192;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	{
		struct buffer error = BUFFER_EMPTY;
		size_t folders;
		char deep[160];

		assert_int_equal(save(path, big, &error, NULL), -1);
		assert_non_null(strstr(buffer_text(&error), "Cannot write the-file: "));
		assert_null(strstr(buffer_text(&error), "hermes-tmp"));
		scratch_holds(path, "old");
		assert_int_equal(entries(), 1);
		(void)snprintf(deep, sizeof deep, "%s/made/file", folder);
		assert_int_equal(save(deep, big, &error, &folders), -1);
		assert_int_equal(entries(), 1);
		/* In place likewise. */
		assert_int_equal(link(path, other), 0);
		assert_int_equal(save(path, big, &error, NULL), -1);
		scratch_holds(path, "old");
		assert_int_equal(entries(), 2);
		buffer_free(&error);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	free(big);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_modes, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_new_file, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_hard_link, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_group_folder, set_up, tear_down),
#ifdef HERMES_LINUX
	    cmocka_unit_test_setup_teardown(test_attributes, set_up, tear_down),
#endif
	    cmocka_unit_test_setup_teardown(test_failure, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
