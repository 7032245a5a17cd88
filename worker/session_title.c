/*
 * The session's title: the client is told the one that is stored, which a clash may have given
 * a number.
 */
#include <config.h>

#include "worker/worker.h"
#include "worker/acp/encode_v1.h"
#include "worker/store/store_sqlite.h"
#include "worker/supervisor_link.h"

void
session_tell_title(struct worker *worker, const char *title)
{
	struct buffer line = BUFFER_EMPTY;

	worker->titled = true;
	session_tell_state(worker);
	encode_v1_info(&line, title);
	link_send(worker->link, TO_SUPERVISOR_SESSION_UPDATE, 0, 0, line.data, line.length);
	buffer_free(&line);
}

static void
on_title(const char *title, const char *source, void *arg)
{
	struct worker *worker = arg;

	(void)source;
	session_note_store(worker); /* the prompt was the first to need the database */
	if (title != NULL && !worker->titled)
		session_tell_title(worker, title);
}

void
session_look_for_title(struct worker *worker)
{
	if (worker->durable && !worker->titled)
		store_sqlite_read_title(worker->agent.store, on_title, worker);
}
