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
struct client_calls;
struct client_files;
struct event_base;
struct model_watch;
struct permission_list;
struct state;
struct store_session_info;
struct state_queue;
struct supervisor_link;
struct title_call;
struct turn_output;

/* What a session's worker does first. */
enum session_opening {
	SESSION_OPEN_NEW,
	SESSION_OPEN_LOAD,   /* restores and shows what was stored */
	SESSION_OPEN_RESUME, /* restores it */
	SESSION_OPEN_REVIVE  /* restores what there is: a successor */
};

enum worker_role { WORKER_SESSION, WORKER_CATALOGUE };

struct worker {
	enum worker_role role;
	struct event_base *base;
	struct supervisor_link *link;
	struct configuration *configuration;
	bool set_up, ending;
	int status;		   /* exit status */
	struct state *state;	   /* the database */
	struct state_queue *queue; /* the catalogue: its requests */
	bool rehearsal;		   /* the catalogue: the rehearsal provider is used */
	/* A session's: */
	struct agent agent;
	struct client_calls *client_calls;
	struct client_files *client_files; /* NULL: the disk alone counts */
	struct permission_list *permissions;
	struct allow_list *allowed; /* labels that are being saved */
	struct turn_output *output;
	char *opening_id; /* the same for all workers of the session while it is open */
	char *stored_id;  /* where it is not the session's own: a copy of a foreign one */
	char *session_id, *cwd, *guard, *scratch, *user_home;
	char **roots;
	struct buffer notes; /* for the user, with the first turn */
	bool notices;	     /* the client shows notices */
	enum session_opening opening;
	void (*opened)(struct worker *worker);
	bool durable;	    /* the store is the database */
	bool mode_given;    /* the set-up named the mode */
	bool model_chosen;  /* the user chose the model while the session was open */
	char *level;	    /* of thinking that the user chose, or NULL */
	bool carried;	    /* the set-up held what a retired worker left */
	bool titled, noted; /* the session has its title; the notes were told */
	bool store_noted;   /* a note among them that no other process would find again */
	bool title_derived; /* from the first prompt, and no model has been asked yet */
	struct title_call *title_call; /* a model is being asked, or NULL */
	struct model_watch *model_watch;
	char *models_shown; /* the set-up: session_models_shown() of before, or NULL */
};

/* Serves as `role` on descriptor 3; returns the exit status. */
int worker_run(enum worker_role role, uint32_t generation);
/* Ends in order: the turn is cancelled, what is to be saved is saved, the loop left. */
void worker_end(struct worker *worker);

/* session_setup.c: takes SETUP of a session. What is wrong is answered with SETUP_FAILED. */
void session_set_up(struct worker *worker, struct json_object *setup);
void session_tear_down(struct worker *worker);

/* session_open.c: restores what is stored, then calls `opened`; what is wrong is answered with
 * SETUP_FAILED. */
void session_open(struct worker *worker, void (*opened)(struct worker *worker));

/* session_description.c */
/* Fills `info`; its config is the caller's, all else borrowed. */
void session_describe(const struct worker *worker, struct store_session_info *info);
/* What a successor has to know of the choice of a model, put into `state`. */
void session_describe_choice(const struct worker *worker, struct json_object *state);
/* Names the list of its provider's server that the client has been shown; "" = none. The
 * caller frees it. */
char *session_models_shown(const struct worker *worker);
/* The session is run in another way now: its row follows. */
void session_save_description(struct worker *worker);
/* Answers a request with JSON once what was chosen before is saved, or cannot be: whoever reads
 * the row then, a fork for example, finds it. */
void
session_answer_saved(struct worker *worker, uint32_t request, const char *json, size_t length);

/* session_model.c */
struct option_values;
/* What can be chosen; release with session_options_clear(). */
void session_options(const struct worker *worker, struct option_values *values);
void session_options_clear(struct option_values *values);
/* Tells the client all options as they are now. */
void session_tell_options(struct worker *worker);
/* Tells it the window of the model. */
void session_tell_window(struct worker *worker);
/* The user wants another model, from the next request on. `open`: also one that no list
 * holds. -1 with the reason in `error`, and nothing has changed; else the client was told. */
int
session_choose_model(struct worker *worker, const char *name, bool open, struct buffer *error);
/* The same with the level of thinking. */
int session_choose_level(struct worker *worker, const char *level, struct buffer *error);
/* Takes over what session_describe_choice() has put into `state`. */
void session_take_choice(struct worker *worker, struct json_object *state);
/* The model of a stored session (as of state_session_read()). */
void session_restore_model(struct worker *worker, struct json_object *session);
/* For the agent: the slash command. */
bool session_on_model(const char *name, struct buffer *reply, void *arg);

/* session_model_list.c */
/* The list of the model's provider is looked for beside everything else, from now on after each
 * change of the model too; what it changes is told. For a session that has just been opened. */
void session_look_for_models(struct worker *worker);

/* session_state.c: tells the supervisor what a successor of this worker has to know. */
void session_tell_state(struct worker *worker);
/* The answer to RETIRE: true when the process may end now and all it held is handed over,
 * false after BUSY. */
bool session_retire(struct worker *worker);
/* Takes over what a retired worker has left; NULL = nothing. Tools and runtime are there. */
void session_take_carried(struct worker *worker, struct json_object *carried);

/* session_notes.c: notes for the user. */
/* Collects what the configuration and the request give reason for. */
void session_take_notes(struct worker *worker, struct json_object *params);
/* Adds what the store has to say, and tells it as soon as may be. */
void session_note_store(struct worker *worker);
/* Tells the notes where that is possible now, else leaves them for the next turn. */
void session_tell_notes(struct worker *worker);

/* session_title.c */
/* Tells the title that the session has once the prompt given to the store is saved. */
void session_look_for_title(struct worker *worker);
void session_tell_title(struct worker *worker, const char *title);
/* A turn has ended so: a model makes a better title where that is wanted. */
void session_make_title(struct worker *worker, const struct turn_end *end);
/* Breaks that off: a turn comes, or the end. */
void session_stop_title(struct worker *worker);

/* session_usage.c */
/* Counts one request to the model of `runtime`. `task` as in struct model_request. */
void session_count_usage(struct worker *worker, const struct model_usage *usage,
    const struct runtime *runtime, const char *task);
/* Goes on from what a stored session has used. */
void session_restore_usage(struct worker *worker, struct json_object *session);

/* session_dispatch.c */
void session_message(struct worker *worker, enum message_type type, uint32_t request,
    uint32_t turn, const char *payload, size_t length);

/* catalogue.c */
void catalogue_set_up(struct worker *worker, struct json_object *setup);
void catalogue_message(struct worker *worker, enum message_type type, uint32_t request,
    const char *payload, size_t length);

/* catalogue_requests.c: answers a REQUEST from the database. */
void
catalogue_request(struct worker *worker, uint32_t request, const char *payload, size_t length);
/* Saves what a COMMIT_TAIL holds. */
void catalogue_commit_tail(struct worker *worker, const char *payload, size_t length);

#endif
