/*
 * hermes-acp sessions delete: nothing is deleted unless every id means a session.
 */
#include <config.h>

#include "worker/sessions/sessions_verbs.h"
#include "worker/sessions/sessions_confirm.h"
#include "worker/sessions/sessions_find.h"
#include "worker/sessions/sessions_output.h"
#include "worker/sessions/sessions_query.h"
#include "worker/sessions/sessions_remove.h"
#include "common/exit_cause.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
is_among(struct json_object *sessions, const char *id)
{
	size_t i, count = json_object_array_length(sessions);

	for (i = 0; i < count; i++)
		if (strcmp(json_member_text(
			       json_object_array_get_idx(sessions, i), "sessionId", ""),
			id) == 0)
			return true;
	return false;
}

/* Adds the session that the text means, once. */
static int
add_meant(struct sessions_database *database, const struct sessions_options *options,
    const char *text, struct json_object *sessions)
{
	char *id = sessions_find(database, text, options->all_sources);
	struct json_object *entry = NULL;
	int result = id != NULL ? 0 : -1;

	if (id != NULL && !is_among(sessions, id)) {
		result = sessions_query_one(database, id, &entry);
		if (result == 0)
			json_object_array_add(sessions, entry);
	}
	free(id);
	return result;
}

static void
say_deleted(const char *id)
{
	struct buffer line = BUFFER_EMPTY;

	sessions_output_line(&line, id);
	printf("deleted %s\n", buffer_text(&line));
	buffer_free(&line);
}

static int
remove_one(struct sessions_database *database, const char *id, bool all_sources)
{
	switch (sessions_remove(database, id, all_sources, 0)) {
	case SESSIONS_REMOVED:
		say_deleted(id);
		return 0;
	case SESSIONS_REMOVE_NOTHING:
		sessions_output_complain("session %s is gone already", id);
		return 0;
	case SESSIONS_REMOVE_FAILED:
		break;
	}
	return -1;
}

int
sessions_delete(struct sessions_database *database, const struct sessions_options *options)
{
	struct json_object *sessions = json_object_new_array();
	int status = EXIT_DONE;
	size_t i;

	for (i = 0; i < options->id_count; i++)
		if (add_meant(database, options, options->ids[i], sessions) == -1)
			status = EXIT_PROBLEM;
	if (status == EXIT_DONE && !sessions_confirm(options, sessions))
		status = EXIT_PROBLEM;
	for (i = 0; status == EXIT_DONE && i < json_object_array_length(sessions); i++)
		if (remove_one(database,
			json_member_text(
			    json_object_array_get_idx(sessions, i), "sessionId", ""),
			options->all_sources) == -1)
			status = EXIT_PROBLEM;
	json_object_put(sessions);
	return status;
}
