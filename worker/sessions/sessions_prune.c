/*
 * hermes-acp sessions prune: deletes what nobody has used for a while.
 */
#include <config.h>

#include "worker/sessions/sessions_verbs.h"
#include "worker/sessions/sessions_confirm.h"
#include "worker/sessions/sessions_find.h"
#include "worker/sessions/sessions_query.h"
#include "worker/sessions/sessions_remove.h"
#include "worker/sessions/sessions_table.h"
#include "common/exit_cause.h"

#include <stdio.h>
#include <unistd.h>

static int
say_count(const char *what, size_t count)
{
	printf("%zu session%s %s\n", count, count == 1 ? "" : "s", what);
	return EXIT_DONE;
}

static int
show(const struct sessions_options *options, struct json_object *sessions)
{
	struct sessions_output *output = sessions_output_new(STDOUT_FILENO, "standard output");

	sessions_table_write(
	    output, sessions, sessions_table_width(STDOUT_FILENO), options->all_sources);
	if (sessions_output_end(output) == -1)
		return EXIT_PROBLEM;
	return say_count("would be deleted", json_object_array_length(sessions));
}

/* One that cannot be removed does not keep the others. */
static int
remove_all(struct sessions_database *database, const struct sessions_options *options,
    struct json_object *sessions, double idle_since)
{
	size_t i, count = json_object_array_length(sessions), removed = 0;
	int status = EXIT_DONE;

	for (i = 0; i < count; i++) {
		switch (sessions_remove(database,
		    json_member_text(json_object_array_get_idx(sessions, i), "sessionId", ""),
		    options->all_sources, idle_since)) {
		case SESSIONS_REMOVED:
			removed++;
			break;
		case SESSIONS_REMOVE_NOTHING:
			break;
		case SESSIONS_REMOVE_FAILED:
			status = EXIT_PROBLEM;
			break;
		}
	}
	say_count("deleted", removed);
	return status;
}

int
sessions_prune(struct sessions_database *database, const struct sessions_options *options)
{
	struct state_overview_query query = {
	    .source = sessions_find_source(options->all_sources),
	    .cwd = options->cwd,
	    .idle_since = state_sql_now() - (double)options->older_than,
	};
	struct json_object *sessions = NULL;
	int status;

	if (!sessions_database_exists(database))
		return say_count(options->dry_run ? "would be deleted" : "deleted", 0);
	if (sessions_query_run(database, &query, &sessions) == -1)
		return EXIT_PROBLEM;
	if (options->dry_run)
		status = show(options, sessions);
	else if (json_object_array_length(sessions) == 0)
		status = say_count("deleted", 0);
	else if (!sessions_confirm(options, sessions))
		status = EXIT_PROBLEM;
	else
		status = remove_all(database, options, sessions, query.idle_since);
	json_object_put(sessions);
	return status;
}
