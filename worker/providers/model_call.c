/*
 * Starting requests in the dialect that the runtime names, and trying again what may heal.
 * finished() is called once, never from within model_call_start().
 */
#include <config.h>

#include "worker/providers/provider.h"
#include "worker/providers/http_error.h"
#include "worker/providers/model_keys.h"
#include "worker/providers/retry.h"
#include "worker/config/runtime.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <event2/event.h>
#include <event2/util.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of text and thoughts of one answer. Models end at a few hundred KiB; one that does not
 * end would fill the memory, the disk and the user's screen. */
#define ANSWER_MAX (4u << 20)

struct model_call {
	struct event_base *base;
	const struct api_mode *mode; /* NULL when there is no such dialect */
	void *state;		     /* of the mode; NULL before the first and between tries */
	struct model_request request;
	struct runtime runtime;	 /* its own: the agent may go over to another one */
	struct model_keys *keys; /* NULL when there is just the one */
	char *session_id;
	struct model_callbacks callbacks;
	void *arg;
	struct event *timer; /* the next try, or the error that is told later */
	unsigned attempts;   /* made so far */
	size_t size;	     /* of text and thoughts so far */
	bool shown;	     /* text went out: a second answer would repeat it */
	bool running;	     /* the mode has not said that it is finished */
	bool paused;
};

static const char *
label_of(const struct model_call *call)
{
	const struct runtime *runtime = call->request.runtime;

	if (runtime->label != NULL && runtime->label[0] != '\0')
		return runtime->label;
	return runtime->provider != NULL ? runtime->provider : "the model's server";
}

/* False for what comes after the limit. The mode is in the middle of something: it is ended by
 * the timer. */
static bool
count(struct model_call *call, size_t length)
{
	if (call->size > ANSWER_MAX)
		return false;
	call->size += length;
	if (call->size > ANSWER_MAX)
		event_active(call->timer, EV_TIMEOUT, 0);
	return true;
}

static void
on_text(const char *bytes, size_t length, void *arg)
{
	struct model_call *call = arg;

	call->shown = true;
	if (count(call, length))
		call->callbacks.text(bytes, length, call->arg);
}

static void
on_thought(const char *bytes, size_t length, void *arg)
{
	struct model_call *call = arg;

	if (count(call, length))
		call->callbacks.thought(bytes, length, call->arg);
}

static void
on_notice(const char *text, void *arg)
{
	struct model_call *call = arg;

	if (call->callbacks.notice != NULL)
		call->callbacks.notice(text, call->arg);
}

static void
try_later(struct model_call *call, const struct model_answer *answer)
{
	struct timeval interval;
	uint32_t random;
	int64_t delay;
	char *notice;

	evutil_secure_rng_get_bytes(&random, sizeof random);
	delay = retry_delay_ms(answer, call->attempts, random, retry_scale());
	interval = monotonic_interval(delay);
	event_add(call->timer, &interval);
	notice = retry_notice(
	    answer, label_of(call), delay, call->attempts, retry_tries(&call->runtime));
	log_info("model", "%s: %s", notice, answer->message != NULL ? answer->message : "");
	/* Last: the callback may cancel the call. */
	if (delay > RETRY_NOTICE_MS)
		on_notice(notice, call);
	free(notice);
}

/* With another key, at once; the tries begin anew. */
static bool
try_next_key(struct model_call *call, const struct model_answer *answer)
{
	char *notice;

	if (call->shown || !model_keys_next(call->keys, answer, &notice))
		return false;
	call->attempts = 0;
	event_active(call->timer, EV_TIMEOUT, 0);
	/* Last: the callback may cancel the call. */
	if (notice != NULL)
		on_notice(notice, call);
	free(notice);
	return true;
}

static void
on_finished(const struct model_answer *answer, void *arg)
{
	struct model_call *call = arg;

	call->running = false;
	if (try_next_key(call, answer))
		return;
	if (call->request.task == NULL && call->size <= ANSWER_MAX &&
	    retry_wanted(answer, call->attempts, retry_tries(&call->runtime), call->shown)) {
		try_later(call, answer);
		return;
	}
	call->callbacks.finished(answer, call->arg);
}

static void
start_try(struct model_call *call)
{
	static const struct model_callbacks callbacks = {.text = on_text,
	    .thought = on_thought,
	    .finished = on_finished,
	    .notice = on_notice};

	call->request.attempt = call->attempts++;
	call->running = true;
	call->size = 0;
	call->state = call->mode->start(call->base, &call->request, &callbacks, call);
	if (call->paused && call->mode->pause != NULL)
		call->mode->pause(call->state, true);
}

static void
tell_unknown_mode(struct model_call *call)
{
	const char *name = call->request.runtime->api_mode;
	struct model_answer answer = {.usage = {-1, -1, -1, -1, -1, -1}};
	char *message = xasprintf("The provider %s is configured with api_mode \"%s\", which "
				  "is not known; use chat_completions or "
				  "anthropic_messages",
	    label_of(call), name != NULL ? name : "");

	http_error_set(&answer, MODEL_ERROR_REQUEST, message);
	free(message);
	call->callbacks.finished(&answer, call->arg);
	model_answer_clear(&answer);
}

static void
end_too_long(struct model_call *call)
{
	struct model_answer answer = {
	    .finish = FINISH_LENGTH, .usage = {-1, -1, -1, -1, -1, -1}, .retry_after_ms = -1};

	answer.message =
	    xasprintf("The answer was ended here: it is longer than %u MiB.", ANSWER_MAX >> 20);
	call->mode->cancel(call->state);
	call->state = NULL;
	call->running = false;
	call->callbacks.finished(&answer, call->arg);
	model_answer_clear(&answer);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct model_call *call = arg;

	(void)fd;
	(void)what;
	if (call->mode == NULL) {
		tell_unknown_mode(call);
		return;
	}
	if (call->running) {
		end_too_long(call);
		return;
	}
	if (call->state != NULL)
		call->mode->release(call->state);
	start_try(call);
}

struct model_call *
model_call_start(struct event_base *base, const struct model_request *request,
    const struct model_callbacks *callbacks, void *arg)
{
	struct model_call *call = xcalloc(1, sizeof *call);

	call->base = base;
	call->request = *request;
	runtime_copy(&call->runtime, request->runtime);
	call->request.runtime = &call->runtime;
	call->keys = model_keys_new(base, &call->runtime);
	call->request.messages = json_object_get(request->messages);
	call->request.tools = json_object_get(request->tools);
	if (request->session_id != NULL)
		call->session_id = xstrdup(request->session_id);
	call->request.session_id = call->session_id;
	call->callbacks = *callbacks;
	call->arg = arg;
	call->mode = api_mode_find(request->runtime->api_mode);
	call->timer = evtimer_new(base, on_timer, call);
	secret_register(call->runtime.api_key);
	if (call->mode != NULL)
		start_try(call);
	else
		event_active(call->timer, EV_TIMEOUT, 0);
	return call;
}

const struct runtime *
model_call_runtime(const struct model_call *call)
{
	return &call->runtime;
}

void
model_call_pause(struct model_call *call, bool pause)
{
	call->paused = pause;
	/* Between two tries there is nothing to pause; the next one learns of it. */
	if (call->running && call->mode->pause != NULL)
		call->mode->pause(call->state, pause);
}

void
model_call_cancel(struct model_call *call)
{
	if (call == NULL)
		return;
	if (call->running)
		call->mode->cancel(call->state);
	else if (call->state != NULL)
		call->mode->release(call->state);
	event_free(call->timer);
	model_keys_free(call->keys);
	runtime_clear(&call->runtime);
	json_object_put(call->request.messages);
	json_object_put(call->request.tools);
	free(call->session_id);
	free(call);
}

void
model_call_free(struct model_call *call)
{
	model_call_cancel(call);
}
