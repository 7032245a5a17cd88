/*
 * One request for a title. Whatever goes wrong means no title.
 */
#include <config.h>

#include "worker/agent/title_call.h"
#include "worker/agent/title_text.h"
#include "worker/providers/provider.h"
#include "common/alloc.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_TOKENS 512 /* as in Hermes */
#define ANSWER_MAX 4096	  /* bytes; no title is that long */

struct title_call {
	struct runtime runtime;
	struct model_call *call;
	struct event *timer;
	struct buffer answer;
	title_call_done done;
	void *arg;
};

static void
end(struct title_call *self, const char *title, const struct model_usage *usage)
{
	struct model_call *call = self->call;

	self->call = NULL;
	self->done(title, usage, &self->runtime, self->arg);
	model_call_free(call);
	title_call_cancel(self);
}

/* In the middle of the stream nothing can be ended: the timer does it. */
static void
on_text(const char *bytes, size_t length, void *arg)
{
	struct title_call *self = arg;

	if (self->answer.length + length > ANSWER_MAX)
		event_active(self->timer, EV_TIMEOUT, 0);
	else
		buffer_append(&self->answer, bytes, length);
}

static void
on_thought(const char *bytes, size_t length, void *arg)
{
	(void)bytes;
	(void)length;
	(void)arg;
}

static void
on_finished(const struct model_answer *answer, void *arg)
{
	struct title_call *self = arg;
	char *title = NULL;

	if (answer->finish == FINISH_ERROR)
		log_info("title", "no title was made: %s",
		    answer->message != NULL ? answer->message : "");
	else if (answer->finish != FINISH_REFUSAL)
		title = title_text_clean(buffer_text(&self->answer), self->answer.length);
	end(self, title,
	    answer->finish != FINISH_ERROR || model_usage_told(&answer->usage) ? &answer->usage
									       : NULL);
	free(title);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	log_info("title", "no title was made: the answer took too long or was too long");
	end(arg, NULL, NULL);
}

/* Thoughts would use up what is allowed for the title. Elsewhere than at these two the wish
 * not to think can be an error, so there it is left to the provider. */
static void
limit(struct runtime *runtime)
{
	static const char *const obedient[] = {"openrouter", "nous"};
	size_t i;

	runtime->max_tokens = OUTPUT_TOKENS;
	for (i = 0; i < sizeof obedient / sizeof obedient[0]; i++)
		if (strcmp(runtime->provider, obedient[i]) == 0)
			break;
	free(runtime->reasoning_effort);
	runtime->reasoning_effort =
	    xstrdup(i < sizeof obedient / sizeof obedient[0] ? "none" : "");
}

struct title_call *
title_call_start(
    struct event_base *base, const struct title_wanted *wanted, title_call_done done, void *arg)
{
	static const struct model_callbacks callbacks = {
	    .text = on_text, .thought = on_thought, .finished = on_finished};
	struct title_call *self = xcalloc(1, sizeof *self);
	struct timeval interval = monotonic_interval(wanted->timeout_ms);
	struct model_request request = {.runtime = &self->runtime,
	    .session_id = wanted->session_id,
	    .task = TITLE_CALL_TASK};

	runtime_copy(&self->runtime, wanted->runtime);
	limit(&self->runtime);
	self->done = done;
	self->arg = arg;
	self->timer = evtimer_new(base, on_timer, self);
	event_add(self->timer, &interval);
	request.messages =
	    title_text_messages(wanted->prompt, wanted->language, wanted->instructions);
	self->call = model_call_start(base, &request, &callbacks, self);
	json_object_put(request.messages);
	return self;
}

void
title_call_cancel(struct title_call *self)
{
	if (self == NULL)
		return;
	model_call_cancel(self->call);
	event_free(self->timer);
	buffer_free(&self->answer);
	runtime_clear(&self->runtime);
	free(self);
}
