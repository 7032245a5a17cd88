/*
 * The terminal tool from arguments to result. HERMES_ACP_GUARD names the guard.
 */
#include <config.h>

#include "worker/tools/shell_state.h"
#include "worker/tools/tool_rows.h"

#include "common/alloc.h"
#include "common/buffer.h"
#include "common/json.h"
#include "common/monotonic.h"
#include "common/utf8.h"
#include "worker/tools/exit_meaning.h"
#include "worker/tools/grants.h"
#include "worker/tools/terminal_output.h"
#include "tests/lib/portable.h"

#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char root[64];
	char *cwd, *scratch;
	const char *roots[1];
	struct tool_context context;
	struct tool_run *run;
	struct json_object *result;
	bool finished, failed;
	unsigned progress;
	int64_t begun;
};

static void
on_finished(struct tool_run *run, struct json_object *result, bool failed, void *arg)
{
	struct fixture *fixture = arg;

	(void)run;
	assert_false(fixture->finished);
	fixture->finished = true;
	fixture->failed = failed;
	fixture->result = json_object_get(result);
	event_base_loopbreak(fixture->context.base);
}

static void
on_progress(struct tool_run *run, void *arg)
{
	struct fixture *fixture = arg;

	assert_int_equal(run->shown.count, 1);
	fixture->progress++;
}

static int
set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof *fixture);
	struct tool_context *context = &fixture->context;

	strcpy(fixture->root, "/tmp/test-terminal-XXXXXX");
	assert_non_null(mkdtemp(fixture->root));
	fixture->cwd = xasprintf("%s/a b ü $HOME 'q\" ;x", fixture->root);
	fixture->scratch = xasprintf("%s/scratch", fixture->root);
	assert_int_equal(mkdir(fixture->cwd, 0700), 0);
	assert_int_equal(mkdir(fixture->scratch, 0700), 0);
	fixture->roots[0] = fixture->cwd;
	context->base = event_base_new();
	context->session_id = "s-1";
	context->cwd = fixture->cwd;
	context->roots = fixture->roots;
	context->root_count = 1;
	context->home = "/nonexistent/.hermes";
	context->user_home = "/nonexistent";
	context->guard = getenv("HERMES_ACP_GUARD");
	if (context->guard == NULL)
		context->guard = "./hermes-acp-guard";
	context->scratch = fixture->scratch;
	context->grants = grants_new();
	context->shell = shell_state_new();
	*state = fixture;
	return 0;
}

static void
clear_run(struct fixture *fixture)
{
	tool_run_free(fixture->run);
	json_object_put(fixture->result);
	fixture->run = NULL;
	fixture->result = NULL;
}

static int
tear_down(void **state)
{
	struct fixture *fixture = *state;
	char *command = xasprintf("rm -rf '%s'", fixture->root);

	clear_run(fixture);
	shell_state_free(fixture->context.shell);
	event_base_dispatch(fixture->context.base);
	event_base_free(fixture->context.base);
	grants_free(fixture->context.grants);
	json_object_put(fixture->context.config);
	assert_int_equal(system(command), 0);
	free(command);
	free(fixture->cwd);
	free(fixture->scratch);
	free(fixture);
	return 0;
}

static void
begin(struct fixture *fixture, struct json_object *arguments)
{
	clear_run(fixture);
	fixture->finished = fixture->failed = false;
	fixture->progress = 0;
	fixture->begun = monotonic_ms();
	fixture->run = tool_run_new(&tool_terminal, &fixture->context, "c1", arguments,
	    on_finished, on_progress, fixture);
	json_object_put(arguments);
	tool_run_prepare(fixture->run);
	if (!fixture->finished && fixture->run->permission.verdict != TOOL_REFUSED)
		tool_run_start(fixture->run);
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	struct fixture *fixture = arg;

	(void)fd;
	(void)what;
	event_base_loopbreak(fixture->context.base);
}

static void
run_loop(struct fixture *fixture, int64_t limit)
{
	struct timeval wait = monotonic_interval(limit);
	struct event *timer = event_new(fixture->context.base, -1, 0, on_time, fixture);

	event_add(timer, &wait);
	while (!fixture->finished && evtimer_pending(timer, NULL))
		event_base_loop(fixture->context.base, EVLOOP_ONCE);
	event_free(timer);
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
	assert_true(fixture->finished);
}

static const char *
output(const struct fixture *fixture)
{
	return json_member_string(fixture->result, "output");
}

static int
exit_code(const struct fixture *fixture)
{
	int64_t code = -99;

	json_member_integer(fixture->result, "exit_code", &code);
	return (int)code;
}

static bool
lives(const char *marker)
{
	char command[128];

	snprintf(command, sizeof command, "pgrep -f '^%s' >/dev/null", marker);
	return system(command) == 0;
}

static void
test_result(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, "echo out; echo err >&2; exit 3");
	assert_string_equal(output(fixture), "out\nerr\n");
	assert_int_equal(exit_code(fixture), 3);
	assert_true(fixture->failed);
	assert_true(json_object_object_get_ex(fixture->result, "error", NULL));
	assert_null(json_member(fixture->result, "error"));
	assert_non_null(strstr(fixture->run->shown.items[0].text, "Exit code 3"));
	assert_string_equal(fixture->run->card.title, "echo out; echo err >&2; exit 3");
	assert_non_null(strstr(fixture->run->card.contents.items[0].text, "$ echo out"));
	assert_null(json_member(fixture->result, "cwd"));
	run(fixture, "true");
	assert_false(fixture->failed);
	run(fixture, "kill -9 $$");
	assert_int_equal(exit_code(fixture), 137);
	assert_true(fixture->failed);
	assert_non_null(
	    strstr(json_member_string(fixture->result, "exit_code_meaning"), "signal 9"));
	run(fixture, "grep nothing /dev/null");
	assert_false(fixture->failed);
	assert_string_equal(
	    json_member_string(fixture->result, "exit_code_meaning"), "no match");
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
	expected = xasprintf("%s\n", fixture->cwd);
	assert_string_equal(output(fixture), expected);
	free(expected);
	run(fixture,
	    "mkdir -p 'sub dir/deep' && cd 'sub dir/deep' && export A=$'x\\n\"y' B=2; C=3");
	assert_non_null(strstr(json_member_string(fixture->result, "cwd"), "/sub dir/deep"));
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
	assert_non_null(strstr(json_member_string(fixture->result, "note"), "is gone"));
	run(fixture, "cd /; kill -9 $$");
	run(fixture, "basename \"$PWD\"; (cd /; exit 1); trap 'echo mine' EXIT");
	assert_string_equal(output(fixture), "sub dir\nmine\n");
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
	assert_true(fixture->finished && fixture->failed);
	assert_non_null(strstr(json_member_string(fixture->result, "error"), "/no/such"));
}

static void
test_arguments(void **state)
{
	struct fixture *fixture = *state;
	struct json_object *arguments = arguments_of("sleep 5");

	json_set_boolean(arguments, "background", true);
	begin(fixture, arguments);
	assert_true(fixture->finished && fixture->failed);
	assert_non_null(strstr(json_member_string(fixture->result, "error"), "background"));
	begin(fixture, json_object_new_object());
	assert_non_null(strstr(json_member_string(fixture->result, "error"), "command"));
	begin(fixture, arguments_of(" \n"));
	assert_true(fixture->failed);
	arguments = arguments_of("true");
	json_set_integer(arguments, "timeout", 1000000000);
	begin(fixture, arguments);
	run_loop(fixture, 5000);
	assert_non_null(strstr(json_member_string(fixture->result, "note"), "600 s was used"));
	arguments = arguments_of("true");
	json_set_text(arguments, "timeout", "soon");
	begin(fixture, arguments);
	run_loop(fixture, 5000);
	assert_non_null(strstr(json_member_string(fixture->result, "note"), "default"));
	fixture->context.mode = SESSION_MODE_PLAN;
	begin(fixture, arguments_of("true"));
	assert_int_equal(fixture->run->permission.verdict, TOOL_REFUSED);
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
	assert_true(fixture->finished && fixture->failed);
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
	tool_run_cancel(fixture->run);
	assert_true(fixture->finished && fixture->failed);
	assert_int_equal(exit_code(fixture), 130);
	assert_string_equal(output(fixture), "up\n[Command interrupted]");
	/* The next command waits until everything is gone. */
	run(fixture, "pgrep -f '^sleep 38.6[123]' || echo none");
	assert_string_equal(output(fixture), "none\n");
	begin(fixture, arguments_of("sleep 38.64"));
	run_loop(fixture, 200);
	clear_run(fixture);
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
		    strstr(json_member_string(fixture->result, "note"), "still running"));
	}
	assert_true(lives("sleep 33.61"));
	assert_true(lives("sh -c while :; do echo tick"));
	assert_true(lives("sleep 35.61"));
	run(fixture, "echo next");
	assert_string_equal(output(fixture), "next\n");
	assert_true(lives("sleep 34.61"));
	clear_run(fixture);
	shell_state_free(fixture->context.shell);
	fixture->context.shell = NULL;
	event_base_dispatch(fixture->context.base);
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
test_environment(void **state)
{
	static const char config[] = "{\"terminal\":{\"env_passthrough\":[\"PASS_ME\"]}}";
	struct fixture *fixture = *state;
	const char *reason;

	setenv("OPENROUTER_API_KEY", "sk-test", 1);
	setenv("GITHUB_TOKEN", "ghp-test", 1);
	setenv("LC_SECRET_TOKEN", "x", 1);
	setenv("PASS_ME", "yes", 1);
	setenv("EDITOR", "vim", 1);
	setenv("PATH", "relative:/usr/bin", 1);
	fixture->context.config = json_parse(config, sizeof config - 1, &reason);
	assert_non_null(fixture->context.config);
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

static void
test_progress(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.05; done");
	assert_in_range(fixture->progress, 2, 5);
	run(fixture, "yes | head -c 20000000");
	assert_true(fixture->progress < 60);
	assert_non_null(strstr(output(fixture), "OUTPUT TRUNCATED"));
}

static char *
feed(const char *text, size_t length, size_t step)
{
	struct terminal_output *captured = terminal_output_new();
	size_t at, n, size;
	char *result;

	for (at = 0; at < length; at += n) {
		n = length - at < step ? length - at : step;
		terminal_output_feed(captured, text + at, n);
	}
	result = terminal_output_text(captured, &size);
	assert_true(utf8_valid(result, size));
	assert_int_equal(strlen(result), size);
	assert_true(utf8_count(result, size) <= TERMINAL_OUTPUT_MAX);
	terminal_output_free(captured);
	return result;
}

static void
test_output_text(void **state)
{
	static const struct {
		const char *in;
		size_t length;
		const char *out;
	} cases[] = {
#define CASE(in, out) {in, sizeof in - 1, out}
	    CASE("\xff\xfe"
		 "A\0B\n",
		UTF8_REPLACEMENT UTF8_REPLACEMENT "AB\n"),
	    CASE("\033[2K\r10%\r100%\n", "100%\n"),
	    CASE("\033[?25l\033]8;;http://x\033\\link\033]8;;\033\\\n", "link\n"),
	    CASE("a\r\nb\r\r\nc", "a\nb\nc"),
	    CASE("50%\r", "50%"),
	    CASE("abc\rxy\n", "xy\n"),
	    CASE("\033[1;31mred\033[0m \xe4\xb8\xad", "red \xe4\xb8\xad"),
	    CASE("N\bNA\b\b", ""),
	    CASE("x\xe4\xb8", "x" UTF8_REPLACEMENT),
	    CASE("\033]0;title\007ok\033(Bk", "okk"),
	    CASE("\033[12\nnext", "\nnext"),
	    CASE("one\n1\r2\r3\ntwo\r", "one\n3\ntwo"),
#undef CASE
	};
	size_t i, step;
	char *text;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		for (step = 1; step < 20; step += 3) {
			text = feed(cases[i].in, cases[i].length, step);
			assert_string_equal(text, cases[i].out);
			free(text);
		}
}

static char *
repeat(const char *part, size_t count, size_t *length)
{
	struct buffer text = BUFFER_EMPTY;

	while (count-- > 0)
		buffer_append_text(&text, part);
	*length = text.length;
	return buffer_take(&text);
}

static void
test_output_limit(void **state)
{
	size_t length, i;
	char *in, *out;
	static const size_t sizes[] = {49999, 50000, 50001, 3000000};
	static const char *const parts[] = {"x", "\xe4\xb8\xad"};

	(void)state;
	for (i = 0; i < 8; i++) {
		in = repeat(parts[i % 2], sizes[i / 2], &length);
		out = feed(in, length, 65536);
		assert_int_equal(strstr(out, "OUTPUT TRUNCATED") != NULL, sizes[i / 2] > 50000);
		if (sizes[i / 2] <= 50000)
			assert_string_equal(in, out);
		free(in);
		free(out);
	}
	in = repeat("line\n", 100000, &length);
	memcpy(in + length - 5, "LAST\n", 5);
	out = feed(in, length, 1000);
	assert_non_null(strstr(out, "LAST"));
	assert_non_null(strstr(out, "omitted out of 500000 total"));
	free(in);
	free(out);
}

static void
test_meanings(void **state)
{
	bool normal;

	(void)state;
	assert_string_equal(exit_meaning_find("cd x && ls | grep y", 1, &normal), "no match");
	assert_true(normal);
	exit_meaning_find("make test && grep y f", 1, &normal);
	assert_false(normal);
	exit_meaning_find("grep y f", 2, &normal);
	assert_false(normal);
	exit_meaning_find("diff a b", 1, &normal);
	assert_true(normal);
	exit_meaning_find("git diff --exit-code", 1, &normal);
	assert_true(normal);
	exit_meaning_find("git push", 1, &normal);
	assert_false(normal);
	assert_null(exit_meaning_find("echo grep", 1, &normal));
	assert_false(normal);
	assert_null(exit_meaning_find("grep x y", 0, &normal));
	assert_true(normal);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_result, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_no_input, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_folder_and_exports, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_workdir, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_arguments, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_timeout, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_cancel, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_leftovers, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_long_command, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_progress, set_up, tear_down),
	    cmocka_unit_test(test_output_text),
	    cmocka_unit_test(test_output_limit),
	    cmocka_unit_test(test_meanings),
	    cmocka_unit_test_setup_teardown(test_environment, set_up, tear_down),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
