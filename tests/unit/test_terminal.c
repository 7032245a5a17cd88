/*
 * The terminal tool from arguments to result. HERMES_ACP_GUARD names the guard.
 */
#include <config.h>

#include "tests/lib/portable.h"
#include "tests/unit/process_fixture.h"
#include "tests/unit/tool_fixture.h"
#include "worker/tools/shell_state.h"
#include "worker/tools/tool_rows.h"

#include <signal.h>

struct fixture {
	struct tool_fixture tool;
	char *scratch;
	int64_t begun;
};

static int
set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof *fixture);
	struct tool_context *context = &fixture->tool.context;

	tool_fixture_init(&fixture->tool, "a b ü $HOME 'q\" ;x");
	fixture->scratch = xasprintf("%s/scratch", fixture->tool.folder);
	assert_int_equal(mkdir(fixture->scratch, 0700), 0);
	context->guard = guard_path();
	context->scratch = fixture->scratch;
	context->shell = shell_state_new();
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;

	tool_fixture_forget_run(&fixture->tool);
	shell_state_free(fixture->tool.context.shell);
	event_base_dispatch(fixture->tool.context.base);
	json_object_put(fixture->tool.context.config);
	tool_fixture_clear(&fixture->tool);
	free(fixture->scratch);
	free(fixture);
	return 0;
}

static void
begin(struct fixture *fixture, struct json_object *arguments)
{
	fixture->begun = monotonic_ms();
	tool_fixture_prepare(&fixture->tool, &tool_terminal, arguments);
	if (!fixture->tool.finished && fixture->tool.run->permission.verdict != TOOL_REFUSED)
		tool_run_start(fixture->tool.run);
}

static void
run_loop(struct fixture *fixture, int64_t limit)
{
	run_loop_until(fixture->tool.context.base, &fixture->tool.finished, limit);
}

static struct json_object *
arguments_of(const char *command)
{
	struct json_object *arguments = json_object_new_object();

	json_set_text(arguments, "command", command);
	return arguments;
}

static void
run(struct fixture *fixture, const char *command)
{
	begin(fixture, arguments_of(command));
	run_loop(fixture, 10000);
	assert_true(fixture->tool.finished);
}

static const char *
output(const struct fixture *fixture)
{
	return json_member_string(fixture->tool.result, "output");
}

static int
exit_code(const struct fixture *fixture)
{
	int64_t code = -99;

	json_member_integer(fixture->tool.result, "exit_code", &code);
	return (int)code;
}

static void
test_result(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, "echo out; echo err >&2; exit 3");
	assert_string_equal(output(fixture), "out\nerr\n");
	assert_int_equal(exit_code(fixture), 3);
	assert_true(fixture->tool.failed);
	assert_true(json_object_object_get_ex(fixture->tool.result, "error", NULL));
	assert_null(json_member(fixture->tool.result, "error"));
	assert_non_null(strstr(fixture->tool.run->shown.items[0].text, "Exit code 3"));
	assert_string_equal(fixture->tool.run->card.title, "echo out; echo err >&2; exit 3");
	assert_non_null(strstr(fixture->tool.run->card.contents.items[0].text, "$ echo out"));
	assert_null(json_member(fixture->tool.result, "cwd"));
	run(fixture, "true");
	assert_false(fixture->tool.failed);
	run(fixture, "kill -9 $$");
	assert_int_equal(exit_code(fixture), 137);
	assert_true(fixture->tool.failed);
	assert_non_null(
	    strstr(json_member_string(fixture->tool.result, "exit_code_meaning"), "signal 9"));
	run(fixture, "grep nothing /dev/null");
	assert_false(fixture->tool.failed);
	assert_string_equal(
	    json_member_string(fixture->tool.result, "exit_code_meaning"), "no match");
	run(fixture, "no-such-program-at-all");
	assert_int_equal(exit_code(fixture), 127);
}

static void
test_no_input(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, "cat; read x; echo got:$x; cat /dev/tty 2>/dev/null || echo no tty");
	assert_string_equal(output(fixture), "got:\nno tty\n");
}

static void
test_folder_and_exports(void **state)
{
	struct fixture *fixture = *state;
	char *expected;

	run(fixture, "pwd");
	expected = xasprintf("%s\n", fixture->tool.cwd);
	assert_string_equal(output(fixture), expected);
	free(expected);
	run(fixture,
	    "mkdir -p 'sub dir/deep' && cd 'sub dir/deep' && export A=$'x\\n\"y' B=2; C=3");
	assert_non_null(
	    strstr(json_member_string(fixture->tool.result, "cwd"), "/sub dir/deep"));
	run(fixture, "basename \"$PWD\"; printf '%s|%s|%s' \"$A\" $B \"$C\"; cd ..; exit 4");
	assert_string_equal(output(fixture), "deep\nx\n\"y|2|");
	assert_int_equal(exit_code(fixture), 4);
	run(fixture, "set -eu; basename \"$PWD\"; false; echo no");
	assert_string_equal(output(fixture), "sub dir\n");
	run(fixture, "set -x; cd deep");
	assert_null(strstr(output(fixture), "__hermes"));
	run(fixture, "basename \"$PWD\"; set -C; export PATH=/x:$PATH");
	assert_string_equal(output(fixture), "deep\n");
	run(fixture, "echo ${PATH%%:*}; rm -r ../deep");
	assert_string_equal(output(fixture), "/x\n");
	run(fixture, "basename \"$PWD\"");
	assert_string_equal(output(fixture), "sub dir\n");
	assert_non_null(strstr(json_member_string(fixture->tool.result, "note"), "is gone"));
	run(fixture, "cd /; kill -9 $$");
	run(fixture, "basename \"$PWD\"; (cd /; exit 1); trap 'echo mine' EXIT");
	assert_string_equal(output(fixture), "sub dir\nmine\n");
}

/* The shell of another process that takes over what this one's holds. */
static void
move_shell(struct fixture *fixture)
{
	struct tool_context *context = &fixture->tool.context;
	struct json_object *description = shell_state_describe(context->shell);
	char *old;

	assert_non_null(description);
	shell_state_free(context->shell);
	old = fixture->scratch;
	fixture->scratch = xasprintf("%s-next", old);
	free(old);
	assert_int_equal(mkdir(fixture->scratch, 0700), 0);
	context->scratch = fixture->scratch;
	context->shell = shell_state_new();
	assert_int_equal(shell_state_restore(context->shell, context->scratch, description), 0);
	json_object_put(description);
}

static void
test_another_process(void **state)
{
	struct fixture *fixture = *state;
	struct shell_state *shell;

	move_shell(fixture); /* nothing to carry yet */
	run(fixture, "mkdir -p sub && cd sub && export A=$'x\n\"ü'");
	move_shell(fixture);
	run(fixture, "basename \"$PWD\"; printf %s \"$A\"");
	assert_string_equal(output(fixture), "sub\nx\n\"ü");
	run(fixture, "cd ..; export B=$(head -c 70000 /dev/zero | tr '\\0' b)");
	shell = fixture->tool.context.shell;
	assert_null(shell_state_describe(shell)); /* too much */
	run(fixture, "unset B");
	run(fixture, "sleep 30 >/dev/null 2>&1 &");
	assert_true(shell_state_running(shell));
}

static void
test_workdir(void **state)
{
	struct fixture *fixture = *state;
	struct json_object *arguments = arguments_of("pwd; cd /usr");

	json_set_text(arguments, "workdir", "/tmp");
	begin(fixture, arguments);
	run_loop(fixture, 5000);
	assert_string_equal(output(fixture), "/tmp\n");
	run(fixture, "pwd | wc -l");
	arguments = arguments_of("pwd");
	json_set_text(arguments, "workdir", "/no/such");
	begin(fixture, arguments);
	assert_true(fixture->tool.finished && fixture->tool.failed);
	assert_non_null(strstr(json_member_string(fixture->tool.result, "error"), "/no/such"));
}

static void
test_arguments(void **state)
{
	struct fixture *fixture = *state;
	struct json_object *arguments = arguments_of("sleep 5");

	json_set_boolean(arguments, "background", true);
	begin(fixture, arguments);
	assert_true(fixture->tool.finished && fixture->tool.failed);
	assert_non_null(
	    strstr(json_member_string(fixture->tool.result, "error"), "background"));
	begin(fixture, json_object_new_object());
	assert_non_null(strstr(json_member_string(fixture->tool.result, "error"), "command"));
	begin(fixture, arguments_of(" \n"));
	assert_true(fixture->tool.failed);
	arguments = arguments_of("true");
	json_set_integer(arguments, "timeout", 1000000000);
	begin(fixture, arguments);
	run_loop(fixture, 5000);
	assert_non_null(
	    strstr(json_member_string(fixture->tool.result, "note"), "600 s was used"));
	arguments = arguments_of("true");
	json_set_text(arguments, "timeout", "soon");
	begin(fixture, arguments);
	run_loop(fixture, 5000);
	assert_non_null(strstr(json_member_string(fixture->tool.result, "note"), "default"));
	fixture->tool.context.mode = SESSION_MODE_PLAN;
	begin(fixture, arguments_of("true"));
	assert_int_equal(fixture->tool.run->permission.verdict, TOOL_REFUSED);
}

static void
test_timeout(void **state)
{
	struct fixture *fixture = *state;
	struct json_object *arguments;

	LEAVE_OUT_IF_PORTABLE();
	arguments = arguments_of("for i in 1 2 3; do echo line$i; done; printf "
				 "'no newline'; setsid sleep 60.51 & sleep 60.52");
	json_set_text(arguments, "timeout", "1");
	begin(fixture, arguments);
	run_loop(fixture, 5000);
	assert_true(fixture->tool.finished && fixture->tool.failed);
	assert_int_equal(exit_code(fixture), 124);
	assert_string_equal(
	    output(fixture), "line1\nline2\nline3\nno newline\n[Command timed out after 1s]");
	assert_true(monotonic_ms() - fixture->begun < 2500);
	assert_false(lives("sleep 60.5[12]"));
}

static void
test_cancel(void **state)
{
	struct fixture *fixture = *state;

	LEAVE_OUT_IF_PORTABLE();
	begin(fixture,
	    arguments_of(
		"trap '' TERM; echo up; setsid sleep 38.61 & sleep 38.62; sleep 38.63"));
	run_loop(fixture, 300);
	tool_run_cancel(fixture->tool.run);
	assert_true(fixture->tool.finished && fixture->tool.failed);
	assert_int_equal(exit_code(fixture), 130);
	assert_string_equal(output(fixture), "up\n[Command interrupted]");
	/* The next command waits until everything is gone. */
	run(fixture, "pgrep -f '^sleep 38.6[123]' || echo none");
	assert_string_equal(output(fixture), "none\n");
	begin(fixture, arguments_of("sleep 38.64"));
	run_loop(fixture, 200);
	tool_fixture_forget_run(&fixture->tool);
	run(fixture, "echo next");
	assert_string_equal(output(fixture), "next\n");
	assert_false(lives("sleep 38.64"));
}

static void
test_leftovers(void **state)
{
	static const char *const commands[] = {"(sleep 33.61; echo late) & echo now",
	    "setsid sleep 34.61 >/dev/null 2>&1 & disown; echo now",
	    "nohup sh -c 'while :; do echo tick; sleep 0.1; done' & echo now",
	    "exec 3>&1; sleep 35.61 & echo now; exit 4"};
	struct fixture *fixture = *state;
	size_t i;

	LEAVE_OUT_IF_PORTABLE();
	for (i = 0; i < sizeof commands / sizeof *commands; i++) {
		run(fixture, commands[i]);
		assert_true(monotonic_ms() - fixture->begun < 1000);
		assert_non_null(strstr(output(fixture), "now\n"));
		assert_int_equal(exit_code(fixture), i == 3 ? 4 : 0);
		assert_non_null(
		    strstr(json_member_string(fixture->tool.result, "note"), "still running"));
	}
	assert_true(lives("sleep 33.61"));
	assert_true(lives("sh -c while :; do echo tick"));
	assert_true(lives("sleep 35.61"));
	run(fixture, "echo next");
	assert_string_equal(output(fixture), "next\n");
	assert_true(lives("sleep 34.61"));
	tool_fixture_forget_run(&fixture->tool);
	shell_state_free(fixture->tool.context.shell);
	fixture->tool.context.shell = NULL;
	event_base_dispatch(fixture->tool.context.base);
	assert_false(lives("sleep 3[345].61"));
}

static void
test_long_command(void **state)
{
	struct fixture *fixture = *state;
	struct buffer command = BUFFER_EMPTY;

	buffer_append_text(&command, "cat <<'E' | wc -c\n");
	while (command.length < 1000000)
		buffer_append_text(&command, "$(x) `y` \\ ' \" ü\n");
	buffer_append_text(&command, "E\necho done");
	run(fixture, command.data);
	assert_non_null(strstr(output(fixture), "\ndone\n"));
	assert_true(atoi(output(fixture)) > 999000);
	buffer_free(&command);
}

static void
test_progress(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.05; done");
	assert_in_range(fixture->tool.progress, 2, 5);
	run(fixture, "yes | head -c 20000000");
	assert_true(fixture->tool.progress < 60);
	assert_non_null(strstr(output(fixture), "OUTPUT TRUNCATED"));
}

static void
test_environment(void **state)
{
	static const char config[] = "{\"terminal\":{\"env_passthrough\":[\"PASS_ME\"]}}";
	struct fixture *fixture = *state;

	setenv("OPENROUTER_API_KEY", "sk-test", 1);
	setenv("GITHUB_TOKEN", "ghp-test", 1);
	setenv("LC_SECRET_TOKEN", "x", 1);
	setenv("PASS_ME", "yes", 1);
	setenv("EDITOR", "vim", 1);
	setenv("PATH", "relative:/usr/bin", 1);
	fixture->tool.context.config = parsed_json(config);
	run(fixture, "env");
	assert_null(strstr(output(fixture), "API_KEY"));
	assert_null(strstr(output(fixture), "TOKEN"));
	assert_non_null(strstr(output(fixture), "PASS_ME=yes\n"));
	assert_non_null(strstr(output(fixture), "EDITOR=true\n"));
	assert_non_null(strstr(output(fixture), "TERM=dumb\n"));
	assert_non_null(strstr(output(fixture), "GIT_PAGER=cat\n"));
	assert_non_null(strstr(output(fixture), "HERMES_SESSION_ID=s-1\n"));
	assert_non_null(strstr(output(fixture), "\nPATH=/usr/bin:"));
	assert_non_null(strstr(output(fixture), "/bin"));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(test_result),
	    CASE(test_no_input),
	    CASE(test_folder_and_exports),
	    CASE(test_another_process),
	    CASE(test_workdir),
	    CASE(test_arguments),
	    CASE(test_timeout),
	    CASE(test_cancel),
	    CASE(test_leftovers),
	    CASE(test_long_command),
	    CASE(test_progress),
	    CASE(test_environment),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
