/*
 * Finding a session by the beginning of its id. A session is never guessed.
 */
#include <config.h>

#include "worker/sessions/sessions_find.h"
#include "worker/sessions/sessions_output.h"
#include "worker/store/state_overview.h"
#include "common/alloc.h"
#include "common/utf8.h"

#include <string.h>

#define PREFIX_LEAST 8

struct find {
	const char *text, *source;
	struct json_object *found;
};

static int
run_find(struct state *state, void *arg, struct buffer *error)
{
	struct find *find = arg;

	(void)error;
	json_object_put(find->found);
	find->found = NULL;
	return state_overview_find(state, find->text, find->source, &find->found);
}

const char *
sessions_find_source(bool all_sources)
{
	return all_sources ? NULL : "acp";
}

static const char *
id_of(struct json_object *found, size_t index)
{
	return json_member_text(json_object_array_get_idx(found, index), "sessionId", "");
}

static bool
is_too_short(const char *text, struct json_object *found)
{
	return utf8_count(text, strlen(text)) < PREFIX_LEAST &&
	       strcmp(id_of(found, 0), text) != 0;
}

static void
complain_ambiguous(const char *text, struct json_object *found)
{
	struct buffer names = BUFFER_EMPTY;
	size_t i, count = json_object_array_length(found);

	for (i = 0; i < count; i++)
		buffer_printf(&names, "%s%s", i > 0 ? ", " : "", id_of(found, i));
	sessions_output_complain("%s is the beginning of more than one id: %s%s", text,
	    buffer_text(&names), count == STATE_FOUND_MAX ? " ..." : "");
	buffer_free(&names);
}

/* Says so when it is a session of another program. */
static void
complain_unknown(struct sessions_database *database, const char *text, bool all_sources)
{
	struct find find = {.text = text};

	if (!all_sources &&
	    sessions_database_run(database, false, run_find, &find) != SQLITE_OK)
		return;
	if (find.found != NULL && json_object_array_length(find.found) == 1 &&
	    !is_too_short(text, find.found))
		sessions_output_complain(
		    "session %s is one of another program (%s); --all-sources counts it in",
		    id_of(find.found, 0),
		    json_member_text(json_object_array_get_idx(find.found, 0), "source", ""));
	else
		sessions_output_complain("there is no session %s", text);
	json_object_put(find.found);
}

char *
sessions_find(struct sessions_database *database, const char *text, bool all_sources)
{
	struct find find = {.text = text, .source = sessions_find_source(all_sources)};
	char *id = NULL;
	size_t count;

	if (!sessions_database_exists(database) || text[0] == '\0') {
		sessions_output_complain("there is no session %s", text);
		return NULL;
	}
	if (sessions_database_run(database, false, run_find, &find) != SQLITE_OK)
		return NULL;
	count = json_object_array_length(find.found);
	if (count > 0 && is_too_short(text, find.found))
		sessions_output_complain(
		    "%s: the whole id is needed, or at least the first %d characters of it",
		    text, PREFIX_LEAST);
	else if (count == 1)
		id = xstrdup(id_of(find.found, 0));
	else if (count > 1)
		complain_ambiguous(text, find.found);
	else
		complain_unknown(database, text, all_sources);
	json_object_put(find.found);
	return id;
}
