/*
 * The tool "session_search": lets the model look into earlier sessions. It reads the database
 * of sessions and changes nothing.
 */
#include <config.h>

#include "worker/tools/tool_rows.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/utf8.h"
#include "worker/store/state_search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Characters of the card (as in Hermes). */
#define CARD_MAX 7000
#define CARD_TEXT_MAX 500

#define LIMIT_DEFAULT 3
#define LIMIT_MAX 10
#define WINDOW_DEFAULT 5
#define WINDOW_MAX 20
#define PROFILE_MAX 64

struct lookup {
	struct state_search_request request;
	struct state_search *search; /* while it runs */
	char *session, *database, *link;
};

static void
fail(struct tool_run *run, const char *text)
{
	struct json_object *result = json_object_new_object();

	json_set_boolean(result, "success", false);
	json_set_text(result, "error", text);
	tool_contents_text(&run->shown, text, strlen(text));
	tool_finish(run, result, true);
}

/* A number in its bounds; what is no number is the usual one. */
static int64_t
bounded(struct json_object *arguments, const char *key, int64_t usual, int64_t most)
{
	int64_t value = usual;

	(void)json_member_integer(arguments, key, &value);
	return value < 1 ? 1 : value > most ? most : value;
}

static bool
is_profile_name(const char *name)
{
	size_t i;

	for (i = 0; name[i] != '\0'; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_')
			return false;
	return i > 0 && i <= PROFILE_MAX;
}

/* $HERMES_HOME is <root> or <root>/profiles/<name>. The root, owned by the caller; *name is
 * that of the profile. */
static char *
profile_root(const struct tool_context *context, const char **name)
{
	char *root = xstrdup(context->home), *slash = strrchr(root, '/'), *parent, *usual;

	*name = NULL;
	if (slash != NULL) {
		*slash = '\0';
		parent = strrchr(root, '/');
		if (parent != NULL && parent > root && strcmp(parent, "/profiles") == 0) {
			*parent = '\0';
			*name = context->home + (slash - root) + 1;
			return root;
		}
		*slash = '/';
	}
	usual = xasprintf("%s/.hermes", context->user_home != NULL ? context->user_home : "");
	if (strcmp(usual, root) == 0)
		*name = "default";
	free(usual);
	return root;
}

/* The database and the way to write references. -1 when there is no such profile name. */
static int
choose_profile(struct lookup *lookup, const struct tool_context *context, const char *given)
{
	const char *own;
	char *root = profile_root(context, &own);
	int result = 0;

	if (given == NULL || *given == '\0' || (own != NULL && strcmp(given, own) == 0))
		lookup->link =
		    own != NULL ? xasprintf("@session:%s/", own) : xstrdup("@session:");
	else if (!is_profile_name(given))
		result = -1;
	else
		lookup->link = xasprintf("@session:%s/", given);
	if (result == 0 && given != NULL && *given != '\0' &&
	    (own == NULL || strcmp(given, own) != 0))
		lookup->database = strcmp(given, "default") == 0
				       ? xasprintf("%s/state.db", root)
				       : xasprintf("%s/profiles/%s/state.db", root, given);
	free(root);
	return result;
}

/* "@session:<profile>/<id>" or a part of it: *profile is set when one is named there. The id
 * and the profile are the caller's. */
static void
take_session(const char *given, char **session, char **profile)
{
	static const char prefix[] = "@session:";
	const char *slash;

	given += strspn(given, " \t\r\n");
	if (strncmp(given, prefix, sizeof prefix - 1) == 0)
		given += sizeof prefix - 1;
	slash = strchr(given, '/');
	if (slash != NULL && slash[1] != '\0') {
		*profile = xstrndup(given, (size_t)(slash - given));
		given = slash + 1;
	}
	*session = xstrndup(given, strcspn(given, " \t\r\n"));
}

/* "user, assistant" as an array. */
static struct json_object *
take_roles(struct json_object *arguments)
{
	const char *at = json_member_text(arguments, "role_filter", "");
	struct json_object *roles = json_object_new_array();
	size_t length;

	while (*at != '\0') {
		at += strspn(at, ", \t\r\n");
		length = strcspn(at, ", \t\r\n");
		if (length > 0)
			json_object_array_add(roles, json_new_bytes(at, length));
		at += length;
	}
	if (json_object_array_length(roles) == 0) {
		json_object_array_add(roles, json_new_text("user"));
		json_object_array_add(roles, json_new_text("assistant"));
	}
	return roles;
}

static enum state_hits_sort
take_sort(struct json_object *arguments)
{
	const char *sort = json_member_text(arguments, "sort", "");

	if (strcmp(sort, "newest") == 0)
		return STATE_HITS_NEWEST;
	return strcmp(sort, "oldest") == 0 ? STATE_HITS_OLDEST : STATE_HITS_BEST;
}

static bool
is_blank(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (strchr(" \t\r\n", text[i]) == NULL || text[i] == '\0')
			return false;
	return true;
}

static void
take_query(struct lookup *lookup, struct json_object *arguments)
{
	struct state_search_request *request = &lookup->request;
	struct json_object *query = json_member(arguments, "query");

	request->mode = STATE_SEARCH_BROWSE;
	if (json_object_is_type(query, json_type_string)) {
		request->query = json_object_get_string(query);
		request->query_length = (size_t)json_object_get_string_len(query);
		if (!is_blank(request->query, request->query_length))
			request->mode = STATE_SEARCH_DISCOVER;
	}
	request->roles = take_roles(arguments);
	request->sort = take_sort(arguments);
	request->full = strcmp(json_member_text(arguments, "detail", ""), "full") == 0;
	request->limit = bounded(arguments, "limit", LIMIT_DEFAULT, LIMIT_MAX);
}

/* 0, or -1 when the anchor is no number. */
static int
take_mode(struct lookup *lookup, struct json_object *arguments)
{
	struct state_search_request *request = &lookup->request;

	if (lookup->session == NULL || lookup->session[0] == '\0') {
		take_query(lookup, arguments);
		return 0;
	}
	request->session = lookup->session;
	request->window = bounded(arguments, "window", WINDOW_DEFAULT, WINDOW_MAX);
	request->mode = STATE_SEARCH_READ;
	if (!json_has(arguments, "around_message_id"))
		return 0;
	request->mode = STATE_SEARCH_SCROLL;
	return json_member_integer(arguments, "around_message_id", &request->around) ? 0 : -1;
}

static void
set_title(struct tool_run *run, const struct lookup *lookup)
{
	const struct state_search_request *request = &lookup->request;

	switch (request->mode) {
	case STATE_SEARCH_DISCOVER:
		tool_card_title(
		    run, "Search sessions: %.*s", (int)request->query_length, request->query);
		break;
	case STATE_SEARCH_READ:
	case STATE_SEARCH_SCROLL:
		tool_card_title(run, "Read session %s", request->session);
		break;
	case STATE_SEARCH_BROWSE:
		tool_card_title(run, "List recent sessions");
		break;
	}
}

static bool
offered(const struct tool_context *context)
{
	return context->sessions != NULL;
}

static void
prepare(struct tool_run *run)
{
	const char *session = json_member_text(run->arguments, "session_id", "");
	const char *profile = json_member_text(run->arguments, "profile", "");
	struct lookup *lookup;
	char *linked = NULL;

	if (!offered(run->context)) {
		fail(run, "There is no database of sessions.");
		return;
	}
	run->state = lookup = xcalloc(1, sizeof *lookup);
	take_session(session, &lookup->session, &linked);
	if (*profile == '\0' && linked != NULL)
		profile = linked;
	if (choose_profile(lookup, run->context, profile) == -1)
		fail(run, "profile: this is not the name of a profile");
	else if (take_mode(lookup, run->arguments) == -1)
		fail(run, "scroll requires integer around_message_id");
	else
		set_title(run, lookup);
	free(linked);
}

/* Appends one line of at most CARD_TEXT_MAX characters. */
static void
append_line(struct buffer *text, const char *line)
{
	size_t length = strlen(line), cut = utf8_offset(line, length, CARD_TEXT_MAX), i;

	for (i = 0; i < cut; i++)
		buffer_append_byte(text, (unsigned char)line[i] < ' ' ? ' ' : line[i]);
	buffer_append_text(text, cut < length ? "…\n" : "\n");
}

static void
append_hit(struct buffer *text, struct json_object *hit)
{
	const char *title = json_member_string(hit, "title");
	const char *words =
	    json_member_text(hit, "snippet", json_member_text(hit, "preview", ""));

	buffer_printf(text, "- %s (%s, %s)\n  ", title != NULL ? title : "without a title",
	    json_member_text(hit, "session_id", ""), json_member_text(hit, "source", ""));
	append_line(text, words);
}

static void
show_result(struct tool_run *run, struct json_object *result)
{
	struct json_object *hits = json_member_array(result, "results");
	struct json_object *messages = json_member_array(result, "messages");
	struct buffer text = BUFFER_EMPTY;
	size_t i, count = hits != NULL ? json_object_array_length(hits) : 0;

	for (i = 0; i < count; i++)
		append_hit(&text, json_object_array_get_idx(hits, i));
	if (messages != NULL)
		buffer_printf(&text, "%zu messages: %s", json_object_array_length(messages),
		    json_member_text(json_member_object(result, "session_meta"), "title",
			"without a title"));
	else if (count == 0)
		buffer_append_text(&text, "Nothing was found.");
	tool_contents_text(&run->shown, buffer_text(&text),
	    utf8_offset(buffer_text(&text), text.length, CARD_MAX));
	buffer_free(&text);
}

static void
on_result(struct json_object *result, const char *error, void *arg)
{
	struct tool_run *run = arg;
	struct lookup *lookup = run->state;

	lookup->search = NULL;
	if (error != NULL) {
		fail(run, error);
		return;
	}
	show_result(run, result);
	tool_finish(run, json_object_get(result), false);
}

static void
start(struct tool_run *run)
{
	struct lookup *lookup = run->state;
	struct state_search_request *request = &lookup->request;

	request->link = lookup->link;
	request->database = lookup->database;
	request->current = lookup->database == NULL ? run->context->session_id : NULL;
	lookup->search = state_search_start(run->context->sessions, request, on_result, run);
}

static void
cancel(struct tool_run *run)
{
	fail(run, "Cancelled by the user.");
}

static void
release(struct tool_run *run)
{
	struct lookup *lookup = run->state;

	if (lookup == NULL)
		return;
	if (lookup->search != NULL)
		state_search_cancel(lookup->search);
	json_object_put(lookup->request.roles);
	free(lookup->session);
	free(lookup->database);
	free(lookup->link);
	free(lookup);
	run->state = NULL;
}

const struct tool tool_session_search = {
    .name = "session_search",
    .description =
	"Looks into earlier sessions with this user, which are all stored. It knows what was "
	"said then, not how files or other sources are now: look at those themselves. Four "
	"uses. With \"query\": finds sessions in which something was said; all words must "
	"occur, OR and NOT work between words, \"a phrase\" in quotes, and a star at the end "
	"of "
	"a word (deploy*). The best result has the messages around the place and the "
	"beginning and end of its session; the others only the message itself, unless detail "
	"is full. With \"session_id\" and \"around_message_id\": the messages around one; go "
	"on with the id of the last or first of them. With \"session_id\" alone: the first 20 "
	"and last 10 messages; this is how a reference such as @session:default/ID is read. "
	"With nothing: the sessions used last. Name a session to the user by its \"link\", "
	"written as it is.",
    .parameters =
	"{\"type\":\"object\",\"properties\":{"
	"\"query\":{\"type\":\"string\",\"description\":\"What to search for\"},"
	"\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10,\"default\":3,"
	"\"description\":\"Sessions to return\"},"
	"\"sort\":{\"type\":\"string\",\"enum\":[\"newest\",\"oldest\"],\"description\":"
	"\"Order by time instead of by how well it fits\"},"
	"\"detail\":{\"type\":\"string\",\"enum\":[\"adaptive\",\"full\"],\"default\":"
	"\"adaptive\"},"
	"\"session_id\":{\"type\":\"string\",\"description\":\"The session to read\"},"
	"\"around_message_id\":{\"type\":\"integer\",\"description\":\"A message of it, such "
	"as "
	"match_message_id\"},"
	"\"window\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":20,\"default\":5,"
	"\"description\":\"Messages before and behind it\"},"
	"\"role_filter\":{\"type\":\"string\",\"description\":\"Whose messages are searched, "
	"with commas; usually user,assistant. tool is what tools returned\"},"
	"\"profile\":{\"type\":\"string\",\"description\":\"Another profile of Hermes whose "
	"sessions are read\"}}}",
    .kind = TOOL_KIND_OTHER,
    .class = TOOL_CLASS_READ,
    .offered = offered,
    .prepare = prepare,
    .start = start,
    .cancel = cancel,
    .release = release,
};
