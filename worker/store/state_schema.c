/*
 * Making, checking and completing the layout.
 */
#include <config.h>

#include "worker/store/state_schema.h"
#include "worker/store/state_layout.h"
#include "common/log.h"

#include <stdlib.h>
#include <string.h>

static void
append_table(struct buffer *sql, const struct state_layout_table *table)
{
	const struct state_layout_column *column;

	buffer_printf(sql, "CREATE TABLE %s (", table->name);
	for (column = table->columns; column->name != NULL; column++)
		buffer_printf(sql, "%s%s %s", column == table->columns ? "" : ", ",
		    column->name, column->definition);
	buffer_printf(sql, "%s)", table->constraints);
}

static int
create_table(sqlite3 *db, const struct state_layout_table *table)
{
	struct buffer sql = BUFFER_EMPTY;
	int code;

	append_table(&sql, table);
	code = state_sql_run(db, buffer_text(&sql), "");
	buffer_free(&sql);
	return code;
}

static int
run_all(sqlite3 *db, const char *const *statements)
{
	int code = SQLITE_OK;

	for (; *statements != NULL && code == SQLITE_OK; statements++)
		code = state_sql_run(db, *statements, "");
	return code;
}

int
state_schema_create(sqlite3 *db)
{
	const struct state_layout_table *table;
	int code = SQLITE_OK;

	for (table = state_layout_tables; table->name != NULL && code == SQLITE_OK; table++)
		code = create_table(db, table);
	if (code == SQLITE_OK)
		code = run_all(db, state_layout_indexes);
	if (code == SQLITE_OK)
		code = run_all(db, state_layout_search);
	if (code == SQLITE_OK)
		code = state_sql_run(db, "INSERT INTO schema_version(version) VALUES (?)", "i",
		    (int64_t)STATE_LAYOUT_VERSION);
	if (code == SQLITE_OK)
		code = state_sql_run(db,
		    "INSERT INTO state_meta(key, value) VALUES ('fts_storage_version', ?)", "t",
		    STATE_LAYOUT_FTS_VERSION);
	return code;
}

/* The columns of a table as an object: name → true when a value must be given. No member
 * when there is no such table. */
static int
read_columns(sqlite3 *db, const char *table, struct json_object **columns)
{
	sqlite3_stmt *statement = state_sql_prepare(db,
	    "SELECT name, \"notnull\" = 1 AND dflt_value IS NULL AND pk = 0 "
	    "FROM pragma_table_info(?)",
	    "t", table);
	int code;

	*columns = NULL;
	if (statement == NULL)
		return sqlite3_extended_errcode(db);
	*columns = json_object_new_object();
	while ((code = sqlite3_step(statement)) == SQLITE_ROW)
		json_set_boolean(*columns, (const char *)sqlite3_column_text(statement, 0),
		    sqlite3_column_int(statement, 1) != 0);
	sqlite3_finalize(statement);
	return code == SQLITE_DONE ? SQLITE_OK : sqlite3_extended_errcode(db);
}

static bool
is_known(const struct state_layout_table *table, const char *name)
{
	const struct state_layout_column *column;

	for (column = table->columns; column->name != NULL; column++)
		if (strcasecmp(column->name, name) == 0)
			return true;
	return false;
}

/* A column of a later layout that wants a value which we do not know. */
static void
look_for_unknown(const struct state_layout_table *table, struct json_object *columns,
    enum state_schema_kind *kind, struct buffer *error)
{
	if (!table->needed)
		return;
	json_object_object_foreach(columns, name, wanted)
	{
		if (!json_object_get_boolean(wanted) || is_known(table, name))
			continue;
		if (*kind != STATE_SCHEMA_NEWER)
			buffer_printf(error,
			    "it has a newer layout: column %s.%s needs a value that this "
			    "version "
			    "does not know, so it can only be read",
			    table->name, name);
		*kind = STATE_SCHEMA_NEWER;
	}
}

static bool
lacks_needed(const struct state_layout_table *table, struct json_object *columns)
{
	const struct state_layout_column *column;

	if (!table->needed)
		return false;
	if (json_object_object_length(columns) == 0)
		return true;
	for (column = table->columns; column->name != NULL; column++)
		if (column->needed && !json_has(columns, column->name))
			return true;
	return false;
}

static int
read_version(sqlite3 *db, int *version)
{
	int64_t value = 0;
	int code = state_sql_integer(db, &value,
	    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'", "");

	*version = 0;
	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? SQLITE_OK : code;
	value = 0;
	code = state_sql_integer(db, &value, "SELECT max(version) FROM schema_version", "");
	*version = (int)value;
	return code == SQLITE_ROW ? SQLITE_OK : code;
}

int
state_schema_look(sqlite3 *db, enum state_schema_kind *kind, int *version, struct buffer *error)
{
	const struct state_layout_table *table;
	struct json_object *columns;
	int64_t known = 0;
	int code;

	*kind = STATE_SCHEMA_READY;
	code = read_version(db, version);
	if (code != SQLITE_OK)
		return code;
	code = state_sql_integer(db, &known,
	    "SELECT count(*) FROM sqlite_master WHERE name IN ('sessions', 'messages', "
	    "'schema_version')",
	    "");
	if (code != SQLITE_ROW)
		return code;
	if (known == 0) {
		*kind = STATE_SCHEMA_EMPTY;
		return SQLITE_OK;
	}
	for (table = state_layout_tables; table->name != NULL; table++) {
		code = read_columns(db, table->name, &columns);
		if (code == SQLITE_OK) {
			look_for_unknown(table, columns, kind, error);
			if (*kind == STATE_SCHEMA_READY && lacks_needed(table, columns))
				*kind = STATE_SCHEMA_OLD;
		}
		json_object_put(columns);
		if (code != SQLITE_OK)
			return code;
	}
	return SQLITE_OK;
}

static int
add_columns(sqlite3 *db, const struct state_layout_table *table, struct json_object *columns)
{
	const struct state_layout_column *column;
	struct buffer sql = BUFFER_EMPTY;
	int code = SQLITE_OK;

	for (column = table->columns; column->name != NULL && code == SQLITE_OK; column++) {
		if (!column->needed || json_has(columns, column->name))
			continue;
		buffer_clear(&sql);
		buffer_printf(&sql, "ALTER TABLE %s ADD COLUMN %s %s", table->name,
		    column->name, column->definition);
		code = state_sql_run(db, buffer_text(&sql), "");
		log_info(
		    "store", "state.db: column %s.%s was added", table->name, column->name);
	}
	buffer_free(&sql);
	return code;
}

int
state_schema_complete(sqlite3 *db)
{
	const struct state_layout_table *table;
	struct json_object *columns;
	int code = SQLITE_OK;

	for (table = state_layout_tables; table->name != NULL && code == SQLITE_OK; table++) {
		if (!table->needed)
			continue;
		code = read_columns(db, table->name, &columns);
		if (code == SQLITE_OK && json_object_object_length(columns) == 0)
			code = create_table(db, table);
		else if (code == SQLITE_OK)
			code = add_columns(db, table, columns);
		json_object_put(columns);
	}
	return code;
}

static bool
has_tokenizer(sqlite3 *db, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT rowid FROM \"%w\" LIMIT 0", table);
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	sqlite3_finalize(statement);
	sqlite3_free(sql);
	return code == SQLITE_OK || strstr(sqlite3_errmsg(db), "tokenizer") == NULL;
}

static int
drop_triggers_of(sqlite3 *db, const char *table)
{
	char *name = NULL, *sql;
	int code;

	do {
		code = state_sql_text(db, &name,
		    "SELECT name FROM sqlite_master WHERE type = 'trigger' AND "
		    "instr(lower(sql), lower(?)) > 0",
		    "t", table);
		if (code != SQLITE_ROW)
			break;
		log_warning("store",
		    "state.db: trigger %s is dropped, because this program lacks the tokenizer "
		    "of "
		    "%s; Hermes rebuilds that index",
		    name, table);
		sql = sqlite3_mprintf("DROP TRIGGER \"%w\"", name);
		code = state_sql_run(db, sql, "");
		sqlite3_free(sql);
		free(name);
	} while (code == SQLITE_OK);
	if (code != SQLITE_DONE)
		return code;
	return state_sql_run(db,
	    "INSERT INTO state_meta(key, value) VALUES ('fts_cjk_stale', '1') "
	    "ON CONFLICT(key) DO UPDATE SET value = '1'",
	    "");
}

/* Full-text tables with the tokenizer of Hermes' own extension that still have triggers. */
#define FOREIGN_TABLES                                                                         \
	"SELECT t.name FROM sqlite_master AS t WHERE t.type = 'table' AND "                    \
	"instr(t.sql, 'cjk_unicode61') > 0 AND EXISTS (SELECT 1 FROM sqlite_master AS g "      \
	"WHERE "                                                                               \
	"g.type = 'trigger' AND instr(lower(g.sql), lower(t.name)) > 0)"

int
state_schema_prepare_write(sqlite3 *db)
{
	char *table = NULL;
	int code = state_sql_text(db, &table, FOREIGN_TABLES, "");

	while (code == SQLITE_ROW && table != NULL && !has_tokenizer(db, table)) {
		code = drop_triggers_of(db, table);
		free(table);
		table = NULL;
		if (code == SQLITE_OK)
			code = state_sql_text(db, &table, FOREIGN_TABLES, "");
	}
	free(table);
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}
