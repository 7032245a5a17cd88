/*
 * The supervisor's view of one session: its state, its worker, what the worker needs to be
 * set up again, the running turn, and what waits. Bookkeeping only; session_actions.c
 * decides.
 */
#ifndef HERMES_SUPERVISOR_SESSION_H
#define HERMES_SUPERVISOR_SESSION_H

#include "common/identifier.h"
#include "common/message.h"
#include "supervisor/pending.h"
#include "supervisor/tail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct event;
struct supervisor;
struct worker_process;

#define SESSION_ID_MAX 128
#define SESSION_DEATHS 3 /* deaths in a row that are looked at */

/* Limits of what waits behind a turn (ARCHITECTURE.md). */
#define SESSION_PROMPTS_MAX 16
#define SESSION_BYTES_MAX (64u * 1024 * 1024)
/* Tool cards of one turn that may be open at a time. */
#define SESSION_CALLS_MAX 1024

/* A tool card that the client shows as not finished. */
struct open_call {
	TAILQ_ENTRY(open_call) entry;
	bool started; /* it may have had a side effect */
	size_t length;
	char id[];
};

/* A request that waits until the worker can take it. */
struct waiting {
	TAILQ_ENTRY(waiting) entry;
	struct pending *pending;
	char *method; /* NULL for a prompt */
	char *params;
	size_t length;
};

struct turn {
	uint32_t id;		 /* 0 = none */
	struct pending *pending; /* NULL once it is answered */
	TAILQ_HEAD(, open_call) calls;
	size_t call_count;
	struct tail tail;
	/* The prompt, until the worker has said something about its turn. */
	char *prompt;
	size_t prompt_length;
	bool again;	 /* it was given to a second worker */
	unsigned deaths; /* of workers in this turn */
};

struct session {
	LIST_ENTRY(session) entry;
	struct supervisor *supervisor;
	char id[SESSION_ID_MAX + 1];
	char quoted[SESSION_ID_MAX + 3]; /* as JSON */
	enum session_state state;
	struct worker_process *worker;
	bool hello, ready; /* what this worker has said */
	char *setup;	   /* payload of SETUP without the state, for a successor */
	size_t setup_length;
	char *worker_state; /* last SESSION_STATE, NULL before the first */
	char *commands;	    /* slash commands that act at once: " help model " */
	struct event *timer;
	struct turn turn;
	uint32_t last_turn;
	int64_t death_times[SESSION_DEATHS]; /* of the last workers that died in a turn */
	unsigned starts;		     /* workers that it has had */
	unsigned setup_deaths;		     /* in a row, before they were ready */
	const char *open; /* what the worker does first: "new", "load", "resume" */
	bool reopen;	  /* it is being closed only to be opened again */
	TAILQ_HEAD(, waiting) waiting;
	size_t waiting_prompts, waiting_bytes;
	bool close_wanted;
};

struct session_table;

struct session_table *session_table_new(void);
void session_table_free(struct session_table *table);
struct session *session_find(struct session_table *table, const char *id);
struct session *session_first(struct session_table *table);
struct session *session_next(struct session *session);

/* A new session in state DEAD with id `id`, or a fresh one when that is NULL; NULL when memory
 * or randomness is out. */
struct session *
session_new(struct session_table *table, struct supervisor *supervisor, const char *id);
/* True for text that can be the id of a stored session (letters, digits, "_-.:"). */
bool session_id_valid(const char *id);
/* Frees it. Nothing may wait in it any more. */
void session_free(struct session *session);

/* Puts a request at the end of the queue. Copies. -1 when memory is out. */
int session_wait(struct session *session, struct pending *pending, const char *method,
    const char *params, size_t length);
/* Puts a prompt in front of the queue. */
int session_wait_first(
    struct session *session, struct pending *pending, const char *params, size_t length);
/* Keeps a copy of the running prompt, or forgets it. Without memory there is none. */
void session_keep_prompt(struct session *session, const char *params, size_t length);
void session_forget_prompt(struct session *session);
/* The first that waits, taken out; NULL when there is none. The caller frees it. */
struct waiting *session_take_waiting(struct session *session);
void session_remove_waiting(struct session *session, struct waiting *waiting);
void waiting_free(struct waiting *waiting);

/* Tool cards of the running turn. -1 when there are too many or memory is out. */
int session_call_open(struct session *session, const char *id, size_t length);
bool session_call_started(struct session *session, const char *id, size_t length);
bool session_call_closed(struct session *session, const char *id, size_t length);
void session_calls_clear(struct session *session);
/* True when the word (without slash) is among the commands that act at once. */
bool session_has_command(const struct session *session, const char *word, size_t length);

#endif
