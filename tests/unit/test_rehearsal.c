/*
 * The rehearsal provider: choosing, playing, pausing, ending, faults, and what it says of
 * broken scripts.
 */
#include <config.h>

#include "common/alloc.h"
#include "common/buffer.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/monotonic.h"
#include "worker/config/runtime.h"
#include "worker/providers/provider.h"
#include "worker/providers/rehearsal_script.h"

#include <event2/event.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern const struct api_mode api_mode_rehearsal;

struct play {
	char folder[32];
	char file[64];
	struct event_base *base;
	struct runtime runtime;
	void *state;
	struct buffer text, thought, notice;
	size_t texts;
	int64_t times[16];
	size_t cancel_after, pause_after;
	bool ended, release_inside;
	enum finish_reason finish;
	enum model_error error;
	struct model_usage usage;
	struct json_object *answer;
	int64_t retry_after_ms;
	int status;
};

static void
on_text(const char *bytes, size_t length, void *arg)
{
	struct play *play = arg;

	assert_true(length > 0);
	assert_non_null(play->state);
	if (play->texts < 16)
		play->times[play->texts] = monotonic_ms();
	play->texts++;
	buffer_append(&play->text, bytes, length);
	if (play->texts == play->pause_after)
		api_mode_rehearsal.pause(play->state, true);
	if (play->texts == play->cancel_after) {
		api_mode_rehearsal.cancel(play->state);
		play->state = NULL;
		event_base_loopbreak(play->base);
	}
}

static void
on_thought(const char *bytes, size_t length, void *arg)
{
	struct play *play = arg;

	buffer_append(&play->thought, bytes, length);
}

static void
on_notice(const char *text, void *arg)
{
	struct play *play = arg;

	buffer_append_text(&play->notice, text);
}

/* Keeps the answer as JSON: {message, extra, calls: [{id, name, arguments}]}. */
static void
on_finished(const struct model_answer *answer, void *arg)
{
	struct play *play = arg;
	struct json_object *calls = json_object_new_array(), *call;

	assert_false(play->ended);
	play->ended = true;
	play->finish = answer->finish;
	play->error = answer->error;
	play->status = answer->status;
	play->usage = answer->usage;
	play->retry_after_ms = answer->retry_after_ms;
	play->answer = json_object_new_object();
	json_set_text(play->answer, "message", answer->message);
	json_set(play->answer, "extra", json_copy(answer->extra));
	json_set(play->answer, "calls", calls);
	for (size_t i = 0; i < answer->call_count; i++) {
		call = json_object_new_object();
		json_set_text(call, "id", answer->calls[i].id);
		json_set_text(call, "name", answer->calls[i].name);
		json_set_text(call, "arguments", answer->calls[i].arguments);
		json_object_array_add(calls, call);
	}
	if (play->release_inside) {
		api_mode_rehearsal.release(play->state);
		play->state = NULL;
	}
	event_base_loopbreak(play->base);
}

static void
write_script(struct play *play, const char *script)
{
	int fd = open(play->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, script, strlen(script)), 0);
	close(fd);
}

static struct json_object *
parse(const char *text)
{
	const char *reason;
	struct json_object *value = json_parse(text, strlen(text), &reason);

	if (value == NULL)
		fail_msg("%s: %s", reason, text);
	return value;
}

static void
begin(struct play *play, const char *messages, bool tools)
{
	static const struct model_callbacks callbacks = {
	    on_text, on_thought, on_finished, on_notice};
	struct model_request request = {
	    .runtime = &play->runtime,
	    .messages = parse(messages),
	    .tools = tools ? parse("[{\"type\":\"function\"}]") : NULL,
	    .session_id = "s",
	};

	buffer_clear(&play->text);
	buffer_clear(&play->thought);
	buffer_clear(&play->notice);
	json_object_put(play->answer);
	play->answer = NULL;
	play->ended = false;
	play->texts = 0;
	play->state = api_mode_rehearsal.start(play->base, &request, &callbacks, play);
	assert_non_null(play->state);
	assert_false(play->ended);
	json_object_put(request.messages);
	json_object_put(request.tools);
}

static void
end(struct play *play)
{
	if (play->state != NULL)
		api_mode_rehearsal.release(play->state);
	play->state = NULL;
}

static void
run(struct play *play, const char *messages)
{
	begin(play, messages, true);
	event_base_dispatch(play->base);
	assert_true(play->ended);
	end(play);
}

static void
run_prompt(struct play *play, const char *prompt)
{
	struct buffer messages = BUFFER_EMPTY;

	buffer_append_text(&messages, "[{\"role\":\"user\",\"content\":");
	buffer_append_json_text(&messages, prompt);
	buffer_append_text(&messages, "}]");
	run(play, buffer_text(&messages));
	buffer_free(&messages);
}

/* Plays one round given by its steps. */
static void
run_steps(struct play *play, const char *steps)
{
	struct buffer script = BUFFER_EMPTY;

	buffer_printf(&script, "{\"default\":{\"rounds\":[[%s]]}}", steps);
	write_script(play, buffer_text(&script));
	buffer_free(&script);
	run_prompt(play, "go");
}

static const char *
message_of(struct play *play)
{
	return json_member_text(play->answer, "message", "");
}

static struct json_object *
call_of(struct play *play, size_t index)
{
	return json_object_array_get_idx(json_member_array(play->answer, "calls"), index);
}

static int
set_up(void **state)
{
	struct play *play = xcalloc(1, sizeof *play);

	strcpy(play->folder, "/tmp/rehearsal.XXXXXX");
	assert_non_null(mkdtemp(play->folder));
	snprintf(play->file, sizeof play->file, "%s/script.json", play->folder);
	play->base = event_base_new();
	play->runtime.rehearsal_file = play->file;
	*state = play;
	return 0;
}

static int
tear_down(void **state)
{
	struct play *play = *state;
	char marker[64];

	snprintf(marker, sizeof marker, "%s/marker", play->folder);
	unlink(marker);
	unlink(play->file);
	rmdir(play->folder);
	event_base_free(play->base);
	buffer_free(&play->text);
	buffer_free(&play->thought);
	buffer_free(&play->notice);
	json_object_put(play->answer);
	free(play);
	return 0;
}

static void
test_choice(void **state)
{
	struct play *play = *state;

	write_script(play,
	    "{\"replies\":[{\"match\":\"Apple\",\"rounds\":[[{\"text\":\"one\"}]]},"
	    "{\"match_regex\":\"^b[0-9]+$\",\"rounds\":[[{\"text\":\"two\"}]]}],"
	    "\"default\":{\"rounds\":[[{\"text\":\"three\"}]]}}");
	run_prompt(play, "an apple a day");
	assert_string_equal(buffer_text(&play->text), "one");
	run_prompt(play, "b17");
	assert_string_equal(buffer_text(&play->text), "two");
	run_prompt(play, "B17");
	assert_string_equal(buffer_text(&play->text), "three");
	run(play, "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},"
		  "{\"type\":\"image_url\"},{\"type\":\"text\",\"text\":\"my apple\"}]}]");
	assert_string_equal(buffer_text(&play->text), "one");
	run(play, "[{\"role\":\"user\",\"content\":\"apple\"},"
		  "{\"role\":\"assistant\",\"content\":\"one\"},"
		  "{\"role\":\"user\",\"content\":\"pear\"}]");
	assert_string_equal(buffer_text(&play->text), "three");
	run(play, "[]");
	assert_string_equal(buffer_text(&play->text), "three");
}

static void
test_rounds_follow_the_conversation(void **state)
{
	struct play *play = *state;

	write_script(play, "{\"default\":{\"rounds\":[[{\"tool\":{\"name\":\"a\"}}],"
			   "[{\"text\":\"<${prompt}|${last_result}|${other}|${\"}]]}}");
	run_prompt(play, "p");
	assert_int_equal(play->finish, FINISH_TOOL_CALLS);
	run(play,
	    "[{\"role\":\"assistant\",\"content\":\"old\"},{\"role\":\"user\",\"content\":"
	    "\"p\"},"
	    "{\"role\":\"assistant\",\"content\":null},{\"role\":\"tool\",\"content\":\"r1\"},"
	    "{\"role\":\"tool\",\"content\":\"r2\"}]");
	assert_string_equal(buffer_text(&play->text), "<p|r2|${other}|${");
	assert_int_equal(play->finish, FINISH_STOP);
	run(play,
	    "[{\"role\":\"user\",\"content\":\"p\"},{\"role\":\"assistant\",\"content\":\"\"},"
	    "{\"role\":\"assistant\",\"content\":\"\"}]");
	assert_non_null(strstr(buffer_text(&play->text), "last round"));
	assert_int_equal(play->finish, FINISH_STOP);
}

static void
test_chunks_keep_code_points(void **state)
{
	struct play *play = *state;

	run_steps(play, "{\"text\":\"\xc3\xa4\xe2\x82\xac"
			"xyz\",\"chunk\":2,\"every_ms\":5}");
	assert_string_equal(buffer_text(&play->text), "\xc3\xa4\xe2\x82\xacxyz");
	assert_int_equal(play->texts, 3);
	assert_true(play->times[2] - play->times[0] >= 8);
	run_steps(play, "{\"text\":\"\"},{\"text\":\"whole\"}");
	assert_int_equal(play->texts, 1);
}

static void
test_thought_is_kept(void **state)
{
	struct play *play = *state;

	run_steps(
	    play, "{\"thought\":\"hm \",\"chunk\":1},{\"thought\":\"so\"},{\"text\":\"t\"}");
	assert_string_equal(buffer_text(&play->thought), "hm so");
	assert_string_equal(
	    json_member_text(json_member(play->answer, "extra"), "reasoning", ""), "hm so");
	run_steps(play, "{\"text\":\"t\"},{\"notice\":\"wait\"}");
	assert_null(json_member(play->answer, "extra"));
	assert_string_equal(buffer_text(&play->notice), "wait");
}

static void
test_repeat(void **state)
{
	struct play *play = *state;

	run_steps(play, "{\"repeat\":{\"text\":\"ab\",\"count\":20000}}");
	assert_int_equal(play->texts, 20000);
	assert_int_equal(play->text.length, 40000);
	run_steps(play, "{\"repeat\":{\"text\":\"x\",\"count\":0}},"
			"{\"repeat\":{\"text\":\"y\",\"count\":5,\"slice\":1}},"
			"{\"repeat\":{\"text\":\"z\",\"count\":2,\"thought\":true}}");
	assert_string_equal(buffer_text(&play->text), "yyyyy");
	assert_string_equal(buffer_text(&play->thought), "zz");
}

static void
test_tools(void **state)
{
	struct play *play = *state;
	const char *id;

	run_steps(play,
	    "{\"tool\":{\"name\":\"terminal\",\"arguments\":{\"command\":\"echo ${prompt}\","
	    "\"list\":[\"${prompt}\",1,true,null]}}},"
	    "{\"tool\":{\"name\":\"b\",\"arguments\":\"{broken\",\"id\":\"\"}},"
	    "{\"tool\":{\"name\":\"c\"}}");
	assert_int_equal(play->finish, FINISH_TOOL_CALLS);
	assert_string_equal(json_member_text(call_of(play, 0), "arguments", ""),
	    "{\"command\":\"echo go\",\"list\":[\"go\",1,true,null]}");
	assert_string_equal(json_member_text(call_of(play, 1), "arguments", ""), "{broken");
	assert_string_equal(json_member_text(call_of(play, 1), "id", "none"), "");
	assert_string_equal(json_member_text(call_of(play, 2), "arguments", ""), "{}");
	id = json_member_text(call_of(play, 0), "id", "");
	assert_true(strlen(id) > 8);
	assert_string_not_equal(id, json_member_text(call_of(play, 2), "id", ""));
	run_steps(play, "{\"tool\":{\"name\":\"c\"}},{\"finish\":\"length\"}");
	assert_int_equal(play->finish, FINISH_LENGTH);
	/* Without tools on offer none is called. */
	begin(play, "[{\"role\":\"user\",\"content\":\"go\"}]", false);
	event_base_dispatch(play->base);
	end(play);
	assert_null(call_of(play, 0));
}

static void
test_usage_and_finish(void **state)
{
	struct play *play = *state;

	run_steps(play, "{\"text\":\"a\"}");
	assert_int_equal(play->usage.input_tokens, -1);
	assert_int_equal(play->usage.total_tokens, -1);
	run_steps(play, "{\"usage\":{\"input\":7,\"output\":3,\"reasoning\":1}},"
			"{\"finish\":\"refusal\"}");
	assert_int_equal(play->usage.input_tokens, 7);
	assert_int_equal(play->usage.total_tokens, 10);
	assert_int_equal(play->usage.reasoning_tokens, 1);
	assert_int_equal(play->usage.cache_read_tokens, -1);
	assert_int_equal(play->finish, FINISH_REFUSAL);
}

static void
test_errors(void **state)
{
	struct play *play = *state;

	run_steps(play,
	    "{\"text\":\"part\"},{\"error\":{\"kind\":\"rate_limit\",\"status\":429,"
	    "\"message\":\"slow down\",\"retry_after_ms\":1500}},{\"text\":\"no\"}");
	assert_string_equal(buffer_text(&play->text), "part");
	assert_int_equal(play->finish, FINISH_ERROR);
	assert_int_equal(play->error, MODEL_ERROR_RATE_LIMIT);
	assert_int_equal(play->status, 429);
	assert_int_equal(play->retry_after_ms, 1500);
	assert_string_equal(message_of(play), "slow down");
	run_steps(play, "{\"error\":{\"kind\":\"interrupted\"}}");
	assert_int_equal(play->error, MODEL_ERROR_INTERRUPTED);
	assert_int_equal(play->retry_after_ms, -1);
	assert_true(strlen(message_of(play)) > 0);
}

static void
test_delay(void **state)
{
	struct play *play = *state;

	run_steps(play, "{\"text\":\"a\"},{\"delay_ms\":40},{\"text\":\"b\"}");
	assert_int_equal(play->texts, 2);
	assert_true(play->times[1] - play->times[0] >= 38);
}

static void
wait_ms(struct play *play, int64_t milliseconds)
{
	struct timeval interval = monotonic_interval(milliseconds);

	event_base_loopexit(play->base, &interval);
	event_base_dispatch(play->base);
}

static void
test_pause(void **state)
{
	struct play *play = *state;

	write_script(play,
	    "{\"default\":{\"rounds\":[[{\"repeat\":{\"text\":\"x\",\"count\":500}},"
	    "{\"delay_ms\":20},{\"text\":\"end\"}]]}}");
	play->pause_after = 100;
	begin(play, "[{\"role\":\"user\",\"content\":\"\"}]", true);
	wait_ms(play, 50);
	assert_int_equal(play->texts, 100);
	assert_false(play->ended);
	api_mode_rehearsal.pause(play->state, false);
	api_mode_rehearsal.pause(play->state, false);
	event_base_dispatch(play->base);
	assert_true(play->ended);
	assert_int_equal(play->texts, 501);
	end(play);
}

static void
test_pause_in_a_delay(void **state)
{
	struct play *play = *state;

	write_script(play, "{\"default\":{\"rounds\":[[{\"delay_ms\":30},{\"text\":\"a\"}]]}}");
	begin(play, "[]", true);
	wait_ms(play, 5);
	api_mode_rehearsal.pause(play->state, true);
	api_mode_rehearsal.pause(play->state, false);
	wait_ms(play, 5);
	assert_int_equal(play->texts, 0);
	api_mode_rehearsal.pause(play->state, true);
	wait_ms(play, 40);
	assert_int_equal(play->texts, 0);
	api_mode_rehearsal.pause(play->state, false);
	event_base_dispatch(play->base);
	assert_true(play->ended);
	end(play);
}

static void
test_cancel(void **state)
{
	struct play *play = *state;

	/* From within a callback. */
	write_script(play,
	    "{\"replies\":[{\"match\":\"hang\",\"rounds\":[[{\"hang\":true}]]}],"
	    "\"default\":{\"rounds\":[[{\"repeat\":{\"text\":\"x\",\"count\":500}}]]}}");
	play->cancel_after = 70;
	begin(play, "[]", true);
	event_base_dispatch(play->base);
	assert_false(play->ended);
	assert_int_equal(play->texts, 70);
	/* While it hangs, and before it began. */
	begin(play, "[{\"role\":\"user\",\"content\":\"hang\"}]", true);
	wait_ms(play, 20);
	assert_false(play->ended);
	api_mode_rehearsal.pause(play->state, true);
	api_mode_rehearsal.pause(play->state, false);
	wait_ms(play, 5);
	assert_false(play->ended);
	api_mode_rehearsal.cancel(play->state);
	begin(play, "[]", true);
	api_mode_rehearsal.cancel(play->state);
	wait_ms(play, 5);
	assert_int_equal(play->texts, 0);
}

static void
test_release_inside_finished(void **state)
{
	struct play *play = *state;

	play->release_inside = true;
	run_steps(play, "{\"text\":\"a\"},{\"tool\":{\"name\":\"t\"}}");
	assert_null(play->state);
}

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

/* Each broken script and what its message must contain. */
static const struct {
	const char *script, *expected;
} broken[] = {
    {"", "line 1, column 1"},
    {"{\n  \"default\": x}", "line 2, column 14"},
    {"null", "not a JSON object"},
    {"[]", "the script must be an object"},
    {"{}", "needs \"replies\" or \"default\""},
    {"{\"replay\":[]}", "no member \"replay\""},
    {"{\"replies\":{}}", "\"replies\" must be an array"},
    {"{\"replies\":[1]}", "reply 1: must be an object"},
    {"{\"replies\":[{\"rounds\":[]}]}", "reply 1: needs exactly one of"},
    {"{\"replies\":[{\"match\":1,\"rounds\":[]}]}", "\"match\" must be a string"},
    {"{\"replies\":[{\"match\":\"a\",\"match_regex\":\"a\",\"rounds\":[]}]}", "exactly one"},
    {"{\"replies\":[{\"match_regex\":\"(\",\"rounds\":[]}]}", "no regular expression"},
    {"{\"replies\":[{\"match\":\"a\",\"rounds\":[]},{\"match\":\"b\"}]}",
	"reply 2: \"rounds\" must be an array"},
    {"{\"default\":{\"match\":\"a\",\"rounds\":[]}}", "default: has no member \"match\""},
    {"{\"default\":{\"rounds\":[[],{}]}}", "default, round 2: a round must be an array"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\"},7]]}}",
	"default, round 1, step 2: a step must"},
    {"{\"default\":{\"rounds\":[[{}]]}}", "a step needs one of"},
    {"{\"default\":{\"rounds\":[[{\"txt\":\"a\"}]]}}", "a step needs one of"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\",\"thought\":\"b\"}]]}}", "cannot be both"},
    {"{\"default\":{\"rounds\":[[{\"text\":7}]]}}", "\"text\" must be a string"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\\u0000\"}]]}}", "must not contain"},
    {"{\"default\":{\"rounds\":[[{\"text\":null}]]}}", "\"text\" must be a string"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\",\"chunk\":0}]]}}",
	"\"chunk\" must be a whole number from 1"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\",\"every_ms\":\"5\"}]]}}",
	"\"every_ms\" must be a whole"},
    {"{\"default\":{\"rounds\":[[{\"text\":\"a\",\"size\":5}]]}}",
	"\"text\" has no member \"size\""},
    {"{\"default\":{\"rounds\":[[{\"repeat\":{\"text\":\"a\"}}]]}}",
	"lacks the member \"count\""},
    {"{\"default\":{\"rounds\":[[{\"repeat\":{\"text\":\"a\",\"count\":1},\"every_ms\":1}]]}}",
	"beside it"},
    {"{\"default\":{\"rounds\":[[{\"tool\":{}}]]}}", "lacks the member \"name\""},
    {"{\"default\":{\"rounds\":[[{\"tool\":{\"name\":\"a\",\"arguments\":[]}}]]}}",
	"\"arguments\" must be an object or a string"},
    {"{\"default\":{\"rounds\":[[{\"delay_ms\":-1}]]}}", "\"delay_ms\" must be a whole"},
    {"{\"default\":{\"rounds\":[[{\"finish\":\"end\"}]]}}",
	"stop, tool_calls, length, refusal"},
    {"{\"default\":{\"rounds\":[[{\"error\":{\"kind\":\"odd\"}}]]}}",
	"\"odd\" but must be one of connect"},
    {"{\"default\":{\"rounds\":[[{\"error\":500}]]}}", "\"error\" must be an object"},
    {"{\"default\":{\"rounds\":[[{\"hang\":false}]]}}", "\"hang\" must be true"},
    {"{\"default\":{\"rounds\":[[{\"fault\":{}}]]}}", "exactly one of signal, exit"},
    {"{\"default\":{\"rounds\":[[{\"fault\":{\"exit\":1,\"loop\":true}}]]}}", "exactly one"},
    {"{\"default\":{\"rounds\":[[{\"fault\":{\"signal\":\"WINCH\"}}]]}}", "ABRT, BUS"},
    {"{\"default\":{\"rounds\":[[{\"fault\":{\"exit\":256}}]]}}", "from 0 to 255"},
    {"{\"default\":{\"rounds\":[[{\"fault\":{\"exit\":1,\"at\":\"x\"}}]]}}", "now, finish"},
};

static void
test_broken_scripts(void **state)
{
	struct play *play = *state;
	struct buffer error = BUFFER_EMPTY;

	for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
		write_script(play, broken[i].script);
		buffer_clear(&error);
		assert_null(rehearsal_script_load(play->file, &error));
		assert_non_null(strstr(buffer_text(&error), play->file));
		if (strstr(buffer_text(&error), broken[i].expected) == NULL)
			fail_msg("%s: got: %s", broken[i].script, buffer_text(&error));
	}
	run_prompt(play, "a");
	assert_int_equal(play->finish, FINISH_ERROR);
	assert_int_equal(play->error, MODEL_ERROR_REQUEST);
	assert_non_null(strstr(message_of(play), "now, finish"));
	buffer_free(&error);
}

static void
test_files_that_are_no_scripts(void **state)
{
	struct play *play = *state;
	struct buffer error = BUFFER_EMPTY;

	assert_null(rehearsal_script_load(play->file, &error));
	assert_non_null(strstr(buffer_text(&error), strerror(ENOENT)));
	buffer_clear(&error);
	assert_null(rehearsal_script_load(play->folder, &error));
	assert_non_null(strstr(buffer_text(&error), "not a regular file"));
	buffer_clear(&error);
	assert_int_equal(mkfifo(play->file, 0600), 0);
	assert_null(rehearsal_script_load(play->file, &error));
	assert_non_null(strstr(buffer_text(&error), "not a regular file"));
	buffer_free(&error);
}

static void
test_built_in_script_is_good(void **state)
{
	struct play *play = *state;
	struct rehearsal_script *script;
	struct buffer error = BUFFER_EMPTY;

	write_script(play, rehearsal_builtin);
	script = rehearsal_script_load(play->file, &error);
	if (script == NULL)
		fail_msg("%s", buffer_text(&error));
	assert_int_equal(error.length, 0);
	rehearsal_script_free(script);
	buffer_free(&error);
}

static void
test_built_in_script(void **state)
{
	static const char *const tools[] = {"todo", "read_file", "patch", "terminal", "todo"};
	struct play *play = *state;
	struct buffer messages = BUFFER_EMPTY;
	size_t calls;

	play->runtime.rehearsal_file = NULL;
	for (size_t round = 0; round < 6; round++) {
		buffer_clear(&messages);
		buffer_append_text(&messages, "[{\"role\":\"user\",\"content\":\"anything\"}");
		for (size_t i = 0; i < round; i++)
			buffer_append_text(
			    &messages, ",{\"role\":\"assistant\",\"content\":null}");
		buffer_append_text(&messages, "]");
		run(play, buffer_text(&messages));
		calls = json_object_array_length(json_member_array(play->answer, "calls"));
		if (round == 5) {
			assert_int_equal(play->finish, FINISH_STOP);
			assert_true(play->text.length > 0);
			break;
		}
		assert_int_equal(play->finish, FINISH_TOOL_CALLS);
		assert_string_equal(
		    json_member_text(call_of(play, calls - 1), "name", ""), tools[round]);
	}
	run_prompt(play, "Hello there");
	assert_int_equal(play->finish, FINISH_STOP);
	run_prompt(play, "an error please");
	assert_int_equal(play->error, MODEL_ERROR_SERVER);
	assert_int_equal(play->status, 500);
	run_prompt(play, "parallel");
	assert_int_equal(json_object_array_length(json_member_array(play->answer, "calls")), 2);
	play->cancel_after = 3;
	begin(play, "[{\"role\":\"user\",\"content\":\"sleep\"}]", true);
	event_base_dispatch(play->base);
	assert_false(play->ended);
	assert_true(play->times[2] - play->times[0] >= 90);
	buffer_free(&messages);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_choice),
	    TEST(test_rounds_follow_the_conversation),
	    TEST(test_chunks_keep_code_points),
	    TEST(test_thought_is_kept),
	    TEST(test_repeat),
	    TEST(test_tools),
	    TEST(test_usage_and_finish),
	    TEST(test_errors),
	    TEST(test_delay),
	    TEST(test_pause),
	    TEST(test_pause_in_a_delay),
	    TEST(test_cancel),
	    TEST(test_release_inside_finished),
	    TEST(test_faults_need_permission),
	    TEST(test_faults),
	    TEST(test_broken_scripts),
	    TEST(test_files_that_are_no_scripts),
	    TEST(test_built_in_script_is_good),
	    TEST(test_built_in_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
