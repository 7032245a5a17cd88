/*
 * hermes-acp sessions list: it changes nothing.
 */
#include <config.h>

#include "worker/sessions/sessions_verbs.h"
#include "worker/sessions/sessions_find.h"
#include "worker/sessions/sessions_query.h"
#include "worker/sessions/sessions_table.h"
#include "common/exit_cause.h"

#include <unistd.h>

static void
write_json(struct sessions_output *output, struct json_object *sessions)
{
	size_t i, count = json_object_array_length(sessions);

	for (i = 0; i < count && sessions_output_flush(output); i++)
		sessions_output_json(output, json_object_array_get_idx(sessions, i));
}

int
sessions_list(struct sessions_database *database, const struct sessions_options *options)
{
	struct state_overview_query query = {
	    .source = sessions_find_source(options->all_sources),
	    .cwd = options->cwd,
	    .limit = options->limit,
	};
	struct sessions_output *output;
	struct json_object *sessions;
	int result;

	if (!sessions_database_exists(database)) {
		sessions_output_complain("there are no sessions: %s does not exist",
		    sessions_database_path(database));
		return EXIT_DONE;
	}
	if (sessions_query_run(database, &query, &sessions) == -1)
		return EXIT_PROBLEM;
	output = sessions_output_new(STDOUT_FILENO, "standard output");
	if (options->json)
		write_json(output, sessions);
	else
		sessions_table_write(output, sessions, sessions_table_width(STDOUT_FILENO),
		    options->all_sources);
	result = sessions_output_end(output);
	if (json_object_array_length(sessions) == 0)
		sessions_output_complain(
		    "there are no sessions%s", options->cwd != NULL ? " of this folder" : "");
	json_object_put(sessions);
	return result == 0 ? EXIT_DONE : EXIT_PROBLEM;
}
