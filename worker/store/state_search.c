/*
 * The jobs of a search, one after the other.
 */
#include <config.h>

#include "worker/store/state_search.h"
#include "worker/store/state_search_result.h"
#include "common/alloc.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

/* A lock of another process is waited for so long. */
#define PATIENCE_MS 10000

struct state_search {
	struct state_queue *queue;
	struct state_search_request request; /* its texts are owned */
	struct state_hits *hits;
	sqlite3 *other; /* the database of another profile */
	struct json_object *result;
	state_search_done done; /* NULL: nobody wants to know */
	void *arg;
};

static char *
copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

static void
free_text(const char *text)
{
	free((void *)(uintptr_t)text);
}

static void
search_free(struct state_search *search)
{
	free_text(search->request.current);
	free_text(search->request.link);
	free_text(search->request.database);
	free_text(search->request.query);
	free_text(search->request.session);
	json_object_put(search->request.roles);
	json_object_put(search->result);
	state_hits_free(search->hits);
	sqlite3_close(search->other);
	free(search);
}

/* Opened for reading only: nothing in another profile is made, completed or repaired. */
static int
choose_database(
    struct state_search *search, struct state *state, sqlite3 **db, struct buffer *error)
{
	const char *path = search->request.database;
	int code;

	*db = path != NULL ? search->other : state->db;
	if (*db != NULL)
		return SQLITE_OK;
	code = sqlite3_open_v2(
	    path, &search->other, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK) {
		state_sql_explain(error, search->other, code, path);
		sqlite3_close(search->other);
		search->other = NULL;
		return STATE_REFUSED;
	}
	sqlite3_extended_result_codes(search->other, 1);
	sqlite3_busy_timeout(search->other, 0);
	*db = search->other;
	return SQLITE_OK;
}

/* The queue explains its own database only. */
static int
explain_other(struct state_search *search, int code, struct buffer *error)
{
	if (search->request.database == NULL || code == SQLITE_OK || code == STATE_REFUSED ||
	    state_sql_is_busy(code))
		return code;
	state_sql_explain(error, search->other, code, search->request.database);
	return STATE_REFUSED;
}

static int
run_slice(struct state *state, void *arg, struct buffer *error)
{
	struct state_search *search = arg;
	sqlite3 *db;
	int code;

	if (search->done == NULL)
		return SQLITE_OK;
	code = choose_database(search, state, &db, error);
	if (code != SQLITE_OK)
		return code;
	return explain_other(search, state_hits_search(search->hits, db), error);
}

static int
run_result(struct state *state, void *arg, struct buffer *error)
{
	struct state_search *search = arg;
	sqlite3 *db;
	int code;

	if (search->done == NULL)
		return SQLITE_OK;
	json_object_put(search->result);
	search->result = NULL;
	code = choose_database(search, state, &db, error);
	if (code != SQLITE_OK)
		return code;
	code = state_search_result(db, &search->request, search->hits, &search->result, error);
	return explain_other(search, code, error);
}

static void
tell(struct state_search *search, const char *error)
{
	if (search->done != NULL)
		search->done(error == NULL ? search->result : NULL, error, search->arg);
	search_free(search);
}

static void
result_done(int code, const char *error, void *arg)
{
	(void)code;
	tell(arg, error);
}

static void
slice_done(int code, const char *error, void *arg)
{
	struct state_search *search = arg;

	(void)code;
	if (error != NULL || search->done == NULL)
		tell(search, error);
	else if (state_hits_advance(search->hits))
		state_queue_read(search->queue, PATIENCE_MS, run_slice, slice_done, search);
	else
		state_queue_read(search->queue, PATIENCE_MS, run_result, result_done, search);
}

struct state_search *
state_search_start(struct state_queue *queue, const struct state_search_request *request,
    state_search_done done, void *arg)
{
	struct state_search *search = xcalloc(1, sizeof *search);
	struct state_search_request *copy = &search->request;

	*copy = *request;
	copy->current = copy_text(request->current);
	copy->link = copy_text(request->link);
	copy->database = copy_text(request->database);
	copy->session = copy_text(request->session);
	if (request->query != NULL)
		copy->query = utf8_clean(request->query,
		    utf8_offset(request->query, request->query_length, STATE_QUERY_CHARACTERS),
		    &copy->query_length);
	copy->roles = json_object_get(request->roles);
	search->queue = queue;
	search->done = done;
	search->arg = arg;
	if (request->mode == STATE_SEARCH_DISCOVER) {
		search->hits = state_hits_new(request->query, request->query_length,
		    request->roles, request->current, request->sort);
		state_queue_read(queue, PATIENCE_MS, run_slice, slice_done, search);
	} else {
		state_queue_read(queue, PATIENCE_MS, run_result, result_done, search);
	}
	return search;
}

void
state_search_cancel(struct state_search *search)
{
	search->done = NULL;
}
