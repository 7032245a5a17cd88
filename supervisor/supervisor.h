/*
 * The one struct of the front process. Handlers work on it; everything below the handlers
 * knows only its own part.
 */
#ifndef HERMES_SUPERVISOR_SUPERVISOR_H
#define HERMES_SUPERVISOR_SUPERVISOR_H

#include "supervisor/catalogue.h"
#include "supervisor/client_reader.h"
#include "supervisor/client_request.h"
#include "supervisor/client_writer.h"
#include "supervisor/pending.h"
#include "supervisor/session.h"
#include "supervisor/spare.h"
#include "supervisor/worker_process.h"

#include <stdbool.h>

struct supervisor_options {
	const char *worker; /* absolute path of hermes-acp-worker */
	bool rehearsal;	    /* the rehearsal provider instead of a model */
	const char *script; /* its script, NULL = the built-in one */
	bool faults;	    /* it may play faults */
	int verbosity;	    /* 0, 1 or 2 times -v */
};

/* What initialize told about the client. */
struct connection {
	bool initialized;
	bool logged_out;
	bool terminal_auth; /* clientCapabilities.auth.terminal */
	char *capabilities; /* clientCapabilities as JSON, owned */
};

struct supervisor {
	struct event_base *base;
	struct supervisor_options options;
	struct client_reader *reader;
	struct client_writer *writer;
	struct pending_table *pending;
	struct client_request_table *requests;
	struct session_table *sessions;
	struct worker_list *workers;
	const struct worker_callbacks *session_worker; /* for workers of sessions */
	void (*session_timer)(struct session *session);
	/* Sends a session/delete on to the catalogue worker. */
	void (*forward_delete)(
	    struct supervisor *supervisor, struct pending *pending, const char *id);
	struct spare *spare;
	struct catalogue *catalogue;
	struct connection connection;
	struct event *stop_timer;
	bool input_ended, stopping;
	int exit_status;
};

/* Runs until the client goes; returns the exit status. Takes over both descriptors. */
int supervisor_run(const struct supervisor_options *options, int in, int out);
/* stop.c: ends everything in order; idempotent. */
void supervisor_stop(struct supervisor *supervisor);
/* Something that a stop waits for has happened. */
void supervisor_check_stop(struct supervisor *supervisor);

#endif
