/*
 * The file of the database: its rights; what is damaged, foreign, replaced or not writable,
 * and many that make it at once.
 */
#include <config.h>

#include "tests/unit/state_fixture.h"

#include <errno.h>
#include <time.h>

/* A file that was written so many seconds ago. */
static void
write_file(const char *name, const char *bytes, size_t length, int64_t age)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};

	scratch_put(name, bytes, length);
	assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static int
count_damaged(void)
{
	struct dirent *entry;
	DIR *directory = opendir(home);
	int count = 0;

	while ((entry = readdir(directory)) != NULL)
		count += strstr(entry->d_name, "state.db.damaged-") == entry->d_name;
	closedir(directory);
	return count;
}

static void
test_rights(void **state)
{
	static const mode_t masks[] = {0, 022, 077};
	char folder[96], file[128];
	struct state *one;
	struct stat status;
	struct buffer error = BUFFER_EMPTY;
	mode_t before;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		(void)snprintf(folder, sizeof folder, "%s/deep/home-%zu", home, i);
		before = umask(masks[i]);
		one = state_new(folder);
		one->journal = i == 0 ? STATE_JOURNAL_WAL : STATE_JOURNAL_AUTO;
		assert_int_equal(state_open(one, &error), SQLITE_OK);
		assert_int_equal(state_sql_run(one->db, "BEGIN IMMEDIATE", ""), SQLITE_OK);
		assert_int_equal(
		    state_sql_run(one->db, "INSERT INTO state_meta VALUES ('a', 'b')", ""),
		    SQLITE_OK);
		(void)snprintf(
		    file, sizeof file, "%s/state.db%s", folder, one->wal ? "-wal" : "-journal");
		assert_int_equal(stat(file, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0600);
		assert_int_equal(state_sql_run(one->db, "COMMIT", ""), SQLITE_OK);
		assert_int_equal(stat(one->path, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0600);
		assert_int_equal(stat(folder, &status), 0);
		assert_int_equal(status.st_mode & 07777, 0700);
		umask(before);
		state_free(one);
	}
	buffer_free(&error);
}

static void
test_rights_are_taken(void **state)
{
	struct stat status;

	(void)state;
	open_once();
	assert_int_equal(chmod(path, 0644), 0);
	open_once();
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

static void
test_empty_file(void **state)
{
	char wal[128];

	(void)state;
	(void)snprintf(wal, sizeof wal, "%s-wal", path);
	write_file(path, "", 0, 60);
	write_file(wal, "precious", 8, 60);
	open_once();
	assert_non_null(strstr(notice, "it is empty"));
	assert_non_null(strstr(notice, "state.db.damaged-"));
	assert_int_equal(count_damaged(), 2);
	assert_string_equal(value("SELECT version FROM schema_version"), "30");
	open_once();
	assert_string_equal(notice, "");
	assert_int_equal(count_damaged(), 2);
}

/* One that somebody is just making is not moved away under him. */
static void
test_fresh_empty_file(void **state)
{
	(void)state;
	write_file(path, "", 0, 0);
	open_once();
	assert_int_equal(count_damaged(), 0);
	assert_string_equal(value("SELECT version FROM schema_version"), "30");
}

static void
test_wrong_header(void **state)
{
	static const char zeros[8192];
	int file;

	(void)state;
	write_file(path, "This is a letter and not a database at all.", 43, 60);
	open_once();
	assert_non_null(strstr(notice, "it is not a database"));
	assert_int_equal(count_damaged(), 1);
	file = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(file, zeros, 4096, 0), 4096);
	close(file);
	open_once();
	assert_non_null(strstr(notice, "it is not a database"));
	assert_int_equal(count_damaged(), 2);
	assert_string_equal(value("PRAGMA integrity_check"), "ok");
}

/* A damaged schema is told, and the file stays where it is. */
static void
test_damaged_schema(void **state)
{
	struct state *one;
	struct buffer error = BUFFER_EMPTY;
	char garbage[4096];
	int file;

	(void)state;
	open_once();
	memset(garbage, 0x5a, sizeof garbage);
	file = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(file, garbage, 3996, 100), 3996);
	close(file);
	one = state_new(home);
	assert_int_equal(state_open(one, &error) & 0xff, SQLITE_CORRUPT);
	assert_non_null(strstr(buffer_text(&error), "state.db: it is damaged"));
	assert_int_equal(count_damaged(), 0);
	state_free(one);
	buffer_free(&error);
}

static void
test_replaced_file(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one = opened();
	char other[128];

	(void)state;
	assert_int_equal(one->generation, 1);
	(void)snprintf(other, sizeof other, "%s.old", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(
	    run_write(one, "INSERT INTO state_meta VALUES ('k', 'v')", &error), SQLITE_OK);
	assert_int_equal(one->generation, 2);
	assert_string_equal(value("SELECT value FROM state_meta WHERE key = 'k'"), "v");
	state_free(one);
	buffer_free(&error);
}

/* As another user when root runs the test: root may write everything. */
static void
test_read_only(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one;
	int status, wrong;
	pid_t pid;

	(void)state;
	open_once();
	assert_int_equal(chmod(path, 0400), 0);
	assert_int_equal(chmod(home, 0500), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(chown(home, 65534, 65534), 0);
	}
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setuid(65534) == -1)
			_exit(9);
		one = state_new(home);
		wrong = state_open(one, &error) != SQLITE_OK || one->read_only == NULL;
		wrong |= 2 * ((run_write(one, "DELETE FROM messages", &error) & 0xff) !=
				 SQLITE_READONLY);
		wrong |=
		    4 * (strstr(buffer_text(&error), "state.db: it cannot be written") == NULL);
		state_free(one);
		buffer_free(&error);
		_exit(wrong);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod(home, 0700), 0);
	assert_int_equal(status, 0);
}

static void
test_folder_that_cannot_be_made(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one;
	char folder[128];

	(void)state;
	write_file(path, "x", 1, 0);
	(void)snprintf(folder, sizeof folder, "%s/sub", path);
	one = state_new(folder);
	assert_int_equal(state_open(one, &error), SQLITE_CANTOPEN);
	assert_non_null(strstr(buffer_text(&error), folder));
	assert_non_null(strstr(buffer_text(&error), strerror(ENOTDIR)));
	state_free(one);
	buffer_free(&error);
}

/* Many processes that start at once find one whole database, and move nothing away. */
static void
test_race_of_makers(void **state)
{
	struct buffer error = BUFFER_EMPTY;
	struct state *one;
	int status, i, code;

	(void)state;
	write_file(path, "garbage that is no database", 27, 60);
	for (i = 0; i < 8; i++) {
		if (fork() != 0)
			continue;
		one = state_new(home);
		do {
			buffer_clear(&error);
			code = state_open(one, &error);
			if (state_sql_is_busy(code))
				(void)usleep(5000);
		} while (state_sql_is_busy(code));
		if (code == SQLITE_OK)
			do
				code = run_write(one,
				    "INSERT INTO state_meta VALUES (hex(randomblob(8)), 'v')",
				    &error);
			while (state_sql_is_busy(code));
		if (code != SQLITE_OK)
			print_error("%d: %s\n", code, buffer_text(&error));
		state_free(one);
		buffer_free(&error);
		_exit(code == SQLITE_OK ? 0 : 1);
	}
	for (i = 0; i < 8; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count_damaged(), 1);
	assert_string_equal(value("SELECT count(*) FROM state_meta WHERE value = 'v'"), "8");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    STATE_CASE(test_rights),
	    STATE_CASE(test_rights_are_taken),
	    STATE_CASE(test_empty_file),
	    STATE_CASE(test_fresh_empty_file),
	    STATE_CASE(test_wrong_header),
	    STATE_CASE(test_damaged_schema),
	    STATE_CASE(test_replaced_file),
	    STATE_CASE(test_read_only),
	    STATE_CASE(test_folder_that_cannot_be_made),
	    STATE_CASE(test_race_of_makers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
