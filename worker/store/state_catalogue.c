/*
 * Jobs of the catalogue.
 */
#include <config.h>

#include "worker/store/state_catalogue.h"
#include "worker/store/state_foreign.h"
#include "worker/store/state_fork.h"
#include "worker/store/state_lease.h"
#include "worker/store/state_list.h"
#include "worker/store/state_messages.h"
#include "worker/store/state_session.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <string.h>

struct catalogue_job {
	char *session, *id, *cwd, *cursor, *holder;
	struct json_object *texts; /* of a tail, from number `first` on */
	int64_t first;
	bool all_sources;
	struct json_object *result;
	state_catalogue_done done;
	void *arg;
};

static char *
copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

static struct catalogue_job *
new_job(const char *session, state_catalogue_done done, void *arg)
{
	struct catalogue_job *job = xcalloc(1, sizeof *job);

	job->session = copy_text(session);
	job->done = done;
	job->arg = arg;
	return job;
}

static void
job_done(int code, const char *error, void *arg)
{
	struct catalogue_job *job = arg;

	job->done(code, error == NULL ? job->result : NULL, error, job->arg);
	json_object_put(job->result);
	free(job->session);
	free(job->id);
	free(job->cwd);
	free(job->cursor);
	json_object_put(job->texts);
	free(job->holder);
	free(job);
}

/* A job may run more than once; only the last run's result counts. */
static void
set_result(struct catalogue_job *job, struct json_object *result)
{
	json_object_put(job->result);
	job->result = result;
}

static int
run_list(struct state *state, void *arg, struct buffer *error)
{
	struct catalogue_job *job = arg;
	struct json_object *page;
	int code = state_list(state, job->cwd, job->cursor, job->all_sources, &page, error);

	set_result(job, page);
	return code;
}

static int
say_unknown(const struct catalogue_job *job, struct buffer *error)
{
	buffer_printf(error, "there is no session %s", job->session);
	return SQLITE_NOTFOUND;
}

static int
run_fork(struct state *state, void *arg, struct buffer *error)
{
	struct catalogue_job *job = arg;
	struct json_object *result = json_object_new_object();
	int64_t copied;
	int code = state_fork(state, job->session, job->id, job->cwd, &copied, error);

	json_set_text(result, "sessionId", job->id);
	json_set_integer(result, "messages", copied);
	set_result(job, result);
	return code;
}

static int
run_delete(struct state *state, void *arg, struct buffer *error)
{
	struct catalogue_job *job = arg;
	struct json_object *result = json_object_new_object();
	bool removed;
	int code = state_session_delete(state, job->session, job->holder, &removed, error);

	json_set_boolean(result, "removed", removed);
	set_result(job, result);
	return code;
}

static int
run_tail(struct state *state, void *arg, struct buffer *error)
{
	struct catalogue_job *job = arg;
	struct json_object *session;
	char *other = NULL, *copy;
	int code = state_foreign_copy_id(state, job->session, &copy);

	if (copy != NULL) {
		free(job->session);
		job->session = copy;
	}
	if (code != SQLITE_OK)
		return code;
	code = state_session_read(state, job->session, &session);
	json_object_put(session);
	set_result(job, json_object_new_object());
	if (code == SQLITE_NOTFOUND)
		return say_unknown(job, error);
	if (code == SQLITE_OK)
		code = state_lease_other(state, job->session, job->holder, &other);
	if (other != NULL) {
		buffer_printf(
		    error, "session %s is in use by another process (%s)", job->session, other);
		free(other);
		return STATE_REFUSED;
	}
	if (code == SQLITE_OK)
		code = state_messages_commit_tail(state, job->session, job->texts, job->first);
	if (code == SQLITE_OK)
		code = state_lease_clear(state, job->session);
	return code;
}

void
state_catalogue_list(struct state_queue *queue, const char *cwd, const char *cursor,
    bool all_sources, state_catalogue_done done, void *arg)
{
	struct catalogue_job *job = new_job(NULL, done, arg);

	job->cwd = copy_text(cwd);
	job->cursor = copy_text(cursor);
	job->all_sources = all_sources;
	state_queue_read(queue, STATE_PATIENCE_WRITE, run_list, job_done, job);
}

void
state_catalogue_fork(struct state_queue *queue, const char *source, const char *id,
    const char *cwd, state_catalogue_done done, void *arg)
{
	struct catalogue_job *job = new_job(source, done, arg);

	job->id = xstrdup(id);
	job->cwd = copy_text(cwd);
	state_queue_write(queue, STATE_PATIENCE_WRITE, run_fork, job_done, job);
}

void
state_catalogue_delete(
    struct state_queue *queue, const char *session, state_catalogue_done done, void *arg)
{
	struct catalogue_job *job = new_job(session, done, arg);

	job->holder = state_lease_holder();
	state_queue_write(queue, STATE_PATIENCE_WRITE, run_delete, job_done, job);
}

void
state_catalogue_tail(struct state_queue *queue, const char *session, struct json_object *texts,
    int64_t first, state_catalogue_done done, void *arg)
{
	struct catalogue_job *job = new_job(session, done, arg);

	job->holder = state_lease_holder();
	job->texts = json_object_get(texts);
	job->first = first;
	state_queue_write(queue, STATE_PATIENCE_MESSAGES, run_tail, job_done, job);
}
