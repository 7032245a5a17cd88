/*
 * Which sessions are another program's, and the name of a copy. The name is made from the
 * session's, so that every later load finds the same copy without a note anywhere.
 */
#include <config.h>

#include "worker/store/state_foreign.h"
#include "common/alloc.h"

#include <stdlib.h>

#define COPY_SUFFIX ".acp"

int
state_foreign_copy_id(struct state *state, const char *session, char **copy)
{
	int64_t found;
	/* "unknown" stands for a row that nobody has completed yet. */
	int code = state_sql_integer(state->db, &found,
	    "SELECT 1 FROM sessions WHERE id = ? AND source NOT IN ('acp', 'unknown')", "t",
	    session);

	*copy = code == SQLITE_ROW ? xasprintf("%s" COPY_SUFFIX, session) : NULL;
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}
