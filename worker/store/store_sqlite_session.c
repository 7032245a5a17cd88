/*
 * What else is done with a stored session: loading it, telling how it is run, its title, what
 * it used.
 */
#include <config.h>

#include "worker/store/store_sqlite_private.h"
#include "worker/store/state_foreign.h"
#include "worker/store/state_fork.h"
#include "worker/store/state_messages.h"
#include "worker/store/state_session.h"
#include "worker/store/state_title.h"
#include "worker/store/state_usage.h"
#include "common/alloc.h"
#include "common/log.h"

#include <stdlib.h>

static struct store_sqlite *
sqlite(struct store *store)
{
	return (struct store_sqlite *)store;
}

static void load_done(int code, const char *error, void *arg);

struct load_job {
	struct store_sqlite *self;
	struct json_object *session, *messages;
	char *copy; /* of another program's session: where it goes on */
	bool copied;
	unsigned generation;
	int64_t last_row;
	bool partial;
	store_loaded_callback loaded;
	void *arg;
};

/* The row of the session, or of its copy. */
static int
read_session(struct state *state, struct load_job *job, const char **id)
{
	int code;

	*id = job->self->info.session_id;
	code = state_session_read(state, *id, &job->session);
	if (code != SQLITE_NOTFOUND)
		return code;
	code = state_foreign_copy_id(state, *id, &job->copy);
	if (code != SQLITE_OK || job->copy == NULL)
		return code == SQLITE_OK ? SQLITE_NOTFOUND : code;
	*id = job->copy;
	return state_session_read(state, *id, &job->session);
}

static int
run_load(struct state *state, void *arg, struct buffer *error)
{
	struct load_job *job = arg;
	const char *id;
	int code;

	(void)error;
	json_object_put(job->session);
	json_object_put(job->messages);
	free(job->copy);
	job->copy = NULL;
	job->messages = NULL;
	job->generation = state->generation;
	code = read_session(state, job, &id);
	if (code == SQLITE_NOTFOUND)
		return SQLITE_OK;
	if (code == SQLITE_OK)
		code = state_messages_load(state, id, &job->messages);
	if (code == SQLITE_OK)
		code = state_messages_last(state, id, &job->last_row, &job->partial);
	return code;
}

static int
run_copy(struct state *state, void *arg, struct buffer *error)
{
	struct load_job *job = arg;
	int64_t copied;

	return state_fork(
	    state, job->self->info.session_id, job->copy, job->self->info.cwd, &copied, error);
}

/* Made, or made by somebody else meanwhile: it is what is loaded now. */
static void
copy_done(int code, const char *error, void *arg)
{
	struct load_job *job = arg;

	if (error != NULL && code != STATE_REFUSED) {
		load_done(code, error, job);
		return;
	}
	job->copied = true;
	state_queue_read(job->self->queue, STATE_PATIENCE_WRITE, run_load, load_done, job);
}

static void
load_done(int code, const char *error, void *arg)
{
	struct load_job *job = arg;
	struct store_sqlite *self = job->self;
	struct store_loaded loaded = {.error = error};

	(void)code;
	if (error == NULL && job->session == NULL && job->copy != NULL && !job->copied &&
	    !self->closing) {
		state_queue_write(self->queue, STATE_PATIENCE_WRITE, run_copy, copy_done, job);
		return;
	}
	if (error == NULL && job->session != NULL) {
		if (job->copy != NULL)
			store_session_set_id(&self->info, job->copy);
		self->place = (struct store_place){.generation = job->generation,
		    .row_known = true,
		    .last_known = true,
		    .looked = true,
		    .last_row = job->last_row,
		    .partial = job->partial ? job->last_row : 0,
		    .stamp = self->place.stamp};
		loaded.id = self->info.session_id;
		loaded.session = job->session;
		loaded.messages = job->messages;
	}
	if (!self->closing)
		job->loaded(&loaded, job->arg);
	json_object_put(job->session);
	json_object_put(job->messages);
	free(job->copy);
	free(job);
}

void
store_sqlite_load(struct store *store, store_loaded_callback loaded, void *arg)
{
	struct load_job *job = xcalloc(1, sizeof *job);

	job->self = sqlite(store);
	job->loaded = loaded;
	job->arg = arg;
	state_queue_read(job->self->queue, STATE_PATIENCE_WRITE, run_load, load_done, job);
}

struct describe_job {
	struct store_sqlite *self;
	struct store_session_info info;
	store_saved saved;
	void *arg;
};

static int
run_describe(struct state *state, void *arg, struct buffer *error)
{
	struct describe_job *job = arg;

	(void)error;
	return state_session_update(state, &job->info);
}

static void
describe_done(int code, const char *error, void *arg)
{
	struct describe_job *job = arg;

	(void)code;
	if (error != NULL)
		log_warning("store", "session %s: its settings could not be saved: %s",
		    job->info.session_id, error);
	if (job->saved != NULL && !job->self->closing)
		job->saved(error, job->arg);
	store_session_clear(&job->info);
	free(job);
}

void
store_sqlite_describe(
    struct store *store, const struct store_session_info *info, store_saved saved, void *arg)
{
	struct store_sqlite *self = sqlite(store);
	struct describe_job *job = xcalloc(1, sizeof *job);
	struct store_session_info given = *info, copy;

	given.session_id = self->info.session_id;
	store_session_copy(&copy, &given);
	store_session_copy(&job->info, &given);
	store_session_clear(&self->info);
	self->info = copy;
	job->self = self;
	job->saved = saved;
	job->arg = arg;
	state_queue_write(self->queue, STATE_PATIENCE_WRITE, run_describe, describe_done, job);
}

struct title_job {
	struct store_sqlite *self;
	char *title, *source, *stored;
	void (*titled)(const char *title, void *arg);
	void *arg;
};

static int
run_title(struct state *state, void *arg, struct buffer *error)
{
	struct title_job *job = arg;

	(void)error;
	free(job->stored);
	return state_title_set(
	    state, job->self->info.session_id, job->title, job->source, &job->stored);
}

static void
title_done(int code, const char *error, void *arg)
{
	struct title_job *job = arg;

	(void)code;
	if (error != NULL)
		log_warning("store", "session %s: its title could not be saved: %s",
		    job->self->info.session_id, error);
	if (job->titled != NULL && !job->self->closing)
		job->titled(error == NULL ? job->stored : NULL, job->arg);
	free(job->title);
	free(job->source);
	free(job->stored);
	free(job);
}

void
store_sqlite_set_title(struct store *store, const char *title, const char *source,
    void (*titled)(const char *title, void *arg), void *arg)
{
	struct title_job *job = xcalloc(1, sizeof *job);

	job->self = sqlite(store);
	job->title = title != NULL ? xstrdup(title) : NULL;
	job->source = xstrdup(source);
	job->titled = titled;
	job->arg = arg;
	state_queue_write(job->self->queue, STATE_PATIENCE_WRITE, run_title, title_done, job);
}

struct title_reading {
	struct store_sqlite *self;
	char *title, *source;
	void (*found)(const char *title, const char *source, void *arg);
	void *arg;
};

static int
run_title_reading(struct state *state, void *arg, struct buffer *error)
{
	struct title_reading *job = arg;
	const char *id = job->self->info.session_id;
	int code;

	(void)error;
	free(job->title);
	free(job->source);
	job->title = job->source = NULL;
	code = state_sql_text(
	    state->db, &job->title, "SELECT title FROM sessions WHERE id = ?", "t", id);
	if (code == SQLITE_ROW && job->title != NULL)
		code = state_sql_text(state->db, &job->source,
		    "SELECT title_source FROM sessions WHERE id = ?", "t", id);
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static void
title_reading_done(int code, const char *error, void *arg)
{
	struct title_reading *job = arg;
	bool known = error == NULL;

	(void)code;
	if (!job->self->closing)
		job->found(known ? job->title : NULL, known ? job->source : NULL, job->arg);
	free(job->title);
	free(job->source);
	free(job);
}

void
store_sqlite_read_title(struct store *store,
    void (*found)(const char *title, const char *source, void *arg), void *arg)
{
	struct title_reading *job = xcalloc(1, sizeof *job);

	job->self = sqlite(store);
	job->found = found;
	job->arg = arg;
	state_queue_read(
	    job->self->queue, STATE_PATIENCE_WRITE, run_title_reading, title_reading_done, job);
}

struct usage_job {
	struct store_sqlite *self;
	struct store_usage usage;
};

static int
run_usage(struct state *state, void *arg, struct buffer *error)
{
	struct usage_job *job = arg;

	(void)error;
	return state_usage_add(state, job->self->info.session_id, &job->usage);
}

static void
usage_done(int code, const char *error, void *arg)
{
	struct usage_job *job = arg;

	(void)code;
	if (error != NULL)
		log_warning("store", "session %s: what it used could not be saved: %s",
		    job->self->info.session_id, error);
	store_usage_clear(&job->usage);
	free(job);
}

void
store_sqlite_add_usage(struct store *store, const struct store_usage *usage)
{
	struct usage_job *job = xcalloc(1, sizeof *job);

	job->self = sqlite(store);
	store_usage_copy(&job->usage, usage);
	state_queue_write(job->self->queue, STATE_PATIENCE_WRITE, run_usage, usage_done, job);
}
