/*
 * SIGKILL at any moment of an edit: every file is then the old or the new one, whole, and the
 * next edit in its folder removes what was left. HERMES_TEST_KILLS is the number of kills
 * (2,000 unless given), HERMES_TEST_SEED the moment of each.
 */
#include <config.h>

#include "tests/unit/edit_fixture.h"
#include "tests/unit/seeded_random.h"

#include <signal.h>
#include <sys/wait.h>

#define KILLS 2000
#define FILES 2
#define LINES 700
#define DELAY_MAX 5000 /* microseconds; an edit takes some hundred */

static const char *const names[FILES] = {"first/a.txt", "second/b.txt"};

/* What a file holds after so many edits, for free(). */
static char *
version(unsigned long number)
{
	struct buffer text = BUFFER_EMPTY;
	int line;

	buffer_printf(&text, "version %lu.\n", number);
	for (line = 0; line < LINES + (int)(number % 50); line++)
		buffer_printf(&text, "line %d of version %lu\n", line, number);
	return buffer_take(&text);
}

/* The version that a file holds, which it must hold to the last byte. */
static unsigned long
version_of(const char *name)
{
	struct buffer now = BUFFER_EMPTY;
	int fd = open(at(name), O_RDONLY);
	unsigned long number = 0;
	char *expected;

	assert_int_not_equal(fd, -1);
	assert_int_equal(fd_read_all(fd, &now, 1 << 20), 0);
	close(fd);
	assert_int_equal(sscanf(buffer_text(&now), "version %lu.", &number), 1);
	expected = version(number);
	assert_int_equal(now.length, strlen(expected));
	assert_memory_equal(buffer_text(&now), expected, now.length);
	buffer_free(&now);
	free(expected);
	return number;
}

/* One edit of both files by the tools; in a process that may die at any moment. */
static void
edit_once(unsigned long number, bool rewrite)
{
	char *old, *new;
	size_t i;

	for (i = 0; i < FILES; i++) {
		old = version(version_of(names[i]));
		new = version(number);
		seen(names[i]);
		if (rewrite)
			write_file(names[i], new);
		else
			replace(names[i], old, new);
		succeeds();
		free(old);
		free(new);
	}
}

static size_t
entries(const char *name)
{
	DIR *folder = opendir(at(name));
	size_t count = 0;

	assert_non_null(folder);
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count - 2;
}

static void
kill_once(unsigned long first, unsigned delay)
{
	const struct timespec pause = {0, (long)delay * 1000};
	unsigned long number = first;
	int status, began[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(began), 0);
	child = fork();
	assert_int_not_equal(child, -1);
	if (child == 0)
		for (;; number++) {
			edit_once(number, number % 2 == 0);
			if (number == first && write(began[1], "", 1) != 1)
				_exit(1);
		}
	/* However busy the machine is: the time counts from when it edits. */
	assert_int_equal(read(began[0], &byte, 1), 1);
	close(began[0]);
	close(began[1]);
	(void)nanosleep(&pause, NULL);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void
test_killed_at_any_moment(void **state)
{
	uint64_t seed = seeded_random_start("HERMES_TEST_SEED", 41);
	unsigned long kills = seeded_random_count("HERMES_TEST_KILLS", KILLS);
	unsigned long number = 1, last[FILES] = {0}, now, edits = 0, left = 0, i, j;

	(void)state;
	for (i = 0; i < FILES; i++) {
		char *text = version(0);

		scratch_make_parents(at(names[i]));
		put(names[i], text);
		free(text);
	}
	for (i = 0; i < kills; i++) {
		kill_once(number, (unsigned)seeded_random_below(&seed, DELAY_MAX));
		for (j = 0; j < FILES; j++) {
			now = version_of(names[j]);
			assert_true(now >= last[j]);
			edits += now > last[j];
			last[j] = now;
			number = now >= number ? now + 1 : number;
		}
		left += entries("first") + entries("second") - FILES;
	}
	print_message("%lu kills, %lu times behind an edit, %lu temporary files seen\n", kills,
	    edits, left);
	/* That edits and kills meet is what makes this a test. */
	assert_true(kills < 500 || (edits > kills / 2 && left > 0));
	edit_once(number, true);
	assert_int_equal(entries("first"), 1);
	assert_int_equal(entries("second"), 1);
}

static void
test_only_what_is_ours(void **state)
{
	static const char *const kept[] = {".hermes-tmp.", ".hermes-tmp.abcdef",
	    ".hermes-tmp.2147483000.abcde", ".hermes-tmp.2147483000.abcdefg",
	    ".hermes-tmp.2147483000.ABCDEF", ".hermes-tmp.2147483000.abcdef.c",
	    ".hermes-tmp.99999999999.abcdef", ".hermes-tmp.-5.abcdef", "x.hermes-tmp.7.abcdef"};
	char own[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof kept / sizeof kept[0]; i++)
		put(kept[i], "kept");
	(void)snprintf(own, sizeof own, ".hermes-tmp.%ld.abcdef", (long)getpid());
	put(own, "kept");
	put(".hermes-tmp.2147483000.abcdef", "stale");
	put("precious", "kept");
	tool_fixture_link(&session, "precious", ".hermes-tmp.2147483001.abcdef");
	write_file("new.txt", "new\n");
	succeeds();
	assert_false(exists(".hermes-tmp.2147483000.abcdef"));
	for (i = 0; i < sizeof kept / sizeof kept[0]; i++)
		assert_true(exists(kept[i]));
	assert_true(exists(own));
	assert_true(exists(".hermes-tmp.2147483001.abcdef"));
	holds("precious", "kept");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    EDIT_CASE(test_killed_at_any_moment),
	    EDIT_CASE(test_only_what_is_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
