/*
 * The queue of jobs on the database.
 */
#include <config.h>

#include "worker/store/state_queue.h"
#include "worker/store/state_schema.h"
#include "common/alloc.h"
#include "common/monotonic.h"

#include <event2/event.h>
#include <event2/util.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

/* Most jobs of one transaction: each holds what it changed, and the lock, until all are in. */
#define GROUP_MAX 32

/* How long a job waits for another process: a worker whose supervisor was killed still has to
 * end its turn. */
#define HELD_MS 3000

/* Waits between tries, by the age of the job. A commit of a neighbour takes a few
 * milliseconds. They stay short: among many writers who asks seldom never finds the lock free.
 */
static const struct {
	int64_t age, least, most;
} pauses[] = {{20, 1, 3}, {200, 2, 10}, {INT64_MAX, 5, 25}};

/* While a process ends there is little time: no politeness. */
#define ENDING_MOST_MS 20

/* A queue that was empty for so long rests. */
#define REST_MS 300

struct job {
	TAILQ_ENTRY(job) entry;
	state_job_run run;
	state_job_done done;
	void *arg;
	bool write;
	int64_t given, deadline;
	int64_t tried; /* when it was first tried, 0 = not yet */
};

struct state_queue {
	struct state *state;
	struct event *timer, *rest;
	TAILQ_HEAD(, job) jobs;
	size_t length;
	size_t alone; /* so many jobs at the head get a transaction of their own */
	bool waiting; /* the timer runs */
	bool working; /* a job is on; its callback may add others */
};

static int
finish_transaction(struct state *state, int code)
{
	if (code == SQLITE_OK)
		code = state_sql_run(state->db, "COMMIT", "");
	if (code != SQLITE_OK && sqlite3_get_autocommit(state->db) == 0)
		(void)sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

/* What an insert needs is looked at again whenever the schema has changed. */
static int
prepare_write(struct state *state, int *cookie)
{
	int64_t value = 0;
	int code = state_sql_integer(state->db, &value, "PRAGMA schema_version", "");

	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? SQLITE_ERROR : code;
	if ((int)value != state->prepared) {
		code = state_schema_prepare_write(state->db);
		if (code != SQLITE_OK)
			return code;
		code = state_sql_integer(state->db, &value, "PRAGMA schema_version", "");
		if (code != SQLITE_ROW)
			return code == SQLITE_DONE ? SQLITE_ERROR : code;
	}
	*cookie = (int)value;
	return SQLITE_OK;
}

static int
run_job(struct state *state, state_job_run run, void *arg, struct buffer *error)
{
	int code = run(state, arg, error);

	if (code != SQLITE_OK && code != STATE_REFUSED && error->length == 0 &&
	    !state_sql_is_busy(code))
		state_explain(state, code, error);
	return code;
}

/* A group of writes is one transaction: all of it lasts, or nothing. */
static int
run_writes(struct state *state, struct job *job, size_t count, struct buffer *error)
{
	int cookie = -1, code;

	if (state->read_only != NULL) {
		buffer_append_text(error, state->read_only);
		return SQLITE_READONLY;
	}
	code = state_sql_run(state->db, "BEGIN IMMEDIATE", "");
	if (code != SQLITE_OK)
		return code;
	state->transaction++;
	code = prepare_write(state, &cookie);
	for (; code == SQLITE_OK && count > 0; count--, job = TAILQ_NEXT(job, entry))
		code = run_job(state, job->run, job->arg, error);
	code = finish_transaction(state, code);
	if (code == SQLITE_OK)
		state->prepared = cookie;
	return code;
}

static int
run_read(struct state *state, const struct job *job, struct buffer *error)
{
	int code = state_sql_run(state->db, "BEGIN", "");

	if (code != SQLITE_OK)
		return code;
	code = run_job(state, job->run, job->arg, error);
	return finish_transaction(state, code);
}

static int
run_group(struct state *state, struct job *job, size_t count, struct buffer *error)
{
	int code = state_open(state, error);

	if (code == SQLITE_OK)
		code = job->write ? run_writes(state, job, count, error)
				  : run_read(state, job, error);
	if (code != SQLITE_OK && error->length == 0)
		state_explain(state, code, error);
	return code;
}

int
state_queue_once(
    struct state *state, bool write, state_job_run run, void *arg, struct buffer *error)
{
	struct job job = {.run = run, .arg = arg, .write = write};

	return run_group(state, &job, 1, error);
}

static int64_t
between(int64_t least, int64_t most)
{
	uint32_t random;

	evutil_secure_rng_get_bytes(&random, sizeof random);
	return least + (int64_t)(random % (uint32_t)(most - least + 1));
}

/* How long to wait before the head is tried again. */
static int64_t
pause_of(const struct job *job, int64_t now)
{
	int64_t pause;
	size_t row = 0;

	while (now - job->tried >= pauses[row].age)
		row++;
	pause = between(pauses[row].least, pauses[row].most);
	return pause < job->deadline - now ? pause : job->deadline - now;
}

static void
schedule(struct state_queue *queue, int64_t pause)
{
	struct timeval interval = monotonic_interval(pause > 0 ? pause : 0);

	queue->waiting = true;
	event_add(queue->timer, &interval);
}

static void
end_job(struct state_queue *queue, struct job *job, int code, const char *error)
{
	TAILQ_REMOVE(&queue->jobs, job, entry);
	queue->length--;
	if (queue->alone > 0)
		queue->alone--;
	if (job->done != NULL)
		job->done(code, code == SQLITE_OK ? NULL : error, job->arg);
	free(job);
}

/* The job may well succeed a little later. */
static bool
may_change(const struct job *job, int code, int64_t now)
{
	return state_sql_is_busy(code) || (code == STATE_HELD && now - job->tried < HELD_MS);
}

/* How many jobs at the head share a transaction: a commit costs the same for one and for
 * many. */
static size_t
group_of(const struct state_queue *queue)
{
	const struct job *job = TAILQ_FIRST(&queue->jobs);
	size_t count = 1;

	if (!job->write || queue->alone > 0)
		return 1;
	while ((job = TAILQ_NEXT(job, entry)) != NULL && job->write && count < GROUP_MAX)
		count++;
	return count;
}

/* Tries the jobs at the head once. False when they have to wait for `*pause`. */
static bool
try_head(struct state_queue *queue, int64_t *pause)
{
	struct job *job = TAILQ_FIRST(&queue->jobs);
	struct buffer error = BUFFER_EMPTY;
	size_t count = group_of(queue);
	int64_t now = monotonic_ms();
	bool ended = true;
	int code;

	if (job->tried == 0)
		job->tried = now;
	queue->working = true;
	code = run_group(queue->state, job, count, &error);
	now = monotonic_ms();
	if (may_change(job, code, now) && now < job->deadline) {
		*pause = pause_of(job, now);
		ended = false;
	} else if (code != SQLITE_OK && count > 1) {
		queue->alone = count; /* whose fault it is shows when each runs alone */
	} else {
		code = code == STATE_HELD ? STATE_REFUSED : code;
		for (; count > 0; count--)
			end_job(queue, TAILQ_FIRST(&queue->jobs), code, buffer_text(&error));
	}
	queue->working = false;
	buffer_free(&error);
	return ended;
}

static void
on_timer(int fd, short events, void *arg)
{
	struct state_queue *queue = arg;
	struct timeval rest = monotonic_interval(REST_MS);
	int64_t pause = 0;

	(void)fd;
	(void)events;
	queue->waiting = false;
	if (TAILQ_EMPTY(&queue->jobs))
		return;
	(void)try_head(queue, &pause);
	/* One transaction a round: the loop has other things to do. */
	if (!TAILQ_EMPTY(&queue->jobs))
		schedule(queue, pause);
	else
		event_add(queue->rest, &rest);
}

static void
on_rest(int fd, short events, void *arg)
{
	struct state_queue *queue = arg;

	(void)fd;
	(void)events;
	if (TAILQ_EMPTY(&queue->jobs))
		state_rest(queue->state);
}

struct state_queue *
state_queue_new(struct event_base *base, struct state *state)
{
	struct state_queue *queue = xcalloc(1, sizeof *queue);

	TAILQ_INIT(&queue->jobs);
	queue->state = state;
	queue->timer = event_new(base, -1, 0, on_timer, queue);
	queue->rest = event_new(base, -1, 0, on_rest, queue);
	return queue;
}

void
state_queue_free(struct state_queue *queue)
{
	if (queue == NULL)
		return;
	while (!TAILQ_EMPTY(&queue->jobs))
		end_job(queue, TAILQ_FIRST(&queue->jobs), SQLITE_ABORT,
		    "the program ended before it could be saved");
	event_free(queue->timer);
	event_free(queue->rest);
	free(queue);
}

struct state *
state_queue_state(struct state_queue *queue)
{
	return queue->state;
}

size_t
state_queue_length(const struct state_queue *queue)
{
	return queue->length;
}

static void
add_job(struct state_queue *queue, bool write, int64_t patience, state_job_run run,
    state_job_done done, void *arg)
{
	struct job *job = xcalloc(1, sizeof *job);

	job->run = run;
	job->done = done;
	job->arg = arg;
	job->write = write;
	job->given = monotonic_ms();
	job->deadline = job->given + patience;
	TAILQ_INSERT_TAIL(&queue->jobs, job, entry);
	queue->length++;
	if (!queue->waiting && !queue->working)
		schedule(queue, 0);
}

void
state_queue_write(struct state_queue *queue, int64_t patience, state_job_run run,
    state_job_done done, void *arg)
{
	add_job(queue, true, patience, run, done, arg);
}

void
state_queue_read(struct state_queue *queue, int64_t patience, state_job_run run,
    state_job_done done, void *arg)
{
	add_job(queue, false, patience, run, done, arg);
}

size_t
state_queue_finish(struct state_queue *queue, int64_t milliseconds)
{
	int64_t end = monotonic_ms() + milliseconds, now, pause;
	struct timespec sleep = {0};

	event_del(queue->timer);
	queue->waiting = false;
	while (!TAILQ_EMPTY(&queue->jobs)) {
		pause = 0;
		if (try_head(queue, &pause))
			continue;
		now = monotonic_ms();
		if (now >= end)
			break;
		if (pause > ENDING_MOST_MS)
			pause = ENDING_MOST_MS;
		if (pause > end - now)
			pause = end - now;
		sleep.tv_nsec = (pause > 0 ? pause : 1) * 1000000;
		nanosleep(&sleep, NULL);
	}
	if (!TAILQ_EMPTY(&queue->jobs))
		schedule(queue, 0);
	return queue->length;
}
