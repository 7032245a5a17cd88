/*
 * The faults that a rehearsal script can play, for tests of what happens when a worker dies
 * or hangs. They hit the own process and are played only where the caller has permission.
 */
#ifndef HERMES_WORKER_PROVIDERS_REHEARSAL_FAULT_H
#define HERMES_WORKER_PROVIDERS_REHEARSAL_FAULT_H

#include "common/json.h"

#include <stdbool.h>
#include <stdint.h>

struct event_base;

enum rehearsal_fault_kind { FAULT_NONE, FAULT_SIGNAL, FAULT_EXIT, FAULT_LOOP };

enum rehearsal_fault_point {
	FAULT_NOW,	   /* when the step is reached */
	FAULT_FINISH,	   /* the answer is complete and not yet handed over */
	FAULT_AFTER_FINISH /* the answer was handed over; its tool calls may have begun */
};

struct rehearsal_fault {
	enum rehearsal_fault_kind kind;
	int number; /* signal or exit status */
	enum rehearsal_fault_point point;
	int64_t after_ms; /* waits so long at the point; the conversation goes on meanwhile */
};

/* Reads the object of a fault step that was checked. A fault whose "once" file exists is
 * FAULT_NONE; otherwise the file is made. */
void rehearsal_fault_read(struct json_object *object, struct rehearsal_fault *fault);
/* Plays it, at once or after its time. Returns when it has to wait or was FAULT_NONE, and
 * after a signal that was ignored or stopped the process for a while. */
void rehearsal_fault_play(struct event_base *base, const struct rehearsal_fault *fault);
/* The number of a signal ("SEGV", "SIGSEGV"), 0 when unknown. */
int rehearsal_fault_signal(const char *name);
bool rehearsal_fault_point_parse(const char *word, enum rehearsal_fault_point *point);

#endif
