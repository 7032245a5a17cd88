/*
 * Leases of turns.
 */
#include <config.h>

#include "worker/store/state_lease.h"
#include "common/alloc.h"
#include "common/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_SIZE 256

static void
host_name(char host[HOST_SIZE])
{
	if (gethostname(host, HOST_SIZE) == -1)
		host[0] = '\0';
	host[HOST_SIZE - 1] = '\0';
}

char *
state_lease_holder(void)
{
	char host[HOST_SIZE];

	host_name(host);
	return xasprintf("pid=%ld:hermes-acp@%s", (long)getpid(), host);
}

/* Only a holder of our own form says on which machine its process is. */
static bool
is_dead(const char *holder)
{
	char host[HOST_SIZE], *end;
	long pid;

	if (strncmp(holder, "pid=", 4) != 0)
		return false;
	pid = strtol(holder + 4, &end, 10);
	host_name(host);
	if (pid <= 0 || strncmp(end, ":hermes-acp@", 12) != 0 || strcmp(end + 12, host) != 0)
		return false;
	return !platform_process_lives((pid_t)pid);
}

static int
current_holder(struct state *state, const char *session, char **holder)
{
	int code;

	*holder = NULL;
	code = state_sql_text(state->db, holder,
	    "SELECT holder FROM session_turn_leases WHERE conversation_id = ? AND "
	    "expires_at > ?",
	    "tr", session, state_sql_now());
	if (*holder != NULL && is_dead(*holder)) {
		free(*holder);
		*holder = NULL;
	}
	return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int
state_lease_other(struct state *state, const char *session, const char *holder, char **other)
{
	int code = current_holder(state, session, other);

	if (*other != NULL && holder != NULL && strcmp(*other, holder) == 0) {
		free(*other);
		*other = NULL;
	}
	return code;
}

int
state_lease_take(
    struct state *state, const char *session, const char *holder, struct buffer *error)
{
	double now = state_sql_now();
	char *other;
	int code = state_lease_other(state, session, holder, &other);

	if (code != SQLITE_OK)
		return code;
	if (other != NULL) {
		buffer_printf(error,
		    "session %s is in use: another process (%s) runs a turn in it; try again "
		    "when "
		    "that has ended",
		    session, other);
		free(other);
		return STATE_REFUSED;
	}
	return state_sql_run(state->db,
	    "INSERT INTO session_turn_leases(conversation_id, holder, acquired_at, expires_at) "
	    "VALUES (?1, ?2, ?3, ?4) ON CONFLICT(conversation_id) DO UPDATE SET acquired_at = "
	    "CASE WHEN holder = excluded.holder THEN acquired_at ELSE excluded.acquired_at "
	    "END, "
	    "holder = excluded.holder, expires_at = excluded.expires_at",
	    "ttrr", session, holder, now, now + STATE_LEASE_SECONDS);
}

int
state_lease_drop(struct state *state, const char *session, const char *holder)
{
	return state_sql_run(state->db,
	    "DELETE FROM session_turn_leases WHERE conversation_id = ? AND holder = ?", "tt",
	    session, holder);
}

int
state_lease_clear(struct state *state, const char *session)
{
	return state_sql_run(state->db,
	    "DELETE FROM session_turn_leases WHERE conversation_id = ?", "t", session);
}

int
state_lease_running(struct state *state, const char *session, bool *running)
{
	char *holder;
	int code = current_holder(state, session, &holder);

	*running = holder != NULL;
	free(holder);
	return code;
}
