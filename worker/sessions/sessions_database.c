/*
 * Jobs on the database without an event loop.
 */
#include <config.h>

#include "worker/sessions/sessions_database.h"
#include "worker/config/configuration.h"
#include "worker/sessions/sessions_output.h"
#include "common/alloc.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A wait that is longer is told. */
#define SILENT_MS 1500
/* The job gives up before that. */
#define FINISH_MS (STATE_PATIENCE_WRITE + 5000)

struct sessions_database {
	struct configuration *configuration;
	struct event_base *base;
	struct state *state;
	struct state_queue *queue;
};

struct sessions_database *
sessions_database_new(void)
{
	struct event_base *base = event_base_new();
	struct sessions_database *database;

	if (base == NULL) {
		sessions_output_complain("no event loop: %s", strerror(errno));
		return NULL;
	}
	database = xcalloc(1, sizeof *database);
	database->base = base;
	database->configuration = configuration_load();
	database->state = state_new(configuration_home(database->configuration));
	database->state->existing = true;
	database->queue = state_queue_new(database->base, database->state);
	return database;
}

void
sessions_database_free(struct sessions_database *database)
{
	state_queue_free(database->queue);
	state_free(database->state);
	event_base_free(database->base);
	configuration_free(database->configuration);
	free(database);
}

const char *
sessions_database_home(const struct sessions_database *database)
{
	return configuration_home(database->configuration);
}

const char *
sessions_database_path(const struct sessions_database *database)
{
	return database->state->path;
}

bool
sessions_database_exists(const struct sessions_database *database)
{
	struct stat status;

	return stat(database->state->path, &status) == 0 ||
	       (errno != ENOENT && errno != ENOTDIR);
}

struct call {
	state_job_run run;
	void *arg;
	int code;
};

static int
run_call(struct state *state, void *arg, struct buffer *error)
{
	struct call *call = arg;

	return call->run(state, call->arg, error);
}

static void
on_done(int code, const char *error, void *arg)
{
	struct call *call = arg;

	call->code = code;
	if (error != NULL && code != SQLITE_NOTFOUND)
		sessions_output_complain("%s", error);
}

int
sessions_database_run(
    struct sessions_database *database, bool write, state_job_run run, void *arg)
{
	struct call call = {run, arg, SQLITE_ABORT};

	if (write)
		state_queue_write(
		    database->queue, STATE_PATIENCE_WRITE, run_call, on_done, &call);
	else
		state_queue_read(
		    database->queue, STATE_PATIENCE_WRITE, run_call, on_done, &call);
	if (state_queue_finish(database->queue, SILENT_MS) > 0) {
		sessions_output_complain(
		    "%s: waiting for another process, which uses it", database->state->path);
		(void)state_queue_finish(database->queue, FINISH_MS);
	}
	return call.code;
}
