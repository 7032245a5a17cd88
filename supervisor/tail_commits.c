/*
 * Keeping tails until they are saved. What kills the catalogue worker must not do so for ever,
 * and no session waits for ever.
 */
#include <config.h>

#include "supervisor/tail_commits.h"
#include "supervisor/worker_process.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/monotonic.h"
#include "common/wire.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define TRIES_MAX 2
/* A little more than the worker's own patience with a locked database. */
#define PATIENCE_MS 65000

struct commit {
	TAILQ_ENTRY(commit) entry;
	bool sent;
	unsigned tries;
	struct buffer payload; /* of COMMIT_TAIL */
	char session[];
};

struct tail_commits {
	struct event *timer;
	TAILQ_HEAD(commit_list, commit) list;
	tail_commits_given_up given_up;
	void *arg;
};

static void
commit_free(struct commit *commit)
{
	buffer_free(&commit->payload);
	free(commit);
}

static struct commit *
find(const struct tail_commits *commits, const char *session)
{
	struct commit *commit;

	TAILQ_FOREACH(commit, &commits->list, entry)
	{
		if (strcmp(commit->session, session) == 0)
			return commit;
	}
	return NULL;
}

static void
give_up(struct tail_commits *commits, struct commit *commit)
{
	log_warning(
	    "catalogue", "session %s: the rest of an answer was not saved", commit->session);
	TAILQ_REMOVE(&commits->list, commit, entry);
	commits->given_up(commit->session, commits->arg);
	commit_free(commit);
}

static void
on_timer(int fd, short events, void *arg)
{
	struct tail_commits *commits = arg;

	(void)fd;
	(void)events;
	while (!TAILQ_EMPTY(&commits->list))
		give_up(commits, TAILQ_FIRST(&commits->list));
}

struct tail_commits *
tail_commits_new(struct event_base *base, tail_commits_given_up given_up, void *arg)
{
	struct tail_commits *commits = calloc(1, sizeof *commits);

	if (commits == NULL)
		return NULL;
	TAILQ_INIT(&commits->list);
	commits->given_up = given_up;
	commits->arg = arg;
	commits->timer = evtimer_new(base, on_timer, commits);
	if (commits->timer != NULL)
		return commits;
	free(commits);
	return NULL;
}

void
tail_commits_free(struct tail_commits *commits)
{
	struct commit *commit;

	if (commits == NULL)
		return;
	while ((commit = TAILQ_FIRST(&commits->list)) != NULL) {
		TAILQ_REMOVE(&commits->list, commit, entry);
		commit_free(commit);
	}
	event_free(commits->timer);
	free(commits);
}

int
tail_commits_add(
    struct tail_commits *commits, const char *session, const char *text, size_t length)
{
	struct commit *commit = calloc(1, sizeof *commit + strlen(session) + 1);
	struct timeval interval = monotonic_interval(PATIENCE_MS);

	if (commit == NULL)
		return -1;
	strcpy(commit->session, session);
	wire_put_text(&commit->payload, session, strlen(session));
	buffer_append(&commit->payload, text, length);
	if (commit->payload.failed) {
		commit_free(commit);
		return -1;
	}
	TAILQ_INSERT_TAIL(&commits->list, commit, entry);
	event_add(commits->timer, &interval);
	return 0;
}

void
tail_commits_send(struct tail_commits *commits, struct worker_process *worker)
{
	struct commit *commit;

	TAILQ_FOREACH(commit, &commits->list, entry)
	{
		if (commit->sent)
			continue;
		commit->sent = worker_send(worker, TO_WORKER_COMMIT_TAIL, 0, 0,
				   commit->payload.data, commit->payload.length) == 0;
		commit->tries += commit->sent ? 1 : 0;
	}
}

bool
tail_commits_done(struct tail_commits *commits, const char *session)
{
	struct commit *commit = find(commits, session);

	if (commit == NULL || !commit->sent)
		return false;
	TAILQ_REMOVE(&commits->list, commit, entry);
	commit_free(commit);
	return true;
}

void
tail_commits_lost(struct tail_commits *commits)
{
	struct commit *commit, *next;

	for (commit = TAILQ_FIRST(&commits->list); commit != NULL; commit = next) {
		next = TAILQ_NEXT(commit, entry);
		commit->sent = false;
		if (commit->tries >= TRIES_MAX)
			give_up(commits, commit);
	}
}

bool
tail_commits_has(const struct tail_commits *commits, const char *session)
{
	return find(commits, session) != NULL;
}
