/*
 * Child processes under the guard: output, ends in every order, nothing left over.
 * HERMES_ACP_GUARD names the guard.
 */
#include <config.h>

#include "worker/tools/subprocess.h"

#include "common/buffer.h"
#include "common/monotonic.h"
#include "tests/lib/portable.h"
#include "tests/unit/process_fixture.h"

#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct seen {
	struct event_base *base;
	struct subprocess *process;
	struct buffer output;
	int status;
	bool exited, leftover, gone, gone_first, free_at_exit, free_at_output;
	int64_t exited_at;
};

static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C", NULL};

static void
on_output(const char *bytes, size_t length, void *arg)
{
	struct seen *seen = arg;

	assert_false(seen->exited);
	assert_true(length > 0 && length <= 65536);
	buffer_append(&seen->output, bytes, length);
	if (seen->free_at_output) {
		subprocess_free(seen->process);
		seen->process = NULL;
		event_base_loopbreak(seen->base);
	}
}

static void
on_exited(int status, bool leftover, void *arg)
{
	struct seen *seen = arg;

	assert_false(seen->exited);
	seen->exited = true;
	seen->status = status;
	seen->leftover = leftover;
	seen->exited_at = monotonic_ms();
	if (seen->free_at_exit) {
		subprocess_free(seen->process);
		seen->process = NULL;
	}
	event_base_loopbreak(seen->base);
}

static void
on_gone(void *arg)
{
	struct seen *seen = arg;

	assert_false(seen->gone);
	seen->gone = true;
	seen->gone_first = !seen->exited;
	event_base_loopbreak(seen->base);
}

static const struct subprocess_callbacks callbacks = {on_output, on_exited, on_gone};

static void
start(struct seen *seen, const char *command, const char *input)
{
	const char *argv[] = {"bash", "-c", command, NULL};
	struct subprocess_options options = {
	    .guard = guard_path(),
	    .argv = argv,
	    .cwd = "/",
	    .environment = environment,
	    .input = input,
	    .input_length = input == NULL ? 0 : strlen(input),
	};

	memset(seen, 0, sizeof *seen);
	seen->base = event_base_new();
	seen->process = subprocess_start(seen->base, &options, &callbacks, seen);
	assert_non_null(seen->process);
}

/* Runs the loop until *flag, which must come in time, or without one until the time is over. */
static void
run_until(struct seen *seen, const bool *flag, int64_t limit)
{
	assert_true(run_loop_until(seen->base, flag, limit) == (flag != NULL));
}

static void
run_for(struct seen *seen, int64_t milliseconds)
{
	run_until(seen, NULL, milliseconds);
}

/* Frees, lets the guard go, and checks that no child of ours is left. */
static void
finish(struct seen *seen)
{
	subprocess_free(seen->process);
	event_base_dispatch(seen->base);
	assert_int_equal(event_base_get_num_events(seen->base, EVENT_BASE_COUNT_ADDED), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	event_base_free(seen->base);
	buffer_free(&seen->output);
}

static void
test_output_and_status(void **state)
{
	struct seen seen;

	(void)state;
	start(&seen, "pwd; echo err >&2; exit 3", NULL);
	run_until(&seen, &seen.gone, 5000);
	assert_false(seen.gone_first);
	assert_string_equal(buffer_text(&seen.output), "/\nerr\n");
	assert_int_equal(WEXITSTATUS(seen.status), 3);
	assert_false(seen.leftover);
	finish(&seen);
}

static void
test_signal_status(void **state)
{
	struct seen seen;

	(void)state;
	start(&seen, "kill -9 $$", NULL);
	run_until(&seen, &seen.exited, 5000);
	assert_true(WIFSIGNALED(seen.status));
	assert_int_equal(WTERMSIG(seen.status), SIGKILL);
	finish(&seen);
}

static void
test_surroundings(void **state)
{
	const char *ignored;
	struct seen seen;

	(void)state;
	start(&seen,
	    "cat; for f in /proc/self/fd/*; do echo ${f##*/}; done | sort -n | tail -1;"
	    "cat /dev/tty 2>/dev/null || echo none; grep -E '^Sig(Blk|Ign):' /proc/self/status",
	    NULL);
	run_until(&seen, &seen.exited, 5000);
	assert_non_null(strstr(buffer_text(&seen.output), "none\n"));
	assert_non_null(strstr(buffer_text(&seen.output), "SigBlk:\t0000000000000000"));
	ignored = strstr(buffer_text(&seen.output), "SigIgn:");
	assert_non_null(ignored);
	/* The C library keeps 32 and 33 for itself and leaves them ignored. */
	assert_true((strtoull(ignored + 7, NULL, 16) & 0x7fffffff) == 0);
	assert_true(atoi(buffer_text(&seen.output)) <= 3); /* 3 is the listing itself */
	finish(&seen);
}

static void
test_big_output(void **state)
{
	struct seen seen;

	(void)state;
	start(&seen, "head -c 3000000 /dev/zero; echo END", NULL);
	run_until(&seen, &seen.exited, 10000);
	assert_int_equal(seen.output.length, 3000004);
	assert_memory_equal(seen.output.data + 3000000, "END\n", 4);
	finish(&seen);
}

static void
test_input(void **state)
{
	struct seen seen;
	char *input = malloc(500001);

	(void)state;
	memset(input, 'x', 500000);
	input[500000] = '\0';
	start(&seen, "wc -c", input);
	free(input);
	run_until(&seen, &seen.exited, 5000);
	assert_int_equal(atoi(buffer_text(&seen.output)), 500000);
	finish(&seen);
	start(&seen, "exit 0", "not read");
	run_until(&seen, &seen.exited, 5000);
	finish(&seen);
	start(&seen, "cat; echo end", "");
	run_until(&seen, &seen.exited, 5000);
	assert_string_equal(buffer_text(&seen.output), "end\n");
	finish(&seen);
}

static void
test_grandchild_keeps_pipe(void **state)
{
	struct seen seen;
	int64_t begun = monotonic_ms();

	(void)state;
	start(&seen, "(sleep 33.51; echo late) & echo now; exit 4", NULL);
	run_until(&seen, &seen.exited, 5000);
	assert_true(seen.exited_at - begun < 1000);
	assert_string_equal(buffer_text(&seen.output), "now\n");
	assert_int_equal(WEXITSTATUS(seen.status), 4);
	assert_true(seen.leftover);
	assert_false(seen.gone);
	assert_true(lives("sleep 33.51"));
	finish(&seen);
	assert_false(lives("sleep 33.51"));
}

static void
test_ticking_grandchild(void **state)
{
	struct seen seen;

	(void)state;
	start(&seen, "nohup sh -c 'while :; do echo tick; done' 2>&1 & echo now; sleep 0.1",
	    NULL);
	run_until(&seen, &seen.exited, 5000);
	assert_true(seen.leftover);
	run_for(&seen, 300);
	assert_false(seen.gone);
	finish(&seen);
}

static void
test_stop_finds_everything(void **state)
{
	struct seen seen;
	int64_t begun;

	(void)state;
	LEAVE_OUT_IF_PORTABLE();
	start(&seen,
	    "setsid sleep 39.51 & setsid -f sleep 44.51; (trap '' TERM; sleep 38.51; sleep "
	    "38.52) "
	    "& sleep 36.51 | cat | cat & echo up; wait",
	    NULL);
	run_for(&seen, 300);
	assert_true(lives("sleep 44.51"));
	begun = monotonic_ms();
	subprocess_stop(seen.process);
	subprocess_stop(seen.process);
	run_until(&seen, &seen.gone, 5000);
	assert_true(monotonic_ms() - begun < 1500);
	assert_true(seen.exited);
	assert_int_equal(WTERMSIG(seen.status), SIGTERM);
	assert_string_equal(buffer_text(&seen.output), "up\n");
	assert_false(lives("sleep (3[689]|44)\\.5[12]"));
	finish(&seen);
}

static void
test_term_is_ignored(void **state)
{
	struct seen seen;

	(void)state;
	start(&seen, "trap '' TERM; echo up; sleep 38.53", NULL);
	run_for(&seen, 200);
	subprocess_stop(seen.process);
	run_until(&seen, &seen.exited, 3000);
	assert_int_equal(WTERMSIG(seen.status), SIGKILL);
	run_until(&seen, &seen.gone, 1000);
	finish(&seen);
}

static void
test_last_words(void **state)
{
	struct seen seen;

	(void)state;
	start(&seen, "trap 'echo bye; exit 7' TERM; echo up; sleep 38.54 & wait", NULL);
	run_for(&seen, 200);
	subprocess_stop(seen.process);
	run_until(&seen, &seen.gone, 3000);
	assert_string_equal(buffer_text(&seen.output), "up\nbye\n");
	assert_int_equal(WEXITSTATUS(seen.status), 7);
	finish(&seen);
}

static void
test_free_while_running(void **state)
{
	struct seen seen;

	(void)state;
	start(&seen, "sleep 36.52", NULL);
	run_for(&seen, 100);
	finish(&seen);
	assert_false(seen.exited);
	assert_false(lives("sleep 36.52"));
}

static void
test_free_within_callbacks(void **state)
{
	struct seen seen;

	(void)state;
	start(&seen, "echo x; sleep 36.53 & exit 0", NULL);
	seen.free_at_exit = true;
	run_until(&seen, &seen.exited, 3000);
	finish(&seen);
	assert_false(lives("sleep 36.53"));
	start(&seen, "echo x; sleep 36.54", NULL);
	seen.free_at_output = true;
	run_for(&seen, 1000);
	finish(&seen);
	assert_false(seen.exited);
	assert_false(lives("sleep 36.54"));
}

static void
test_guard_is_killed(void **state)
{
	struct seen seen;

	(void)state;
	LEAVE_OUT_IF_PORTABLE();
	start(&seen, "sleep 36.56 & sleep 36.57 & echo $PPID; wait", NULL);
	run_for(&seen, 200);
	assert_int_equal(kill((pid_t)atoi(buffer_text(&seen.output)), SIGKILL), 0);
	run_until(&seen, &seen.gone, 3000);
	assert_true(WIFSIGNALED(seen.status));
	run_for(&seen, 100);
	assert_false(lives("sleep 36.5[67]"));
	finish(&seen);
}

static void
test_cannot_start(void **state)
{
	static const char *const program[] = {"no-such-program-here", NULL};
	static const char *const relative[] = {"hostile", NULL};
	static const char *const hostile[] = {"PATH=.:bin", NULL};
	static const char *const bash[] = {"bash", "-c", ":", NULL};
	struct event_base *base = event_base_new();
	struct subprocess_options options = {.guard = guard_path(), .argv = program};
	struct seen seen = {0};

	(void)state;
	options.environment = environment;
	assert_null(subprocess_start(base, &options, &callbacks, &seen));
	assert_int_equal(errno, ENOENT);
	options.argv = relative;
	options.environment = hostile;
	assert_null(subprocess_start(base, &options, &callbacks, &seen));
	options.argv = bash;
	options.environment = environment;
	options.cwd = "/no/such/folder";
	assert_null(subprocess_start(base, &options, &callbacks, &seen));
	assert_int_equal(errno, ENOENT);
	options.cwd = "/";
	options.guard = "/no/guard";
	assert_null(subprocess_start(base, &options, &callbacks, &seen));
	event_base_free(base);
}

static void
test_not_a_program(void **state)
{
	static const char *const argv[] = {"/etc/passwd", NULL};
	struct subprocess_options options = {.guard = guard_path(), .argv = argv};
	struct seen seen = {.base = event_base_new()};

	(void)state;
	options.environment = environment;
	seen.process = subprocess_start(seen.base, &options, &callbacks, &seen);
	assert_non_null(seen.process);
	run_until(&seen, &seen.exited, 3000);
	assert_int_equal(WEXITSTATUS(seen.status), 126);
	assert_non_null(strstr(buffer_text(&seen.output), "/etc/passwd"));
	finish(&seen);
}

static void
test_many_at_once(void **state)
{
	struct seen seen[20];
	size_t i;

	(void)state;
	for (i = 0; i < 20; i++)
		start(&seen[i], "sleep 0.1; echo done", NULL);
	for (i = 0; i < 20; i++) {
		run_until(&seen[i], &seen[i].exited, 5000);
		assert_string_equal(buffer_text(&seen[i].output), "done\n");
	}
	for (i = 0; i < 19; i++) {
		run_until(&seen[i], &seen[i].gone, 5000);
		subprocess_free(seen[i].process);
		event_base_loop(seen[i].base, 0);
		event_base_free(seen[i].base);
		buffer_free(&seen[i].output);
	}
	finish(&seen[19]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_output_and_status),
	    cmocka_unit_test(test_signal_status),
	    cmocka_unit_test(test_surroundings),
	    cmocka_unit_test(test_big_output),
	    cmocka_unit_test(test_input),
	    cmocka_unit_test(test_grandchild_keeps_pipe),
	    cmocka_unit_test(test_ticking_grandchild),
	    cmocka_unit_test(test_stop_finds_everything),
	    cmocka_unit_test(test_term_is_ignored),
	    cmocka_unit_test(test_last_words),
	    cmocka_unit_test(test_free_while_running),
	    cmocka_unit_test(test_free_within_callbacks),
	    cmocka_unit_test(test_guard_is_killed),
	    cmocka_unit_test(test_cannot_start),
	    cmocka_unit_test(test_not_a_program),
	    cmocka_unit_test(test_many_at_once),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
