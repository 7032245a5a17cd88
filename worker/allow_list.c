/*
 * Saving "always". The running session does not wait for it: its own grant counts at once.
 */
#include <config.h>

#include "worker/allow_list.h"
#include "worker/config/config_edit.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

#define RETRY_MS 200
#define TRIES_MAX 50

struct waiting_label {
	TAILQ_ENTRY(waiting_label) entry;
	char *label;
	int tries;
};

struct allow_list {
	TAILQ_HEAD(, waiting_label) labels;
	struct event *timer;
	const char *home;
};

static void
drop(struct allow_list *list, struct waiting_label *waiting)
{
	TAILQ_REMOVE(&list->labels, waiting, entry);
	free(waiting->label);
	free(waiting);
}

/* True when the label needs no further try. */
static bool
save(struct allow_list *list, struct waiting_label *waiting, bool last)
{
	struct buffer error = BUFFER_EMPTY;
	bool saved =
	    config_edit_append(list->home, "command_allowlist", waiting->label, &error) == 0;

	last = last || ++waiting->tries >= TRIES_MAX;
	if (!saved && last)
		log_warning("permission", "\"%s\" could not be saved in config.yaml: %s",
		    waiting->label, buffer_text(&error));
	buffer_free(&error);
	return saved || last;
}

static void
try_all(struct allow_list *list, bool last)
{
	struct timeval interval = monotonic_interval(RETRY_MS);
	struct waiting_label *waiting;

	while ((waiting = TAILQ_FIRST(&list->labels)) != NULL) {
		if (!save(list, waiting, last)) {
			event_add(list->timer, &interval);
			return;
		}
		drop(list, waiting);
	}
}

static void
on_timer(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	try_all(arg, false);
}

struct allow_list *
allow_list_new(struct event_base *base, const char *home)
{
	struct allow_list *list = xcalloc(1, sizeof *list);

	TAILQ_INIT(&list->labels);
	list->home = home;
	list->timer = evtimer_new(base, on_timer, list);
	return list;
}

void
allow_list_free(struct allow_list *list)
{
	if (list == NULL)
		return;
	try_all(list, true);
	event_free(list->timer);
	free(list);
}

void
allow_list_add(struct allow_list *list, const char *label)
{
	struct waiting_label *waiting = xcalloc(1, sizeof *waiting);

	waiting->label = xstrdup(label);
	TAILQ_INSERT_TAIL(&list->labels, waiting, entry);
	try_all(list, false);
}

bool
allow_list_waits(const struct allow_list *list)
{
	return !TAILQ_EMPTY(&list->labels);
}
