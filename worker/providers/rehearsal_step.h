/*
 * The state of one rehearsal, shared by the play (rehearsal.c) and its steps
 * (rehearsal_step.c); nobody else includes this.
 */
#ifndef HERMES_WORKER_PROVIDERS_REHEARSAL_STEP_H
#define HERMES_WORKER_PROVIDERS_REHEARSAL_STEP_H

#include "worker/providers/provider.h"
#include "worker/providers/rehearsal_fault.h"
#include "worker/providers/rehearsal_script.h"

#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event;

/* A text on its way out. */
struct burst {
	char *text; /* NULL = none */
	size_t length, offset;
	size_t piece; /* code points per callback; 0 = all that is left */
	int64_t repeats;
	int64_t every_ms;
	size_t slice;
	bool thought;
};

struct rehearsal {
	struct event_base *base;
	struct model_callbacks callbacks;
	void *arg;
	struct event *timer;
	struct rehearsal_script *script;
	struct rehearsal_scene scene;
	size_t step; /* the next one */
	struct burst burst;
	struct model_answer answer;
	struct buffer thoughts;
	struct rehearsal_fault fault; /* waits for the end of the answer */
	bool tools_offered, faults_allowed;
	bool finish_chosen;
	bool paused, hanging, finished;
	bool playing; /* inside play(): the state must stay */
	bool dropped; /* the owner is done with it */
};

/* What a step does with the rest of the play. */
enum rehearsal_outcome { REHEARSAL_GO_ON, REHEARSAL_WAIT, REHEARSAL_END };

/* Plays the next step of the round; REHEARSAL_END after the last. */
enum rehearsal_outcome rehearsal_step_play(struct rehearsal *state);
/* Makes the answer an error; always REHEARSAL_END. */
enum rehearsal_outcome rehearsal_fail(struct rehearsal *state, enum model_error error,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Puts a text on its way; `from` holds chunk, every_ms, count and slice, or is NULL. */
void rehearsal_burst_begin(
    struct rehearsal *state, struct json_object *from, const char *text, bool thought);
void rehearsal_wake_after(struct rehearsal *state, int64_t milliseconds);

#endif
