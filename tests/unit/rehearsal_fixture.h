/*
 * The rehearsal provider with a script in a file: how it is played, and what the callbacks
 * of a model have seen.
 */
#ifndef HERMES_TESTS_UNIT_REHEARSAL_FIXTURE_H
#define HERMES_TESTS_UNIT_REHEARSAL_FIXTURE_H

#include "common/monotonic.h"
#include "tests/unit/parsed_json.h"
#include "tests/unit/scratch.h"
#include "worker/config/runtime.h"
#include "worker/providers/provider.h"

#include <event2/event.h>

extern const struct api_mode api_mode_rehearsal;

struct play {
	char *folder, *file;
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

static inline void
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

static inline void
on_thought(const char *bytes, size_t length, void *arg)
{
	struct play *play = arg;

	buffer_append(&play->thought, bytes, length);
}

static inline void
on_notice(const char *text, void *arg)
{
	struct play *play = arg;

	buffer_append_text(&play->notice, text);
}

/* Keeps the answer as JSON: {message, extra, calls: [{id, name, arguments, complete}]}. */
static inline void
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

static inline void
write_script(struct play *play, const char *script)
{
	scratch_put_text(play->file, script);
}

static inline void
begin(struct play *play, const char *messages, bool tools)
{
	static const struct model_callbacks callbacks = {
	    on_text, on_thought, on_finished, on_notice};
	struct model_request request = {
	    .runtime = &play->runtime,
	    .messages = parsed_json(messages),
	    .tools = tools ? parsed_json("[{\"type\":\"function\"}]") : NULL,
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

static inline void
end(struct play *play)
{
	if (play->state != NULL)
		api_mode_rehearsal.release(play->state);
	play->state = NULL;
}

static inline void
run(struct play *play, const char *messages)
{
	begin(play, messages, true);
	event_base_dispatch(play->base);
	assert_true(play->ended);
	end(play);
}

static inline void
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
static inline void
run_steps(struct play *play, const char *steps)
{
	struct buffer script = BUFFER_EMPTY;

	buffer_printf(&script, "{\"default\":{\"rounds\":[[%s]]}}", steps);
	write_script(play, buffer_text(&script));
	buffer_free(&script);
	run_prompt(play, "go");
}

static inline void
wait_ms(struct play *play, int64_t milliseconds)
{
	struct timeval interval = monotonic_interval(milliseconds);

	event_base_loopexit(play->base, &interval);
	event_base_dispatch(play->base);
}

static inline const char *
message_of(struct play *play)
{
	return json_member_text(play->answer, "message", "");
}

static inline struct json_object *
call_of(struct play *play, size_t index)
{
	return json_object_array_get_idx(json_member_array(play->answer, "calls"), index);
}

static inline int
set_up(void **state)
{
	struct play *play = xcalloc(1, sizeof *play);

	play->folder = scratch_new();
	play->file = xasprintf("%s/script.json", play->folder);
	play->base = event_base_new();
	play->runtime.rehearsal_file = play->file;
	*state = play;
	return 0;
}

static inline int
tear_down(void **state)
{
	struct play *play = *state;

	scratch_remove(play->folder);
	event_base_free(play->base);
	buffer_free(&play->text);
	buffer_free(&play->thought);
	buffer_free(&play->notice);
	json_object_put(play->answer);
	free(play->file);
	free(play);
	return 0;
}

#define PLAY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
