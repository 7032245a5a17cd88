/*
 * The one struct of a worker process, and its life: set up, serve, end.
 */
#ifndef HERMES_WORKER_WORKER_H
#define HERMES_WORKER_WORKER_H

#include "common/buffer.h"
#include "common/json.h"
#include "worker/agent/agent.h"
#include "worker/config/configuration.h"

#include <stdbool.h>
#include <stdint.h>

struct allow_list;
struct event_base;
struct permission_list;
struct supervisor_link;
struct turn_output;

enum worker_role { WORKER_SESSION, WORKER_CATALOGUE };

struct worker {
	enum worker_role role;
	struct event_base *base;
	struct supervisor_link *link;
	struct configuration *configuration;
	bool set_up, ending;
	int status; /* exit status */
	bool rehearsal; /* the catalogue: the rehearsal provider is used */
	/* A session's: */
	struct agent agent;
	struct permission_list *permissions;
	struct allow_list *allowed; /* labels that are being saved */
	struct turn_output *output;
	char *session_id, *cwd, *guard, *scratch, *user_home;
	char **roots;
	struct buffer notes; /* for the user, with the first turn */
	bool notices;	     /* the client shows notices */
	bool titled, noted;  /* the session has its title; the notes were told */
};

/* Serves as `role` on descriptor 3; returns the exit status. */
int worker_run(enum worker_role role, uint32_t generation);
/* Ends in order: the turn is cancelled, what is to be saved is saved, the loop left. */
void worker_end(struct worker *worker);

/* session_setup.c: takes SETUP of a session. What is wrong is answered with SETUP_FAILED. */
void session_set_up(struct worker *worker, struct json_object *setup);
void session_tear_down(struct worker *worker);

/* Tells the supervisor what a successor of this worker has to know. */
void session_tell_state(struct worker *worker);

/* session_dispatch.c */
void session_message(struct worker *worker, enum message_type type, uint32_t request,
    uint32_t turn, const char *payload, size_t length);

/* catalogue.c */
void catalogue_set_up(struct worker *worker, struct json_object *setup);
void catalogue_message(struct worker *worker, enum message_type type);

#endif
