/*
 * Words for the end of a process, from wait statuses that real children leave.
 */
#include <config.h>

#include "common/exit_cause.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int
end_of_child(int exit_status, int signal_number)
{
	struct rlimit none = {0, 0};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		if (signal_number != 0) {
			signal(signal_number, SIG_DFL);
			kill(getpid(), signal_number);
		}
		_exit(exit_status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
expect(int status, enum stop_cause cause, const char *expected)
{
	char text[128];

	exit_cause_describe(status, cause, text, sizeof text);
	if (strstr(text, expected) == NULL)
		fail_msg("\"%s\" does not hold \"%s\"", text, expected);
	assert_true(text[strlen(text) - 1] != '.');
	assert_null(strchr(text, '\n'));
}

static void
test_exits(void **state)
{
	(void)state;
	expect(end_of_child(0, 0), STOP_NONE, "without a word (exit status 0)");
	expect(end_of_child(EXIT_MEMORY, 0), STOP_NONE, "ran out of memory");
	expect(end_of_child(EXIT_DATA, 0), STOP_NONE, "session database");
	expect(end_of_child(EXIT_CONFIGURATION, 0), STOP_NONE, "configuration");
	expect(end_of_child(127, 0), STOP_NONE, "could not be started");
	expect(end_of_child(99, 0), STOP_NONE, "ended with exit status 99");
}

static void
test_signals(void **state)
{
	(void)state;
	expect(end_of_child(0, SIGKILL), STOP_NONE, "was killed by signal 9 (Killed)");
	expect(end_of_child(0, SIGTERM), STOP_NONE, "signal 15 (Terminated)");
	expect(end_of_child(0, SIGABRT), STOP_NONE, "crashed by signal 6 (Aborted)");
}

/* A cause that was noted says more than the status that it led to. */
static void
test_causes(void **state)
{
	int status = end_of_child(0, SIGKILL), cause;
	char text[128], before[128] = "";

	(void)state;
	for (cause = STOP_NONE + 1; cause <= STOP_VERSION; cause++) {
		exit_cause_describe(status, (enum stop_cause)cause, text, sizeof text);
		assert_true(strlen(text) > 10);
		assert_null(strstr(text, "signal"));
		assert_string_not_equal(text, before);
		memcpy(before, text, sizeof before);
	}
}

static void
test_small_room(void **state)
{
	char text[8];

	(void)state;
	exit_cause_describe(end_of_child(99, 0), STOP_NONE, text, sizeof text);
	assert_string_equal(text, "ended w");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_exits),
	    cmocka_unit_test(test_signals),
	    cmocka_unit_test(test_causes),
	    cmocka_unit_test(test_small_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
