/*
 * Rules for what database clients are told to do. Only their words, their documents and what
 * is piped to them count: elsewhere such text is prose.
 */
#include <config.h>

#include "worker/tools/command_view.h"

#include "common/buffer.h"

#include <string.h>
#include <strings.h>

/* Everything that a database client is told: words, documents, and what is piped to it. */
static void
gather_statements(const struct command_view *view, struct buffer *text)
{
	const struct shell_redirection *at;
	const struct shell_simple *writer;
	size_t i;

	for (i = 1; i < view->command->count; i++)
		buffer_printf(text, "%s\n", view->command->words[i].text);
	for (at = view->command->redirections; at != NULL; at = at->next)
		if (at->kind == SHELL_REDIRECTION_TEXT)
			buffer_printf(text, "%s\n", at->word.text);
	if (view->command->previous == SHELL_NO_COMMAND)
		return;
	writer = &view->words->commands[view->command->previous];
	for (i = 1; i < writer->count; i++)
		buffer_printf(text, "%s\n", writer->words[i].text);
	for (at = writer->redirections; at != NULL; at = at->next)
		if (at->kind == SHELL_REDIRECTION_TEXT)
			buffer_printf(text, "%s\n", at->word.text);
}

/* The text behind `first` and white space and `second`, from `text` on; NULL = not there. */
static const char *
find_pair(const char *text, const char *first, const char *second)
{
	size_t n = strlen(first), blanks;

	for (; (text = strcasestr(text, first)) != NULL; text += n) {
		blanks = strspn(text + n, " \t\n");
		if (blanks > 0 && strncasecmp(text + n + blanks, second, strlen(second)) == 0)
			return text + n + blanks + strlen(second);
	}
	return NULL;
}

static bool
drops(const char *text)
{
	static const char *const kinds[] = {"table", "database", "schema"};
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (find_pair(text, "drop", kinds[i]) != NULL)
			return true;
	return false;
}

static bool
deletes_all_rows(const char *text)
{
	const char *end, *where;

	while ((text = find_pair(text, "delete", "from")) != NULL) {
		end = text + strcspn(text, ";");
		where = strcasestr(text, "where");
		if (where == NULL || where > end)
			return true;
	}
	return false;
}

static bool
truncates(const char *text)
{
	return find_pair(text, "truncate", "") != NULL;
}

static bool
tells(const struct command_view *view, bool (*judge)(const char *text))
{
	struct buffer text = BUFFER_EMPTY;
	bool found;

	gather_statements(view, &text);
	found = judge(buffer_text(&text));
	buffer_free(&text);
	return found;
}

static bool
tells_drop(const struct command_view *view)
{
	return tells(view, drops);
}

static bool
tells_delete(const struct command_view *view)
{
	return tells(view, deletes_all_rows);
}

static bool
tells_truncate(const struct command_view *view)
{
	return tells(view, truncates);
}

#define DATABASES                                                                              \
	"psql mysql mariadb sqlite3 sqlite duckdb sqlcmd clickhouse-client cockroach usql "    \
	"pgcli mycli litecli"

const struct command_rule command_rules_database[] = {
    {DATABASES, tells_drop, "SQL DROP", false},
    {DATABASES, tells_delete, "SQL DELETE without WHERE", false},
    {DATABASES, tells_truncate, "SQL TRUNCATE", false},
    {NULL, NULL, NULL, false},
};
