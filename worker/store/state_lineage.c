/*
 * Sessions of one conversation.
 */
#include <config.h>

#include "worker/store/state_lineage.h"
#include "common/alloc.h"

#include <stdlib.h>

#define HOPS_MAX 100 /* (as in Hermes); a circle ends there, too */

int
state_lineage_root(sqlite3 *db, const char *session, char **root)
{
	char *at = xstrdup(session), *parent = NULL;
	int hops, code = SQLITE_OK;

	for (hops = 0; hops < HOPS_MAX; hops++) {
		code = state_sql_text(db, &parent,
		    "SELECT p.id FROM sessions AS s JOIN sessions AS p ON "
		    "p.id = s.parent_session_id WHERE s.id = ?",
		    "t", at);
		if (code != SQLITE_ROW || parent == NULL)
			break;
		free(at);
		at = parent;
		parent = NULL;
	}
	if (code == SQLITE_ROW || code == SQLITE_DONE) {
		*root = at;
		return SQLITE_OK;
	}
	free(at);
	return code;
}

int
state_lineage_is_past(sqlite3 *db, const char *session, bool *past)
{
	int64_t found = 0;
	int code = state_sql_integer(db, &found,
	    "SELECT end_reason IN ('compression', 'new_session', 'session_reset', 'idle', "
	    "'daily', 'suspended', 'resume_pending_expired') FROM sessions WHERE id = ?",
	    "t", session);

	*past = found == 1;
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}
