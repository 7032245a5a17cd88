/*
 * What the parts of the turn engine share: the turn's struct. Nobody else includes this.
 */
#ifndef HERMES_WORKER_AGENT_TURN_INTERNAL_H
#define HERMES_WORKER_AGENT_TURN_INTERNAL_H

#include "worker/agent/agent.h"
#include "worker/providers/provider.h"
#include "common/buffer.h"
#include "common/identifier.h"

#include <event2/event.h>

enum turn_state {
	TURN_PREPARING,	 /* the prompt is being saved */
	TURN_REQUESTING, /* the model has the request */
	TURN_STREAMING,	 /* its answer comes in */
	TURN_DECIDING,	 /* the answer is complete */
	TURN_RUNNING,	 /* tools: asking, running */
	TURN_FINISHING	 /* the end is being saved */
};

struct call_batch;

/* Streamed text on its way out. */
struct turn_text {
	struct buffer waiting; /* not passed on yet */
	enum output_voice voice;
	char message_id[IDENTIFIER_SIZE];
	struct event *flush;
	int64_t passed_on; /* when a piece last was; milliseconds */
	/* Ids of the running answer's first text and thought, "" before them. */
	char answer_id[IDENTIFIER_SIZE], thought_id[IDENTIFIER_SIZE];
	struct buffer answer; /* the visible text of the running answer */
	struct buffer thought;
	bool open, shown; /* a message is open; something of this answer was shown */
};

/* Calls upward: registered by turn.c, which stands above the other parts. */
struct turn_upward {
	void (*request)(struct turn *turn);	 /* asks the model (again) */
	void (*save_partial)(struct turn *turn); /* saves the text so far */
	void (*calls_done)(struct turn *turn);	 /* every call has its result */
};

struct turn {
	struct agent *agent;
	const struct turn_upward *up;
	enum turn_state state;
	bool cancelled;
	struct model_call *call;
	struct json_object *request_messages;
	struct turn_text text;
	struct call_batch *batch;
	struct event *save_timer;
	size_t first_message; /* of this turn in the conversation */
	int64_t requests;     /* model requests made */
	int empty_answers;    /* in a row */
	int unusable_calls;   /* answers in a row whose calls could not be used */
	bool continued;	      /* an answer that was cut off is being gone on with */
	int cut_answers;      /* in a row, at the model's output limit */
	bool silent_user;     /* a question had no answer: no further one waits */
	size_t unsaved;	      /* bytes shown since the last save */
	/* Saves of the running answer: one is on since then (0 = none); the next one may start
	 * then. Milliseconds. */
	int64_t save_started, save_again;
	/* The end, while it is being saved. */
	enum stop_reason reason;
	int code;
	char *message, *details;
};

/* turn_text.c: streamed text. */
void turn_text_start(struct turn *turn);
void
turn_text_add(struct turn *turn, enum output_voice voice, const char *bytes, size_t length);
/* Passes on what waits, and ends the open message when `end`. */
void turn_text_flush(struct turn *turn, bool end);
void turn_text_reset(struct turn *turn);
/* The running answer as a message, with what it looked like. `extra` may be NULL. Owned by
 * the caller. */
struct json_object *turn_text_message(struct turn *turn, struct json_object *extra,
    const struct model_tool_call *calls, size_t count);
void turn_text_free(struct turn *turn);
/* A message of our own beside the conversation. What explains how a turn ended is an answer
 * instead (turn_text_add()): a loaded session shows it, too. */
void turn_text_say(struct turn *turn, enum output_voice voice, const char *text);

/* A line about the request that is being made: shown as a thought, kept nowhere. */
void turn_text_notice(struct turn *turn, const char *text);
/* What the model says next belongs to the message that it was in. */
void turn_text_resume(struct turn *turn);

/* turn_continue.c: what has just been appended as the model's answer was cut off; a message
 * that asks to go on follows it. */
void turn_ask_to_go_on(struct turn *turn);

/* turn_calls.c: the calls of one answer. */
struct call_batch *call_batch_new(
    struct turn *turn, const struct model_tool_call *calls, size_t count, char *const *ids);
void call_batch_start(struct call_batch *batch);
void call_batch_cancel(struct call_batch *batch);
void call_batch_free(struct call_batch *batch);

/* turn_end.c: the only way out. Both save the end and then tell it; the first one counts. */
void turn_finish(struct turn *turn, enum stop_reason reason);
void turn_fail(struct turn *turn, int code, const char *message, const char *details);
void turn_free(struct turn *turn);

/* turn_saved.c */
/* The user is told once when the store stops saving. */
void turn_tell_saving(struct agent *agent, const char *error);
/* Saves an answer, or as much as there is of it; `saved` calls turn_on_saved(). */
void turn_save_answer(
    struct turn *turn, struct json_object *message, bool partial, store_saved saved, void *arg);
/* For store verbs that nothing waits for; the argument is the agent. */
void turn_on_saved(const char *error, void *arg);

/* turn_answer.c: what to do about a finished answer. */
void
turn_answer(struct turn *turn, const struct model_answer *answer, const struct runtime *asked);
/* The turn has made as many requests as it may. */
void turn_answer_limit(struct turn *turn);

#endif
