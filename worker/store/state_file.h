/*
 * Opening state.db. It opens the file through SQLite only: closing any other descriptor of it
 * would drop SQLite's locks in this process. What is damaged is moved aside and never deleted,
 * files are 0600 and folders 0700 at every moment, and nothing here waits for a lock.
 */
#ifndef HERMES_WORKER_STORE_STATE_FILE_H
#define HERMES_WORKER_STORE_STATE_FILE_H

#include "worker/store/state_sql.h"

#include <sys/stat.h>

enum state_journal {
	STATE_JOURNAL_AUTO, /* by the version of the library and the kind of file system */
	STATE_JOURNAL_WAL,
	STATE_JOURNAL_DELETE
};

struct state {
	sqlite3 *db; /* NULL until state_open() has succeeded */
	char *home, *path;
	enum state_journal journal;
	bool existing; /* only what is there is used: no file is made and none is moved away */
	int library;   /* sqlite3_libversion_number(); a test may set it before the opening */
	dev_t device;
	ino_t inode;
	unsigned generation; /* counts the openings: another file may stand there now */
	int version;	     /* of the database's schema */
	bool wal;
	char *read_only;      /* why nothing can be written, or NULL */
	unsigned transaction; /* counts the writing ones that were begun */
	int prepared;	      /* schema cookie for which writing was prepared, -1 = none */
	struct buffer notice; /* what the user should be told once; the owner clears it */
};

/* Touches nothing yet. `home` is the folder that holds state.db; copied. */
struct state *state_new(const char *home);
void state_free(struct state *state);
/* Opens or makes the database; does nothing when it is open and still the file at its path.
 * SQLITE_OK; a busy code (state_sql_is_busy(): try again later); else `error` says why. */
int state_open(struct state *state, struct buffer *error);
/* Nothing is to be done for a while: gives back the memory that the last work has used. */
void state_rest(struct state *state);
/* Says why a call on this database failed. */
void state_explain(struct state *state, int code, struct buffer *error);
/* True when WAL is safe with this library: 3.7.0 to 3.51.2 can lose the log in a race when it
 * is reset (fixed in 3.51.3, 3.50.7 and 3.44.6). */
bool state_wal_is_safe(int library);

#endif
