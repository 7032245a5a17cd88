/*
 * Conversations in which something was said. Of each there is one entry, and the asking one is
 * left out but for what is not in its context.
 */
#include <config.h>

#include "worker/store/state_search_discover.h"
#include "worker/store/state_excerpt.h"
#include "worker/store/state_facts.h"
#include "worker/store/state_lineage.h"

#include <stdlib.h>
#include <string.h>

/* As in Hermes: messages around a hit, and of the beginning and end of its session. */
#define AROUND_HIT 5
#define BOOKEND 3
#define BOOKEND_CHARACTERS 1200

/* Leaves one item in an array. */
static void
keep_only(struct json_object *array, size_t index)
{
	size_t count = json_object_array_length(array);

	if (index + 1 < count)
		json_object_array_del_idx(array, index + 1, count - index - 1);
	if (index < count && index > 0)
		json_object_array_del_idx(array, 0, index);
}

/* The texts of a full hit: the messages around it, and how the session began and ended. */
static int
add_texts(sqlite3 *db, const struct state_hit *hit, bool full, int64_t characters,
    struct json_object *entry)
{
	struct state_excerpt_place place = {hit->session, hit->id, characters};
	struct json_object *begin = json_object_new_array(), *end = json_object_new_array(),
			   *messages = json_object_new_array();
	int64_t before = 0, after = 0;
	int code =
	    state_excerpt_around(db, &place, AROUND_HIT, true, messages, &before, &after);

	if (!full)
		keep_only(messages, (size_t)before);
	json_set(entry, "bookend_start", begin);
	json_set(entry, "messages", messages);
	json_set(entry, "bookend_end", end);
	json_set_integer(entry, "messages_before", before);
	json_set_integer(entry, "messages_after", after);
	place.anchor = 0;
	if (place.characters > BOOKEND_CHARACTERS)
		place.characters = BOOKEND_CHARACTERS;
	if (code == SQLITE_OK && full)
		code = state_excerpt_end(db, &place, false, BOOKEND, begin);
	if (code == SQLITE_OK && full)
		code = state_excerpt_end(db, &place, true, BOOKEND, end);
	return code;
}

static int
set_snippet(sqlite3 *db, struct state_hits *hits, const struct state_hit *hit,
    struct json_object *entry)
{
	char *text = NULL, *snippet;
	int code = state_excerpt_text(db, hit->id, &text);

	if (code != SQLITE_OK)
		return code;
	snippet = state_hits_snippet(
	    hits, db, hit->id, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
	json_set_text(entry, "snippet", snippet != NULL ? snippet : "");
	free(snippet);
	free(text);
	return SQLITE_OK;
}

/* One hit as an entry of the results. */
static int
add_hit(sqlite3 *db, const struct state_search_request *request, struct state_hits *hits,
    const struct state_hit *hit, const char *root, int64_t characters,
    struct json_object *results)
{
	struct json_object *entry = json_object_new_object();
	bool full = request->full || json_object_array_length(results) == 0, known;
	int code = state_facts_add(db, root, entry, &known);

	json_object_array_add(results, entry);
	json_set_text(entry, "session_id", hit->session);
	state_facts_link(entry, request->link, hit->session);
	json_set_text(entry, "matched_role", hit->role);
	json_set_integer(entry, "match_message_id", hit->id);
	json_set_text(entry, "detail", full ? "full" : "compact");
	if (strcmp(root, hit->session) != 0)
		json_set_text(entry, "parent_session_id", root);
	if (code == SQLITE_OK)
		code = set_snippet(db, hits, hit, entry);
	if (code == SQLITE_OK)
		code = add_texts(db, hit, full, characters, entry);
	return code;
}

/* A conversation that is the asking one is left out, but for what is not in its context. */
static int
is_wanted(sqlite3 *db, const struct state_search_request *request, const char *current_root,
    const struct state_hit *hit, const char *root, bool *wanted)
{
	/* Of the asking session itself only archived rows were searched. */
	bool own = request->current != NULL && strcmp(hit->session, request->current) == 0;

	*wanted = true;
	if (own || current_root == NULL || strcmp(root, current_root) != 0)
		return SQLITE_OK;
	return state_lineage_is_past(db, hit->session, wanted);
}

static bool
is_known(struct json_object *roots, const char *root)
{
	if (json_has(roots, root))
		return true;
	json_set_boolean(roots, root, true);
	return false;
}

/* One entry for each conversation, the best first. */
static int
add_hits(sqlite3 *db, const struct state_search_request *request, struct state_hits *hits,
    const char *current_root, int64_t characters, struct json_object *results)
{
	struct json_object *roots = json_object_new_object();
	size_t count, i;
	const struct state_hit *list = state_hits_list(hits, &count);
	int code = SQLITE_OK;
	char *root = NULL;
	bool wanted;

	for (i = 0; i < count && code == SQLITE_OK &&
		    (int64_t)json_object_array_length(results) < request->limit;
	     i++) {
		code = state_lineage_root(db, list[i].session, &root);
		if (code != SQLITE_OK)
			break;
		code = is_wanted(db, request, current_root, &list[i], root, &wanted);
		if (code == SQLITE_OK && wanted && !is_known(roots, root))
			code = add_hit(db, request, hits, &list[i], root, characters, results);
		free(root);
	}
	json_object_put(roots);
	return code;
}

int
state_search_discover(sqlite3 *db, const struct state_search_request *request,
    struct state_hits *hits, int64_t characters, struct json_object *result)
{
	struct json_object *results = json_object_new_array();
	char *current_root = NULL;
	int code = SQLITE_OK;
	size_t count;

	json_set(result, "query", json_new_bytes(request->query, request->query_length));
	json_set_text(result, "detail", request->full ? "full" : "adaptive");
	json_set(result, "results", results);
	if (request->current != NULL)
		code = state_lineage_root(db, request->current, &current_root);
	if (code == SQLITE_OK)
		code = add_hits(db, request, hits, current_root, characters, results);
	free(current_root);
	count = json_object_array_length(results);
	json_set_integer(result, "count", (int64_t)count);
	json_set_integer(result, "sessions_searched", (int64_t)count);
	if (count == 0)
		json_set_text(result, "message", "No matching sessions found.");
	return code;
}
