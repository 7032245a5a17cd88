/*
 * When a server is asked for its models: shortly after a session was opened, when the answer
 * of before is a day old. The rehearsal is never asked. A failure is a line of the log and
 * nothing else.
 */
#include <config.h>

#include "worker/model_watch.h"

#include "worker/config/live_models.h"
#include "worker/config/runtime.h"
#include "worker/providers/model_list.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_MS 100 /* the first prompt goes before */
#define TIMEOUT_MS 15000
#define LIST_SECONDS (24 * 3600)
#define FAILURE_SECONDS (5 * 60)

struct model_watch {
	struct event_base *base;
	const struct configuration *configuration;
	struct runtime runtime;
	struct event *timer;
	struct model_list_call *call;
	void (*changed)(void *arg);
	void *arg;
};

/* What is known of the provider, as text; the caller frees it. */
static char *
known(const struct model_watch *watch)
{
	size_t length;

	return xstrdup(json_text(live_models_list(watch->configuration, watch->runtime.provider,
				     watch->runtime.base_url),
	    &length));
}

/* Takes over `before`. Last in its callers: the watch may be gone afterwards. */
static void
compare(struct model_watch *watch, char *before)
{
	char *after = known(watch);
	bool same = strcmp(before, after) == 0;

	free(before);
	free(after);
	if (!same)
		watch->changed(watch->arg);
}

static void
end_call(struct model_watch *watch)
{
	model_list_free(watch->call);
	watch->call = NULL;
}

static void
on_answer(const struct model_list_answer *answer, void *arg)
{
	struct model_watch *watch = arg;
	const struct runtime *runtime = &watch->runtime;
	/* Some servers have no list. */
	bool absent = answer->status == 404 || answer->status == 405 || answer->status == 501;
	char *before = known(watch);

	if (answer->models == NULL)
		log_warning("models", "%s has told no models: %s (HTTP status %d)",
		    runtime->base_url, answer->error, answer->status);
	live_models_keep(watch->configuration, runtime->provider, runtime->base_url,
	    answer->models, answer->models != NULL || absent ? LIST_SECONDS : FAILURE_SECONDS);
	compare(watch, before);
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	struct model_watch *watch = arg;
	const struct runtime *runtime = &watch->runtime;
	char *before = known(watch);

	(void)fd;
	(void)what;
	if (live_models_look(watch->configuration, runtime->provider, runtime->base_url))
		watch->call =
		    model_list_start(watch->base, runtime, TIMEOUT_MS, on_answer, watch);
	compare(watch, before);
}

struct model_watch *
model_watch_new(struct event_base *base, const struct configuration *configuration,
    void (*changed)(void *arg), void *arg)
{
	struct model_watch *watch = xcalloc(1, sizeof *watch);

	watch->base = base;
	watch->configuration = configuration;
	watch->changed = changed;
	watch->arg = arg;
	watch->timer = evtimer_new(base, on_time, watch);
	return watch;
}

void
model_watch_look(struct model_watch *watch, const struct runtime *runtime)
{
	struct timeval delay = monotonic_interval(DELAY_MS);

	end_call(watch);
	runtime_clear(&watch->runtime);
	runtime_copy(&watch->runtime, runtime);
	if (strcmp(runtime->provider, "rehearsal") != 0)
		evtimer_add(watch->timer, &delay);
	else
		evtimer_del(watch->timer);
}

void
model_watch_free(struct model_watch *watch)
{
	if (watch == NULL)
		return;
	end_call(watch);
	event_free(watch->timer);
	runtime_clear(&watch->runtime);
	free(watch);
}
