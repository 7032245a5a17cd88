/*
 * Searching in slices.
 */
#include <config.h>

#include "worker/store/state_hits.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/monotonic.h"

#include <stdlib.h>
#include <string.h>

/* How long a slice may take. Its width is halved when it takes longer, and doubled when it is
 * done in a fraction of that. */
#define SLICE_MS 8
#define SLICE_SHORT_MS 2
#define WIDTH_FIRST 8192
#define WIDTH_LEAST 64 /* so narrow a slice is searched to its end */
/* A rank is made from all messages that have the words. When even so narrow a slice takes too
 * long, that is the reason. */
#define WIDTH_RANKED 512
#define WIDTH_MOST ((int64_t)1 << 20)
/* Steps of SQLite's machine between two looks at the clock. */
#define STEPS 1000

#define SNIPPET_TOKENS "32"
#define SNIPPET_CHARACTERS 200
#define SNIPPET_BYTES 2000

/* How it is searched; a later one is taken when an earlier one cannot be or finds nothing. */
enum method { METHOD_WORDS, METHOD_PARTS, METHOD_SCAN, METHOD_NONE };

#define INDEX_SQL(table)                                                                       \
	"FROM " table " CROSS JOIN messages AS m ON m.id = " table ".rowid JOIN sessions AS "  \
	"s ON s.id = m.session_id WHERE " table " MATCH ?5 AND " table                         \
	".rowid BETWEEN ?1 AND ?2"

static const struct {
	const char *table, *score, *from;
} methods[] = {
    [METHOD_WORDS] = {"messages_fts", "messages_fts.rank", INDEX_SQL("messages_fts")},
    [METHOD_PARTS] = {"messages_fts_trigram", "messages_fts_trigram.rank",
	INDEX_SQL("messages_fts_trigram")},
    [METHOD_SCAN] = {NULL, "-m.id",
	"FROM messages AS m CROSS JOIN sessions AS s ON s.id = m.session_id WHERE m.id "
	"BETWEEN ?1 AND ?2"},
};

/* What is not shown is not found: taken back, hidden, of machines, and what the model has in
 * its context. */
static const char filter[] =
    " AND (m.active = 1 OR m.compacted = 1) AND coalesce(m.display_kind, '') <> 'hidden' "
    "AND m.role IN (SELECT value FROM json_each(?3)) AND (m.session_id <> ?4 OR m.active = 0) "
    "AND s.source NOT IN ('kanban', 'subagent', 'tool') AND s.hidden = 0";

static const char *const orders[] = {
    [STATE_HITS_BEST] = " ORDER BY demoted, score, m.id DESC",
    [STATE_HITS_NEWEST] = " ORDER BY demoted, m.id DESC",
    [STATE_HITS_OLDEST] = " ORDER BY demoted, m.id",
};

/* Parameters of the scan's patterns begin here. */
#define FIRST_PATTERN 6

struct hit_list {
	struct state_hit *items;
	size_t count;
};

struct state_hits {
	struct state_query query;
	struct buffer match; /* for MATCH */
	char *roles, *current;
	bool tools; /* results of tools are searched, which the trigram index does not have */
	enum state_hits_sort sort;
	enum method method, used; /* the one that gave the hits */
	bool unranked;		  /* there is too much to rank: the newest come first */
	int64_t last;		  /* number of the newest message, -1 = not known yet */
	int64_t low, high;	  /* what is left to search */
	int64_t width;
	struct hit_list found, slice;
	bool interrupted, broken; /* how the slice went */
	int64_t took;
};

static void
list_clear(struct hit_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		free(list->items[i].session);
		free(list->items[i].role);
	}
	free(list->items);
	list->items = NULL;
	list->count = 0;
}

static bool
has_role(struct json_object *roles, const char *role)
{
	size_t i;

	for (i = 0; i < json_object_array_length(roles); i++)
		if (strcmp(json_object_get_string(json_object_array_get_idx(roles, i)), role) ==
		    0)
			return true;
	return false;
}

static enum method
first_method(const struct state_hits *hits)
{
	if (hits->query.count == 0)
		return METHOD_NONE;
	if (!hits->query.cjk)
		return METHOD_WORDS;
	return state_query_fits_trigrams(&hits->query) && !hits->tools ? METHOD_PARTS
								       : METHOD_SCAN;
}

static void
set_method(struct state_hits *hits, enum method method)
{
	hits->method = hits->used = method;
	hits->unranked = method == METHOD_SCAN;
	hits->low = 1;
	hits->high = hits->last;
	hits->width = WIDTH_FIRST;
	list_clear(&hits->found);
}

struct state_hits *
state_hits_new(const char *query, size_t length, struct json_object *roles, const char *current,
    enum state_hits_sort sort)
{
	struct state_hits *hits = xcalloc(1, sizeof *hits);

	state_query_parse(&hits->query, query, length);
	state_query_match(&hits->query, &hits->match);
	hits->roles = xstrdup(json_text(roles, NULL));
	hits->tools = has_role(roles, "tool");
	hits->current = xstrdup(current != NULL ? current : "");
	hits->sort = sort;
	hits->last = -1;
	set_method(hits, first_method(hits));
	return hits;
}

void
state_hits_free(struct state_hits *hits)
{
	if (hits == NULL)
		return;
	state_query_clear(&hits->query);
	buffer_free(&hits->match);
	list_clear(&hits->found);
	list_clear(&hits->slice);
	free(hits->roles);
	free(hits->current);
	free(hits);
}

static void
append_sql(const struct state_hits *hits, struct buffer *sql)
{
	buffer_printf(sql,
	    "SELECT m.id, m.session_id, m.role, %s AS score, s.source = 'cron' AS demoted %s",
	    hits->unranked ? "-m.id" : methods[hits->method].score, methods[hits->method].from);
	buffer_append_text(sql, filter);
	if (hits->method == METHOD_SCAN) {
		buffer_append_text(sql, " AND (");
		state_query_condition(
		    &hits->query, "coalesce(m.content, '')", FIRST_PATTERN, sql);
		buffer_append_text(sql, ")");
	}
	buffer_printf(sql, "%s LIMIT %d", orders[hits->sort], STATE_HITS_MAX);
}

static int
bind_patterns(const struct state_hits *hits, sqlite3_stmt *statement)
{
	struct buffer pattern = BUFFER_EMPTY;
	int code = SQLITE_OK;
	size_t i;

	for (i = 0; i < hits->query.count && code == SQLITE_OK; i++) {
		buffer_clear(&pattern);
		state_query_pattern(&hits->query, i, &pattern);
		code = sqlite3_bind_text(statement, FIRST_PATTERN + (int)i,
		    buffer_text(&pattern), -1, SQLITE_TRANSIENT);
	}
	buffer_free(&pattern);
	return code;
}

/* The next slice: from the newest down, or from the oldest up. */
static void
slice_bounds(const struct state_hits *hits, int64_t *low, int64_t *high)
{
	*low = hits->low;
	*high = hits->high;
	if (*high - *low < hits->width)
		return;
	if (hits->sort == STATE_HITS_OLDEST)
		*high = *low + hits->width - 1;
	else
		*low = *high - hits->width + 1;
}

static sqlite3_stmt *
prepare(struct state_hits *hits, sqlite3 *db)
{
	struct buffer sql = BUFFER_EMPTY;
	sqlite3_stmt *statement;
	int64_t low, high;

	append_sql(hits, &sql);
	slice_bounds(hits, &low, &high);
	if (hits->method == METHOD_SCAN)
		statement = state_sql_prepare(
		    db, buffer_text(&sql), "iitt", low, high, hits->roles, hits->current);
	else
		statement = state_sql_prepare(db, buffer_text(&sql), "iittt", low, high,
		    hits->roles, hits->current, buffer_text(&hits->match));
	buffer_free(&sql);
	if (statement != NULL && hits->method == METHOD_SCAN &&
	    bind_patterns(hits, statement) != SQLITE_OK) {
		sqlite3_finalize(statement);
		return NULL;
	}
	return statement;
}

static void
take_row(struct hit_list *list, sqlite3_stmt *statement)
{
	struct state_hit *hit;
	const char *session, *role;
	size_t length;

	session = state_sql_bytes(statement, 1, &length);
	role = state_sql_bytes(statement, 2, &length);
	list->items = xreallocarray(list->items, list->count + 1, sizeof *list->items);
	hit = &list->items[list->count++];
	hit->id = sqlite3_column_int64(statement, 0);
	hit->session = xstrdup(session != NULL ? session : "");
	hit->role = xstrdup(role != NULL ? role : "");
	hit->score = sqlite3_column_double(statement, 3);
	hit->demoted = sqlite3_column_int(statement, 4) != 0;
}

static int
is_late(void *arg)
{
	const int64_t *deadline = arg;

	return monotonic_ms() > *deadline;
}

static int
step_all(struct state_hits *hits, sqlite3 *db, sqlite3_stmt *statement)
{
	int64_t deadline = monotonic_ms() + SLICE_MS;
	int code;

	if (hits->width > WIDTH_LEAST)
		sqlite3_progress_handler(db, STEPS, is_late, &deadline);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW)
		take_row(&hits->slice, statement);
	sqlite3_progress_handler(db, 0, NULL, NULL);
	return code;
}

static int
find_last(struct state_hits *hits, sqlite3 *db)
{
	int64_t last = 0;
	int code;

	if (hits->last >= 0)
		return SQLITE_OK;
	code = state_sql_integer(db, &last, "SELECT coalesce(max(id), 0) FROM messages", "");
	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? SQLITE_ERROR : code;
	hits->last = hits->high = last;
	return SQLITE_OK;
}

int
state_hits_search(struct state_hits *hits, sqlite3 *db)
{
	int64_t began = monotonic_ms();
	sqlite3_stmt *statement;
	int code;

	list_clear(&hits->slice);
	hits->interrupted = hits->broken = false;
	if (hits->method == METHOD_NONE)
		return SQLITE_OK;
	code = find_last(hits, db);
	if (code != SQLITE_OK)
		return code;
	statement = prepare(hits, db);
	code = statement != NULL ? step_all(hits, db, statement) : sqlite3_extended_errcode(db);
	if (code != SQLITE_DONE)
		code = sqlite3_extended_errcode(db);
	hits->took = monotonic_ms() - began;
	hits->interrupted = code == SQLITE_INTERRUPT;
	if (state_sql_is_busy(code) ||
	    (code != SQLITE_DONE && hits->method == METHOD_SCAN && !hits->interrupted)) {
		sqlite3_finalize(statement);
		return code;
	}
	hits->broken = code != SQLITE_DONE && !hits->interrupted;
	if (hits->broken)
		log_info("store", "the index %s cannot be used: %s",
		    methods[hits->method].table, sqlite3_errmsg(db));
	sqlite3_finalize(statement);
	return SQLITE_OK;
}

/* Parts of words are looked for where no word was found. */
static enum method
method_after(const struct state_hits *hits)
{
	if (hits->broken)
		return METHOD_SCAN;
	if (hits->method == METHOD_WORDS && hits->found.count == 0 && !hits->tools &&
	    state_query_fits_trigrams(&hits->query))
		return METHOD_PARTS;
	return METHOD_NONE;
}

static int
compare_scores(const void *a, const void *b)
{
	const struct state_hit *left = a, *right = b;

	if (left->demoted != right->demoted)
		return left->demoted ? 1 : -1;
	if (left->score != right->score)
		return left->score < right->score ? -1 : 1;
	return left->id > right->id ? -1 : 1;
}

static int
compare_newest(const void *a, const void *b)
{
	const struct state_hit *left = a, *right = b;

	if (left->demoted != right->demoted)
		return left->demoted ? 1 : -1;
	return left->id > right->id ? -1 : 1;
}

static int
compare_oldest(const void *a, const void *b)
{
	const struct state_hit *left = a, *right = b;

	if (left->demoted != right->demoted)
		return left->demoted ? 1 : -1;
	return left->id < right->id ? -1 : 1;
}

static void
merge(struct state_hits *hits)
{
	static int (*const compare[])(const void *, const void *) = {
	    [STATE_HITS_BEST] = compare_scores,
	    [STATE_HITS_NEWEST] = compare_newest,
	    [STATE_HITS_OLDEST] = compare_oldest,
	};
	struct hit_list *found = &hits->found, rest;

	if (hits->slice.count == 0)
		return;
	found->items =
	    xreallocarray(found->items, found->count + hits->slice.count, sizeof *found->items);
	memcpy(found->items + found->count, hits->slice.items,
	    hits->slice.count * sizeof *found->items);
	found->count += hits->slice.count;
	free(hits->slice.items);
	hits->slice = (struct hit_list){NULL, 0};
	qsort(found->items, found->count, sizeof *found->items, compare[hits->sort]);
	while (found->count > STATE_HITS_MAX) {
		rest = (struct hit_list){&found->items[--found->count], 1};
		free(rest.items->session);
		free(rest.items->role);
	}
}

/* The slices go by time already, and what is demoted stays behind: more of it is no use. */
static bool
has_enough(const struct state_hits *hits)
{
	return hits->found.count == STATE_HITS_MAX &&
	       (hits->sort != STATE_HITS_BEST || hits->unranked) &&
	       !hits->found.items[STATE_HITS_MAX - 1].demoted;
}

static void
narrow(struct state_hits *hits)
{
	hits->width /= 2;
	if (hits->width >= WIDTH_RANKED || hits->unranked || hits->sort != STATE_HITS_BEST)
		return;
	set_method(hits, hits->method);
	hits->unranked = true;
}

bool
state_hits_advance(struct state_hits *hits)
{
	int64_t low, high;

	if (hits->method == METHOD_NONE)
		return false;
	if (hits->interrupted) {
		narrow(hits);
		return true;
	}
	if (!hits->broken) {
		slice_bounds(hits, &low, &high);
		merge(hits);
		if (hits->sort == STATE_HITS_OLDEST)
			hits->low = high + 1;
		else
			hits->high = low - 1;
		if (hits->took <= SLICE_SHORT_MS && hits->width < WIDTH_MOST)
			hits->width *= 2;
		if (hits->low <= hits->high && !has_enough(hits))
			return true;
	}
	if (method_after(hits) == METHOD_NONE) {
		hits->method = METHOD_NONE;
		return false;
	}
	set_method(hits, method_after(hits));
	return true;
}

const struct state_hit *
state_hits_list(const struct state_hits *hits, size_t *count)
{
	*count = hits->found.count;
	return hits->found.items;
}

static char *
index_snippet(struct state_hits *hits, sqlite3 *db, int64_t id)
{
	const char *table = methods[hits->used].table;
	char *snippet = NULL,
	     *sql = xasprintf("SELECT snippet(%s, -1, '>>>', '<<<', '...', " SNIPPET_TOKENS
			      ") FROM %s WHERE %s MATCH ? AND rowid = ?",
		 table, table, table);

	(void)state_sql_text(db, &snippet, sql, "ti", buffer_text(&hits->match), id);
	free(sql);
	return snippet;
}

char *
state_hits_snippet(
    struct state_hits *hits, sqlite3 *db, int64_t id, const char *text, size_t length)
{
	char *snippet = hits->used == METHOD_SCAN ? NULL : index_snippet(hits, db, id);

	/* An index counts words, however far they are apart. */
	if (snippet != NULL && snippet[0] != '\0' && strlen(snippet) <= SNIPPET_BYTES)
		return snippet;
	free(snippet);
	return state_query_snippet(&hits->query, text, length, SNIPPET_CHARACTERS);
}
