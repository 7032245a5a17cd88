/*
 * Faults that a script asks for: only with permission, and each as it was ordered.
 */
#include <config.h>

#include "tests/unit/rehearsal_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Runs the steps in a child and returns its wait status; 100 = the answer came. */
static int
run_in_child(struct play *play, const char *steps)
{
	static const struct rlimit no_core = {0, 0};
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		event_reinit(play->base);
		run_steps(play, steps);
		wait_ms(play, 100);
		_exit(100);
	}
	while (waitpid(child, &status, WUNTRACED) == -1 && errno == EINTR)
		continue;
	if (WIFSTOPPED(status)) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return status;
}

static void
test_faults_need_permission(void **state)
{
	struct play *play = *state;

	run_steps(play, "{\"text\":\"a\"},{\"fault\":{\"signal\":\"KILL\"}}");
	assert_int_equal(play->finish, FINISH_ERROR);
	assert_int_equal(play->error, MODEL_ERROR_REQUEST);
	assert_non_null(strstr(message_of(play), "step 2"));
	assert_non_null(strstr(message_of(play), "--allow-faults"));
}

static void
test_faults(void **state)
{
	struct play *play = *state;
	struct buffer steps = BUFFER_EMPTY;
	int status;

	play->runtime.rehearsal_faults = true;
	status = run_in_child(play, "{\"fault\":{\"signal\":\"SEGV\"}}");
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	status = run_in_child(play, "{\"fault\":{\"exit\":70,\"at\":\"finish\"}}");
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 70);
	status = run_in_child(play, "{\"fault\":{\"exit\":71,\"at\":\"after_finish\"}}");
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 71);
	status = run_in_child(play, "{\"fault\":{\"signal\":\"SIGKILL\",\"after_ms\":20}}");
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	status = run_in_child(play, "{\"fault\":{\"stop\":true}}");
	assert_true(WIFSTOPPED(status));
	buffer_printf(&steps, "{\"fault\":{\"exit\":72,\"once\":\"%s/marker\"}}", play->folder);
	status = run_in_child(play, buffer_text(&steps));
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 72);
	status = run_in_child(play, buffer_text(&steps));
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 100);
	buffer_free(&steps);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PLAY(test_faults_need_permission),
	    PLAY(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
