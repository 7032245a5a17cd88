/*
 * Building the results of a search.
 */
#include <config.h>

#include "worker/store/state_search_result.h"
#include "worker/store/state_excerpt.h"
#include "worker/store/state_facts.h"
#include "worker/store/state_lineage.h"
#include "worker/store/state_preview.h"
#include "worker/store/state_search_discover.h"
#include "worker/store/state_shown.h"

#include <stdlib.h>
#include <string.h>

/* As in Hermes: messages and characters of a result. */
#define READ_FIRST 20
#define READ_LAST 10
#define HIT_CHARACTERS 4000
/* Hermes does not cut these but keeps what is long in a file. */
#define READ_CHARACTERS 16000
#define CHARACTERS_LEAST 60

#define SEARCHED(column) column " NOT IN ('kanban', 'subagent', 'tool')"

static struct json_object *
new_result(const char *mode)
{
	struct json_object *result = json_object_new_object();

	json_set_boolean(result, "success", true);
	json_set_text(result, "mode", mode);
	return result;
}

/* Refuses a session that is not there. */
static int
add_meta(sqlite3 *db, const char *session, struct json_object *result, struct buffer *error)
{
	struct json_object *meta = json_object_new_object();
	bool known = false;
	int code = state_facts_add(db, session, meta, &known);

	json_set(result, "session_meta", meta);
	if (code == SQLITE_OK && !known) {
		buffer_printf(error, "session_id not found: %.200s", session);
		code = STATE_REFUSED;
	}
	return code;
}

static int
read_session(sqlite3 *db, const struct state_search_request *request, int64_t characters,
    struct json_object *result, struct buffer *error)
{
	const struct state_excerpt_place place = {request->session, 0, characters};
	struct json_object *messages = json_object_new_array();
	struct buffer text = BUFFER_EMPTY;
	int64_t total = 0;
	int code;

	json_set_text(result, "session_id", request->session);
	state_facts_link(result, request->link, request->session);
	code = add_meta(db, request->session, result, error);
	if (code == SQLITE_OK)
		code = state_excerpt_whole(db, &place, READ_FIRST, READ_LAST, messages, &total);
	json_set_integer(result, "message_count", total);
	json_set_boolean(result, "truncated", total > READ_FIRST + READ_LAST);
	json_set(result, "messages", messages);
	if (total > READ_FIRST + READ_LAST) {
		buffer_printf(&text,
		    "The session has %lld messages: these are the first %d and the last %d. "
		    "Give around_message_id (any id above) to read in between.",
		    (long long)total, READ_FIRST, READ_LAST);
		json_set_text(result, "message", buffer_text(&text));
		buffer_free(&text);
	}
	return code;
}

struct owner {
	char *session; /* that has the message; NULL when there is no such message */
	bool archived; /* a summary stands for it */
	bool taken_back;
};

static int
find_owner(sqlite3 *db, int64_t id, struct owner *owner)
{
	int64_t active = 1, compacted = 0;
	int code;

	memset(owner, 0, sizeof *owner);
	code = state_sql_text(
	    db, &owner->session, "SELECT session_id FROM messages WHERE id = ?", "i", id);
	if (code == SQLITE_ROW)
		code = state_sql_integer(
		    db, &active, "SELECT active FROM messages WHERE id = ?", "i", id);
	if (code == SQLITE_ROW)
		code = state_sql_integer(
		    db, &compacted, "SELECT compacted FROM messages WHERE id = ?", "i", id);
	owner->archived = active == 0 && compacted == 1;
	owner->taken_back = active == 0 && compacted != 1;
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static int
same_lineage(sqlite3 *db, const char *one, const char *other, bool *same)
{
	char *first = NULL, *second = NULL;
	int code = state_lineage_root(db, one, &first);

	if (code == SQLITE_OK)
		code = state_lineage_root(db, other, &second);
	*same = code == SQLITE_OK && strcmp(first, second) == 0;
	free(first);
	free(second);
	return code;
}

/* What the model has before it anyway need not be read again. */
static int
check_not_live(sqlite3 *db, const char *current, const struct owner *owner, const char *session,
    struct buffer *error)
{
	const char *place = owner->session != NULL ? owner->session : session;
	bool same = false, past = false;
	int code;

	if (current == NULL || owner->archived)
		return SQLITE_OK;
	code = same_lineage(db, place, current, &same);
	if (code == SQLITE_OK && same && !owner->taken_back)
		code = state_lineage_is_past(db, place, &past);
	if (code != SQLITE_OK || !same || past)
		return code;
	buffer_append_text(error,
	    "scroll rejected: the message is in the current session, which "
	    "is in your context already");
	return STATE_REFUSED;
}

/* A message of a later part of the same conversation is found there. */
static int
choose_session(sqlite3 *db, const struct state_search_request *request,
    const struct owner *owner, const char **session, struct json_object *result)
{
	struct buffer warning = BUFFER_EMPTY;
	bool same = false;
	int code;

	*session = request->session;
	if (owner->session == NULL || strcmp(owner->session, request->session) == 0)
		return SQLITE_OK;
	code = same_lineage(db, owner->session, request->session, &same);
	if (code != SQLITE_OK || !same)
		return code;
	*session = owner->session;
	buffer_printf(&warning,
	    "around_message_id %lld is in %s, which belongs to the same "
	    "conversation as %s; it is shown from there",
	    (long long)request->around, owner->session, request->session);
	json_set_text(result, "warning", buffer_text(&warning));
	buffer_free(&warning);
	return SQLITE_OK;
}

static int
add_window(sqlite3 *db, const struct state_search_request *request, const char *session,
    int64_t characters, struct json_object *result, struct buffer *error)
{
	const struct state_excerpt_place place = {session, request->around, characters};
	struct json_object *messages = json_object_new_array();
	int64_t before, after;
	int code = add_meta(db, session, result, error);

	json_set_text(result, "session_id", session);
	json_set_integer(result, "around_message_id", request->around);
	json_set_integer(result, "window", request->window);
	json_set(result, "messages", messages);
	if (code == SQLITE_OK)
		code = state_excerpt_around(
		    db, &place, request->window, false, messages, &before, &after);
	if (code == SQLITE_OK && json_object_array_length(messages) == 0) {
		buffer_printf(error, "around_message_id %lld not in session_id %.200s",
		    (long long)request->around, session);
		code = STATE_REFUSED;
	}
	if (code == SQLITE_OK) {
		json_set_integer(result, "messages_before", before);
		json_set_integer(result, "messages_after", after);
	}
	return code;
}

static int
scroll(sqlite3 *db, const struct state_search_request *request, int64_t characters,
    struct json_object *result, struct buffer *error)
{
	const char *session;
	struct owner owner;
	int code = find_owner(db, request->around, &owner);

	if (code == SQLITE_OK)
		code = check_not_live(db, request->current, &owner, request->session, error);
	if (code == SQLITE_OK)
		code = choose_session(db, request, &owner, &session, result);
	if (code == SQLITE_OK)
		code = add_window(db, request, session, characters, result, error);
	free(owner.session);
	return code;
}

/* A row of the list of sessions. */
static int
add_session(struct state *state, const struct state_search_request *request,
    sqlite3_stmt *statement, struct json_object *results)
{
	static const char *const names[] = {"session_id", "title", "source"};
	static const char *const times[] = {"started_at", "last_active"};
	struct json_object *entry = json_object_new_object();
	const char *id = (const char *)sqlite3_column_text(statement, 0);
	char *preview = NULL;
	int i, code;

	json_object_array_add(results, entry);
	for (i = 0; i < 3; i++)
		state_facts_column(entry, names[i], statement, i);
	state_facts_link(entry, request->link, id != NULL ? id : "");
	for (i = 0; i < 2; i++)
		json_set(entry, times[i],
		    json_object_new_double(sqlite3_column_double(statement, 3 + i)));
	json_set_integer(entry, "message_count", sqlite3_column_int64(statement, 5));
	code = state_preview(state, id, &preview);
	json_set_text(entry, "preview", preview != NULL ? preview : "");
	free(preview);
	return code;
}

/* The beginning of a conversation that was summed up into the asking session is not shown. */
static const char recent[] =
    "SELECT s.id, s.title, s.source, s.started_at, " STATE_SHOWN_ACTIVE " AS active, "
    "s.message_count FROM " STATE_SHOWN_CANDIDATES(SEARCHED(
	"source")) " AS s WHERE s.newest "
		   "IS NOT NULL AND " STATE_SHOWN_IS_ROOT
		   " AND NOT " STATE_SHOWN_GOES_ON(SEARCHED(
		       "n.source")) " AND s.id <> ?1 ORDER BY active DESC, s.id DESC LIMIT ?2";

static int
browse(sqlite3 *db, const struct state_search_request *request, struct json_object *result)
{
	struct json_object *results = json_object_new_array();
	struct state view = {.db = db};
	struct buffer text = BUFFER_EMPTY;
	sqlite3_stmt *statement = state_sql_prepare(
	    db, recent, "ti", request->current != NULL ? request->current : "", request->limit);
	int code = SQLITE_ROW, step = SQLITE_OK;

	json_set(result, "results", results);
	if (statement == NULL)
		return sqlite3_extended_errcode(db);
	while (step == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
		step = add_session(&view, request, statement, results);
	sqlite3_finalize(statement);
	if (step != SQLITE_OK)
		return step;
	if (code != SQLITE_DONE)
		return sqlite3_extended_errcode(db);
	json_set_integer(result, "count", (int64_t)json_object_array_length(results));
	buffer_printf(&text,
	    "These are the %zu sessions used last. Give query to search, or session_id to read "
	    "one.",
	    json_object_array_length(results));
	json_set_text(result, "message", buffer_text(&text));
	buffer_free(&text);
	return SQLITE_OK;
}

static int
build(sqlite3 *db, const struct state_search_request *request, struct state_hits *hits,
    int64_t characters, struct json_object **result, struct buffer *error)
{
	static const char *const modes[] = {"discover", "read", "scroll", "browse"};
	int code = SQLITE_ERROR;

	*result = new_result(modes[request->mode]);
	switch (request->mode) {
	case STATE_SEARCH_DISCOVER:
		code = state_search_discover(db, request, hits, characters, *result);
		break;
	case STATE_SEARCH_READ:
		code = read_session(db, request, characters, *result, error);
		break;
	case STATE_SEARCH_SCROLL:
		code = scroll(db, request, characters, *result, error);
		break;
	case STATE_SEARCH_BROWSE:
		code = browse(db, request, *result);
		break;
	}
	if (code != SQLITE_OK) {
		json_object_put(*result);
		*result = NULL;
	}
	return code;
}

int
state_search_result(sqlite3 *db, const struct state_search_request *request,
    struct state_hits *hits, struct json_object **result, struct buffer *error)
{
	int64_t characters =
	    request->mode == STATE_SEARCH_DISCOVER ? HIT_CHARACTERS : READ_CHARACTERS;
	size_t length = 0;
	int code;

	for (;;) {
		code = build(db, request, hits, characters, result, error);
		if (code != SQLITE_OK)
			return code;
		json_text(*result, &length);
		if (length <= STATE_SEARCH_RESULT_MAX || characters / 2 < CHARACTERS_LEAST)
			return SQLITE_OK;
		json_object_put(*result);
		characters /= 2;
	}
}
