/*
 * Opening state.db.
 */
#include <config.h>

#include "worker/store/state_file.h"
#include "worker/store/state_place.h"
#include "worker/store/state_schema.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* An empty file that is younger than this may be one that somebody is just making. */
#define BEING_MADE_SECONDS 2
/* As in Hermes. */
#define JOURNAL_SIZE_LIMIT "67108864"

bool
state_wal_is_safe(int library)
{
	return library < 3007000 || library >= 3051003 ||
	       (library >= 3050007 && library < 3051000) ||
	       (library >= 3044006 && library < 3045000);
}

struct state *
state_new(const char *home)
{
	struct state *state = xcalloc(1, sizeof *state);

	state->home = xstrdup(home);
	state->path = xasprintf("%s/state.db", home);
	state->library = sqlite3_libversion_number();
	state->prepared = -1;
	return state;
}

static void
close_database(struct state *state)
{
	sqlite3_close_v2(state->db);
	state->db = NULL;
	state->prepared = -1;
	free(state->read_only);
	state->read_only = NULL;
}

void
state_free(struct state *state)
{
	if (state == NULL)
		return;
	close_database(state);
	buffer_free(&state->notice);
	free(state->home);
	free(state->path);
	free(state);
}

void
state_rest(struct state *state)
{
	if (state->db != NULL)
		sqlite3_db_release_memory(state->db);
	platform_trim_memory();
}

void
state_explain(struct state *state, int code, struct buffer *error)
{
	state_sql_explain(error, state->db, code, state->path);
}

static int
open_file(const char *path, sqlite3 **db)
{
	int code = sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (*db == NULL)
		return SQLITE_NOMEM;
	if (code != SQLITE_OK)
		return sqlite3_extended_errcode(*db);
	sqlite3_extended_result_codes(*db, 1);
	sqlite3_busy_timeout(*db, 0);
	return SQLITE_OK;
}

static int
set_pragmas(sqlite3 *db)
{
	static const char *const pragmas[] = {
	    "PRAGMA synchronous = FULL",
	    "PRAGMA foreign_keys = ON",
#ifdef __APPLE__
	    "PRAGMA checkpoint_fullfsync = 1",
#endif
	};
	int code = SQLITE_OK;
	size_t i;

	for (i = 0; i < sizeof pragmas / sizeof pragmas[0] && code == SQLITE_OK; i++)
		code = state_sql_run(db, pragmas[i], "");
	return code;
}

static bool
wants_wal(const struct state *state)
{
	if (state->journal != STATE_JOURNAL_AUTO)
		return state->journal == STATE_JOURNAL_WAL;
	return state_wal_is_safe(state->library) && !state_place_is_remote(state->home);
}

/* That it cannot be turned on is no fault: the database works in the mode that it has. */
static void
turn_wal_on(struct state *state, sqlite3 *db)
{
	char *mode = NULL;
	int code = state_sql_text(db, &mode, "PRAGMA journal_mode = WAL", "");

	if (code == SQLITE_ROW && mode != NULL && strcasecmp(mode, "wal") == 0)
		state->wal = true;
	else
		log_warning("store",
		    "%s: the write-ahead log cannot be turned on; it stays in "
		    "rollback mode",
		    state->path);
	free(mode);
}

/* An existing log is kept as it is. With a library that has the defect nothing of ours may
 * reset it, neither at a commit nor at the end. */
static int
choose_journal(struct state *state, sqlite3 *db)
{
	char *mode = NULL;
	int code = state_sql_text(db, &mode, "PRAGMA journal_mode", "");

	state->wal = code == SQLITE_ROW && mode != NULL && strcasecmp(mode, "wal") == 0;
	free(mode);
	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? SQLITE_OK : code;
	if (!state->wal && wants_wal(state) && sqlite3_db_readonly(db, "main") == 0)
		turn_wal_on(state, db);
	if (state->wal && !state_wal_is_safe(state->library)) {
		log_info("store", "%s: SQLite %s: the write-ahead log is never reset from here",
		    state->path, sqlite3_libversion());
		sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		code = state_sql_run(db, "PRAGMA wal_autocheckpoint = 0", "");
	} else {
		code = state_sql_run(db, "PRAGMA journal_size_limit = " JOURNAL_SIZE_LIMIT, "");
	}
	return code;
}

typedef int (*schema_change)(sqlite3 *db);

static int
change_schema(sqlite3 *db, schema_change change)
{
	int code = state_sql_run(db, "BEGIN IMMEDIATE", "");

	if (code != SQLITE_OK)
		return code;
	code = change(db);
	if (code == SQLITE_OK)
		code = state_sql_run(db, "COMMIT", "");
	if (code != SQLITE_OK)
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

/* A new database is made under another name and appears whole. */
static int
make_database(struct state *state, struct buffer *error)
{
	char *path = xasprintf("%s.new", state->path);
	sqlite3 *db = NULL;
	int code = SQLITE_OK;

	state_place_remove(path);
	if (state_place_create(path) == -1) {
		buffer_printf(
		    error, "%s: the database cannot be made: %s", state->path, strerror(errno));
		free(path);
		return SQLITE_CANTOPEN;
	}
	code = open_file(path, &db);
	if (code == SQLITE_OK)
		code = set_pragmas(db);
	if (code == SQLITE_OK && wants_wal(state))
		turn_wal_on(state, db);
	if (code == SQLITE_OK)
		code = change_schema(db, state_schema_create);
	if (code != SQLITE_OK)
		state_sql_explain(error, db, code, path);
	sqlite3_close(db);
	if (code == SQLITE_OK && state_place_publish(path, state->path) == -1) {
		buffer_printf(
		    error, "%s: the database cannot be made: %s", state->path, strerror(errno));
		code = SQLITE_CANTOPEN;
	}
	state_place_remove(path);
	free(path);
	return code;
}

static int
set_aside(struct state *state, const char *what, struct buffer *error)
{
	struct buffer moved = BUFFER_EMPTY;
	int code = SQLITE_OK;

	if (state_place_set_aside(state->path, &moved) == 0) {
		log_error("store", "%s: %s; it was moved to %s", state->path, what,
		    buffer_text(&moved));
		buffer_printf(&state->notice,
		    "The database of your conversations, %s, could not be read: %s. It was "
		    "moved "
		    "to %s and a new one was started.",
		    state->path, what, buffer_text(&moved));
	} else {
		buffer_printf(error, "%s: %s, and it cannot be moved aside: %s", state->path,
		    what, strerror(errno));
		code = SQLITE_CANTOPEN;
	}
	buffer_free(&moved);
	return code;
}

/* Opens far enough to see whether it is a database at all. */
static int
probe(const char *path)
{
	sqlite3 *db = NULL;
	int64_t value;
	int code = open_file(path, &db);

	if (code == SQLITE_OK)
		code = state_sql_integer(db, &value, "SELECT count(*) FROM sqlite_master", "");
	sqlite3_close(db);
	return code;
}

/* An old empty file; SQLite would throw away the log beside it. */
static bool
is_empty(const struct stat *status)
{
	return S_ISREG(status->st_mode) && status->st_size == 0 &&
	       time(NULL) - status->st_mtime > BEING_MADE_SECONDS;
}

/* What is wrong with the file at the path, or NULL. */
static const char *
damage(const char *path, const struct stat *status)
{
	if (is_empty(status))
		return "it is empty";
	if (status->st_size > 0 && S_ISREG(status->st_mode) &&
	    (probe(path) & 0xff) == SQLITE_NOTADB)
		return "it is not a database";
	return NULL;
}

static int
say_missing(struct state *state, struct buffer *error)
{
	struct stat status;

	if (stat(state->path, &status) == -1)
		buffer_printf(error, "%s: %s", state->path, strerror(errno));
	else
		buffer_printf(
		    error, "%s: it is not a database (the file is empty)", state->path);
	return SQLITE_CANTOPEN;
}

/* Makes sure that there is a file that can be opened. Only one process at a time makes one or
 * moves one away. */
static int
provide_file(struct state *state, struct buffer *error)
{
	struct stat status;
	const char *what;
	int lock, code = SQLITE_OK;

	if (state->existing)
		return say_missing(state, error);
	if (state_place_folder(state->home, error) == -1)
		return SQLITE_CANTOPEN;
	lock = state_place_lock(state->home);
	if (lock == -1)
		return SQLITE_BUSY;
	if (stat(state->path, &status) == 0) {
		what = damage(state->path, &status);
		if (what != NULL)
			code = set_aside(state, what, error);
	}
	if (code == SQLITE_OK && stat(state->path, &status) == -1)
		code = make_database(state, error);
	if (lock >= 0)
		close(lock);
	return code;
}

static int
check_schema(struct state *state, sqlite3 *db, struct buffer *error)
{
	struct buffer reason = BUFFER_EMPTY;
	enum state_schema_kind kind = STATE_SCHEMA_READY;
	int code = state_schema_look(db, &kind, &state->version, &reason);

	if (code == SQLITE_OK && kind == STATE_SCHEMA_EMPTY && state->existing) {
		buffer_printf(error, "%s: it is not a database of sessions", state->path);
		code = SQLITE_ERROR;
	} else if (code == SQLITE_OK && kind == STATE_SCHEMA_EMPTY)
		code = change_schema(db, state_schema_create);
	else if (code == SQLITE_OK && kind == STATE_SCHEMA_OLD)
		code = change_schema(db, state_schema_complete);
	else if (code == SQLITE_OK && kind == STATE_SCHEMA_NEWER)
		state->read_only = xasprintf("%s: %s", state->path, buffer_text(&reason));
	if ((code & 0xff) == SQLITE_READONLY && kind == STATE_SCHEMA_OLD)
		buffer_printf(error,
		    "%s: it has an old layout (version %d) and cannot be written, so it cannot "
		    "be "
		    "brought up to date",
		    state->path, state->version);
	buffer_free(&reason);
	return code;
}

static int
take_database(struct state *state, sqlite3 *db, struct buffer *error)
{
	int code = set_pragmas(db);

	if (code == SQLITE_OK)
		code = choose_journal(state, db);
	if (code == SQLITE_OK)
		code = check_schema(state, db, error);
	if (code == SQLITE_OK && state->read_only == NULL &&
	    sqlite3_db_readonly(db, "main") == 1)
		state->read_only = xasprintf(
		    "%s: it cannot be written (read-only file or folder)", state->path);
	return code;
}

static bool
is_same_file(const struct state *state)
{
	struct stat status;

	return stat(state->path, &status) == 0 && status.st_dev == state->device &&
	       status.st_ino == state->inode;
}

static int
try_open(struct state *state, struct buffer *error)
{
	struct stat status;
	sqlite3 *db = NULL;
	size_t before = error->length;
	int code = SQLITE_BUSY;

	if (stat(state->path, &status) == 0) {
		state->device = status.st_dev;
		state->inode = status.st_ino;
		state_place_tighten(state->path);
		code = open_file(state->path, &db);
	}
	if (code == SQLITE_OK)
		code = is_same_file(state) ? take_database(state, db, error) : SQLITE_BUSY;
	if (code == SQLITE_OK) {
		state->db = db;
		state->generation++;
		return SQLITE_OK;
	}
	/* Another process has just moved the file away or put one there. */
	if (!is_same_file(state))
		code = SQLITE_BUSY;
	if (!state_sql_is_busy(code) && error->length == before)
		state_sql_explain(error, db, code, state->path);
	sqlite3_close(db);
	free(state->read_only);
	state->read_only = NULL;
	return code;
}

int
state_open(struct state *state, struct buffer *error)
{
	struct stat status;
	int code = SQLITE_OK;
	size_t before = error->length;

	if (state->db != NULL && is_same_file(state))
		return SQLITE_OK;
	if (state->db != NULL)
		log_warning("store", "%s: another file stands there now; it is opened instead",
		    state->path);
	close_database(state);
	if (stat(state->path, &status) == -1 || is_empty(&status))
		code = provide_file(state, error);
	if (code == SQLITE_OK)
		code = try_open(state, error);
	if ((code & 0xff) != SQLITE_NOTADB || state->existing)
		return code;
	error->length = before; /* what was said about the damaged file is in the notice */
	code = provide_file(state, error);
	return code == SQLITE_OK ? try_open(state, error) : code;
}
