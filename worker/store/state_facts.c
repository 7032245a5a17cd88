/*
 * Facts about a stored session.
 */
#include <config.h>

#include "worker/store/state_facts.h"
#include "common/alloc.h"

#include <stdlib.h>
#include <time.h>

/* "March 05, 2026 at 04:10 PM", in local time. */
static void
set_when(struct json_object *object, sqlite3_stmt *statement, int column)
{
	double seconds = sqlite3_column_double(statement, column);
	char text[64] = "unknown";
	time_t whole;
	struct tm local;

	if (seconds > 0 && seconds < 253402300799.0) { /* the year 9999 */
		whole = (time_t)seconds;
		if (localtime_r(&whole, &local) != NULL)
			strftime(text, sizeof text, "%B %d, %Y at %I:%M %p", &local);
	}
	json_set_text(object, "when", text);
}

void
state_facts_column(
    struct json_object *object, const char *key, sqlite3_stmt *statement, int column)
{
	size_t length;
	const char *text = state_sql_bytes(statement, column, &length);

	json_set(object, key, text != NULL ? json_new_bytes(text, length) : NULL);
}

void
state_facts_link(struct json_object *object, const char *link, const char *session)
{
	char *text = xasprintf("%s%s", link, session);

	json_set_text(object, "link", text);
	free(text);
}

int
state_facts_add(sqlite3 *db, const char *session, struct json_object *object, bool *known)
{
	sqlite3_stmt *statement = state_sql_prepare(db,
	    "SELECT started_at, source, model, title FROM sessions WHERE id = ?", "t", session);
	int code;

	if (statement == NULL)
		return sqlite3_extended_errcode(db);
	code = sqlite3_step(statement);
	*known = code == SQLITE_ROW;
	if (*known) {
		set_when(object, statement, 0);
		state_facts_column(object, "source", statement, 1);
		state_facts_column(object, "model", statement, 2);
		state_facts_column(object, "title", statement, 3);
	}
	sqlite3_finalize(statement);
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK
							 : sqlite3_extended_errcode(db);
}
