/*
 * The verbs of store.h on state.db.
 */
#include <config.h>

#include "worker/store/store_sqlite_private.h"
#include "worker/store/state_lease.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

/* The time that store_free() gives to what is not saved yet. */
#define FREE_MS 1000
#define RENEW_MS (STATE_LEASE_SECONDS * 1000 / 4)

struct verb_job {
	struct store_sqlite *self;
	struct store_operation operation;
	struct store_place place; /* becomes the store's when the transaction has lasted */
	store_saved saved;
	void *arg;
};

static struct store_sqlite *
sqlite(struct store *store)
{
	return (struct store_sqlite *)store;
}

static void
drop_left_over(struct store_sqlite *self)
{
	struct kept_operation *kept;

	while ((kept = TAILQ_FIRST(&self->left_over)) != NULL) {
		TAILQ_REMOVE(&self->left_over, kept, entry);
		json_object_put(kept->operation.message);
		free(kept);
	}
}

/* Locks and the disk: what fails for such a reason may work later. */
static bool
may_pass(int code)
{
	static const int passing[] = {SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR,
	    SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_PROTOCOL};
	size_t i;

	for (i = 0; i < sizeof passing / sizeof passing[0]; i++)
		if (code != STATE_REFUSED && (code & 0xff) == passing[i])
			return true;
	return false;
}

/* A message is saved with the next one. Of everything else there will be a newer one, or it
 * makes no sense later. */
static bool
is_kept(const struct store_operation *operation)
{
	return operation->kind == STORE_USER || operation->kind == STORE_ASSISTANT ||
	       operation->kind == STORE_PARTIAL || operation->kind == STORE_RESULT;
}

/* What could not be saved earlier goes first, once a transaction. */
static int
run_left_over(struct store_sqlite *self, struct buffer *error)
{
	struct kept_operation *kept;
	int code = SQLITE_OK;

	self->staged = self->place;
	self->staged_in = 0;
	TAILQ_FOREACH(kept, &self->left_over, entry)
	{
		code = store_operation_run(self->state, &self->info, self->holder,
		    &self->staged, &kept->operation, error);
		if (code != SQLITE_OK)
			return code;
	}
	self->staged_in = self->state->transaction;
	return SQLITE_OK;
}

static int
run_verb(struct state *state, void *arg, struct buffer *error)
{
	struct verb_job *job = arg;
	struct store_sqlite *self = job->self;
	int code = SQLITE_OK;

	if (self->staged_in != state->transaction)
		code = run_left_over(self, error);
	if (code == SQLITE_OK)
		code = store_operation_run(
		    state, &self->info, self->holder, &self->staged, &job->operation, error);
	job->place = self->staged;
	return code;
}

static void
keep(struct store_sqlite *self, struct store_operation *operation)
{
	struct kept_operation *kept = TAILQ_LAST(&self->left_over, kept_list);

	/* The same answer, of which there is more now. */
	if (kept != NULL && kept->operation.kind == STORE_PARTIAL &&
	    (operation->kind == STORE_PARTIAL || operation->kind == STORE_ASSISTANT)) {
		TAILQ_REMOVE(&self->left_over, kept, entry);
		json_object_put(kept->operation.message);
		free(kept);
	}
	kept = xcalloc(1, sizeof *kept);
	kept->operation = *operation;
	memset(operation, 0, sizeof *operation);
	TAILQ_INSERT_TAIL(&self->left_over, kept, entry);
}

static void
verb_done(int code, const char *error, void *arg)
{
	struct verb_job *job = arg;
	struct store_sqlite *self = job->self;

	if (error == NULL) {
		self->place = job->place;
		drop_left_over(self);
	} else if (!may_pass(code)) {
		drop_left_over(self); /* one of them may be the cause, for ever */
	} else if (is_kept(&job->operation)) {
		log_warning(
		    "store", "session %s: not saved yet: %s", self->info.session_id, error);
		keep(self, &job->operation);
	}
	if (job->saved != NULL && !self->closing)
		job->saved(error, job->arg);
	json_object_put(job->operation.message);
	free(job);
}

static bool
keeps(const struct store *store)
{
	return !TAILQ_EMPTY(&((const struct store_sqlite *)(const void *)store)->left_over);
}

static void
add_verb(struct store *store, enum store_operation_kind kind, struct json_object *message,
    store_saved saved, void *arg)
{
	struct verb_job *job = xcalloc(1, sizeof *job);

	job->self = sqlite(store);
	job->operation.kind = kind;
	job->operation.message = json_object_get(message);
	job->saved = saved;
	job->arg = arg;
	state_queue_write(job->self->queue,
	    keeps(store) ? STATE_PATIENCE_AGAIN : STATE_PATIENCE_MESSAGES, run_verb, verb_done,
	    job);
}

static void
start_renewing(struct store *store)
{
	struct timeval interval = monotonic_interval(RENEW_MS);

	if (event_pending(sqlite(store)->renew, EV_TIMEOUT, NULL) == 0)
		event_add(sqlite(store)->renew, &interval);
}

static void
append_user(struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	start_renewing(store);
	add_verb(store, STORE_USER, message, saved, arg);
}

static void
append_assistant(struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	start_renewing(store);
	add_verb(store, STORE_ASSISTANT, message, saved, arg);
}

static void
call_started(struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	start_renewing(store);
	add_verb(store, STORE_STARTED, message, saved, arg);
}

static void
call_result(struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	add_verb(store, STORE_RESULT, message, saved, arg);
}

static void
save_partial(struct store *store, struct json_object *message, store_saved saved, void *arg)
{
	start_renewing(store);
	add_verb(store, STORE_PARTIAL, message, saved, arg);
}

static void
drop_exchange(struct store *store, store_saved saved, void *arg)
{
	add_verb(store, STORE_DROP, NULL, saved, arg);
}

static void
end_turn(struct store *store, bool failed, store_saved saved, void *arg)
{
	event_del(sqlite(store)->renew);
	add_verb(store, failed ? STORE_TURN_FAILED : STORE_TURN_END, NULL, saved, arg);
}

static int
run_renew(struct state *state, void *arg, struct buffer *error)
{
	struct store_sqlite *self = arg;

	return self->place.row_known
		   ? state_lease_take(state, self->info.session_id, self->holder, error)
		   : SQLITE_OK;
}

static void
on_renew(int fd, short events, void *arg)
{
	struct store_sqlite *self = arg;

	(void)fd;
	(void)events;
	state_queue_write(self->queue, STATE_PATIENCE_STAMP, run_renew, NULL, self);
}

size_t
store_sqlite_finish(struct store *store, int64_t milliseconds)
{
	if (!TAILQ_EMPTY(&sqlite(store)->left_over))
		add_verb(store, STORE_NOTHING, NULL, NULL, NULL);
	return state_queue_finish(sqlite(store)->queue, milliseconds);
}

void
store_sqlite_forget(struct store *store)
{
	sqlite(store)->forgotten = true;
}

static void
sqlite_free(struct store *store)
{
	struct store_sqlite *self = sqlite(store);

	self->closing = true;
	event_del(self->renew);
	if (!self->forgotten && store_sqlite_finish(store, FREE_MS) > 0)
		log_error("store", "session %s: the end of the conversation could not be saved",
		    self->info.session_id);
	state_queue_free(self->queue);
	state_free(self->state);
	event_free(self->renew);
	drop_left_over(self);
	store_session_clear(&self->info);
	free(self->holder);
	free(self);
}

static const struct store_backend backend = {
    .name = "sqlite",
    .free = sqlite_free,
    .append_user = append_user,
    .append_assistant = append_assistant,
    .call_started = call_started,
    .call_result = call_result,
    .save_partial = save_partial,
    .drop_exchange = drop_exchange,
    .turn_end = end_turn,
    .keeps = keeps,
};

struct store *
store_sqlite_new(struct event_base *base, const char *home,
    const struct store_session_info *info, struct buffer *error)
{
	struct store_sqlite *self;

	if (info->session_id == NULL || info->session_id[0] == '\0') {
		buffer_append_text(error, "a session cannot be stored without its id");
		return NULL;
	}
	self = xcalloc(1, sizeof *self);
	self->store.backend = &backend;
	TAILQ_INIT(&self->left_over);
	store_session_copy(&self->info, info);
	self->holder = state_lease_holder();
	self->state = state_new(home);
	self->queue = state_queue_new(base, self->state);
	self->renew = event_new(base, -1, EV_PERSIST, on_renew, self);
	return &self->store;
}

struct state_queue *
store_sqlite_queue(struct store *store)
{
	return sqlite(store)->queue;
}

char *
store_sqlite_notice(struct store *store)
{
	struct buffer *notice = &sqlite(store)->state->notice;

	return notice->length > 0 ? buffer_take(notice) : NULL;
}
