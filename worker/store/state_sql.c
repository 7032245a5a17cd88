/*
 * Statements in one line each, and result codes in words.
 */
#include <config.h>

#include "worker/store/state_sql.h"
#include "common/alloc.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

static int
bind_values(sqlite3_stmt *statement, const char *types, va_list values)
{
	const char *text;
	size_t length;
	int at, code = SQLITE_OK;

	for (at = 1; *types != '\0' && code == SQLITE_OK; types++, at++) {
		switch (*types) {
		case 't':
			text = va_arg(values, const char *);
			code = sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
			break;
		case 'b':
			text = va_arg(values, const char *);
			length = va_arg(values, size_t);
			code = sqlite3_bind_text64(
			    statement, at, text, length, SQLITE_STATIC, SQLITE_UTF8);
			break;
		case 'i':
			code = sqlite3_bind_int64(statement, at, va_arg(values, int64_t));
			break;
		case 'r':
			code = sqlite3_bind_double(statement, at, va_arg(values, double));
			break;
		default:
			code = SQLITE_MISUSE;
			break;
		}
	}
	return code;
}

static sqlite3_stmt *
prepare(sqlite3 *db, const char *sql, const char *types, va_list values)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		return NULL;
	if (bind_values(statement, types, values) != SQLITE_OK) {
		sqlite3_finalize(statement);
		return NULL;
	}
	return statement;
}

sqlite3_stmt *
state_sql_prepare(sqlite3 *db, const char *sql, const char *types, ...)
{
	sqlite3_stmt *statement;
	va_list values;

	va_start(values, types);
	statement = prepare(db, sql, types, values);
	va_end(values);
	return statement;
}

/* What the last call on `db` ended with; never SQLITE_OK, since it is asked after a failure. */
static int
failure(sqlite3 *db)
{
	int code = sqlite3_extended_errcode(db);

	return code != SQLITE_OK ? code : SQLITE_ERROR;
}

int
state_sql_run(sqlite3 *db, const char *sql, const char *types, ...)
{
	sqlite3_stmt *statement;
	va_list values;
	int code;

	va_start(values, types);
	statement = prepare(db, sql, types, values);
	va_end(values);
	if (statement == NULL)
		return failure(db);
	do
		code = sqlite3_step(statement);
	while (code == SQLITE_ROW);
	sqlite3_finalize(statement);
	return code == SQLITE_DONE ? SQLITE_OK : failure(db);
}

int
state_sql_integer(sqlite3 *db, int64_t *value, const char *sql, const char *types, ...)
{
	sqlite3_stmt *statement;
	va_list values;
	int code;

	va_start(values, types);
	statement = prepare(db, sql, types, values);
	va_end(values);
	if (statement == NULL)
		return failure(db);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		*value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return code == SQLITE_ROW || code == SQLITE_DONE ? code : failure(db);
}

int
state_sql_text(sqlite3 *db, char **value, const char *sql, const char *types, ...)
{
	sqlite3_stmt *statement;
	va_list values;
	const char *text;
	size_t length;
	int code;

	va_start(values, types);
	statement = prepare(db, sql, types, values);
	va_end(values);
	if (statement == NULL)
		return failure(db);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		text = state_sql_bytes(statement, 0, &length);
		*value = text != NULL ? xstrndup(text, length) : NULL;
	}
	sqlite3_finalize(statement);
	return code == SQLITE_ROW || code == SQLITE_DONE ? code : failure(db);
}

const char *
state_sql_bytes(sqlite3_stmt *statement, int index, size_t *length)
{
	const char *text = NULL;

	*length = 0;
	if (sqlite3_column_type(statement, index) != SQLITE_NULL)
		text = (const char *)sqlite3_column_text(statement, index);
	if (text != NULL)
		*length = (size_t)sqlite3_column_bytes(statement, index);
	return text;
}

struct json_object *
state_sql_row(sqlite3_stmt *statement)
{
	struct json_object *row = json_object_new_object();
	int i, count = sqlite3_column_count(statement);
	const char *name, *text;
	size_t length;

	for (i = 0; i < count; i++) {
		name = sqlite3_column_name(statement, i);
		switch (sqlite3_column_type(statement, i)) {
		case SQLITE_NULL:
			break;
		case SQLITE_INTEGER:
			json_set_integer(row, name, sqlite3_column_int64(statement, i));
			break;
		case SQLITE_FLOAT:
			json_set(row, name,
			    json_object_new_double(sqlite3_column_double(statement, i)));
			break;
		default:
			text = state_sql_bytes(statement, i, &length);
			json_set(row, name, text != NULL ? json_new_bytes(text, length) : NULL);
			break;
		}
	}
	return row;
}

bool
state_sql_is_busy(int code)
{
	code &= 0xff;
	return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

void
state_sql_explain(struct buffer *error, sqlite3 *db, int code, const char *path)
{
	static const struct {
		int code;
		const char *text;
	} reasons[] = {
	    {SQLITE_BUSY, "another process has kept it locked for too long"},
	    {SQLITE_LOCKED, "it is locked"},
	    {SQLITE_FULL, "there is no space left on the disk"},
	    {SQLITE_READONLY, "it cannot be written (read-only file or folder)"},
	    {SQLITE_CANTOPEN, "it cannot be opened (permissions of the file or its folder)"},
	    {SQLITE_PERM, "permission denied"},
	    {SQLITE_AUTH, "permission denied"},
	    {SQLITE_CORRUPT, "it is damaged; move it away or repair it"},
	    {SQLITE_NOTADB, "it is not a database"},
	    {SQLITE_IOERR, "reading or writing the disk failed"},
	    {SQLITE_PROTOCOL, "its file system does not support locking"},
	    {SQLITE_NOLFS, "the file is too big for its file system"},
	    {SQLITE_TOOBIG, "a message is bigger than the database can hold"},
	    {SQLITE_NOMEM, "memory ran out"},
	};
	const char *text = NULL,
		   *detail = db != NULL ? sqlite3_errmsg(db) : sqlite3_errstr(code);
	size_t i;

	for (i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].code == (code & 0xff))
			text = reasons[i].text;
	buffer_printf(error, "%s: %s", path, text != NULL ? text : detail);
	if (text != NULL)
		buffer_printf(error, " (%s)", detail);
}

double
state_sql_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
