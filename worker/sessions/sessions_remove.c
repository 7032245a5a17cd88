/*
 * Removing a stored session. What was true when somebody was asked is looked at once more
 * within the transaction.
 */
#include <config.h>

#include "worker/sessions/sessions_remove.h"
#include "worker/sessions/sessions_find.h"
#include "worker/store/checkpoints.h"
#include "worker/store/state_lease.h"
#include "worker/store/state_overview.h"
#include "worker/store/state_session.h"

#include <stdlib.h>

struct removal {
	const char *id;
	char *holder;
	bool all_sources, removed;
	double idle_since;
};

static int
look_again(struct state *state, const struct removal *removal, bool *idle)
{
	struct state_overview_query query = {
	    .source = sessions_find_source(removal->all_sources),
	    .session = removal->id,
	    .idle_since = removal->idle_since,
	};
	struct json_object *sessions;
	int code = state_overview(state, &query, &sessions);

	*idle = code == SQLITE_OK && json_object_array_length(sessions) == 1;
	json_object_put(sessions);
	return code;
}

static int
run_remove(struct state *state, void *arg, struct buffer *error)
{
	struct removal *removal = arg;
	bool idle = true;
	int code = SQLITE_OK;

	removal->removed = false;
	if (removal->idle_since > 0)
		code = look_again(state, removal, &idle);
	if (code != SQLITE_OK || !idle)
		return code;
	return (removal->all_sources ? state_session_delete_any : state_session_delete)(
	    state, removal->id, removal->holder, &removal->removed, error);
}

enum sessions_removal
sessions_remove(
    struct sessions_database *database, const char *id, bool all_sources, double idle_since)
{
	struct removal removal = {
	    .id = id,
	    .holder = state_lease_holder(),
	    .all_sources = all_sources,
	    .idle_since = idle_since,
	};
	int code = sessions_database_run(database, true, run_remove, &removal);

	free(removal.holder);
	if (code != SQLITE_OK)
		return SESSIONS_REMOVE_FAILED;
	if (removal.removed)
		checkpoints_forget(sessions_database_home(database), id);
	return removal.removed ? SESSIONS_REMOVED : SESSIONS_REMOVE_NOTHING;
}
