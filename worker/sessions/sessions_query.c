/*
 * Reading what the store knows about sessions. No lock is held any more when it is shown.
 */
#include <config.h>

#include "worker/sessions/sessions_query.h"
#include "worker/sessions/sessions_output.h"

struct question {
	const struct state_overview_query *query;
	const char *id;
	struct json_object *answer;
};

static int
run_query(struct state *state, void *arg, struct buffer *error)
{
	struct question *question = arg;

	(void)error;
	json_object_put(question->answer); /* of a try before this one */
	return question->query != NULL
		   ? state_overview(state, question->query, &question->answer)
		   : state_overview_one(state, question->id, &question->answer);
}

static int
ask(struct sessions_database *database, struct question *question, struct json_object **answer)
{
	int code = sessions_database_run(database, false, run_query, question);

	*answer = question->answer;
	if (code == SQLITE_OK)
		return 0;
	if (code == SQLITE_NOTFOUND)
		sessions_output_complain("there is no session %s", question->id);
	json_object_put(question->answer);
	*answer = NULL;
	return -1;
}

int
sessions_query_run(struct sessions_database *database, const struct state_overview_query *query,
    struct json_object **sessions)
{
	struct question question = {.query = query};

	return ask(database, &question, sessions);
}

int
sessions_query_one(
    struct sessions_database *database, const char *id, struct json_object **entry)
{
	struct question question = {.id = id};

	return ask(database, &question, entry);
}
